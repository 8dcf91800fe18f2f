//! Policy files: read, checked, and put in the terms of the sandbox.

mod check;

use std::path::{Path, PathBuf};

use fullsend_harness::schema::{EndpointEntry, HostRule, SandboxLimits, SandboxPolicy};
use fullsend_harness::value::Bounded;
use fullsend_harness::{Library, ReadError};
use fullsend_sandbox::{Endpoint, HttpRule, PermissionPolicy, PrivateHost, ResourceLimits, SandboxError};
use fullsend_yaml::{Diagnostic, Located};

/// What a file grants.
#[derive(Clone, Debug, Default)]
pub struct PolicyFile {
    /// Where it is.
    pub path: PathBuf,
    /// Files, programs and hosts.
    pub permissions: PermissionPolicy,
    /// Hosts that are refused whatever else is said.
    pub denied_hosts: Vec<String>,
    /// Requests that are allowed on some hosts.
    pub http_rules: Vec<HttpRule>,
    /// Hosts that may have addresses which are not public.
    pub private_hosts: Vec<PrivateHost>,
    /// Services, each with the variable that has its key.
    pub endpoints: Vec<(Endpoint, Option<String>)>,
    /// How much may be used.
    pub limits: ResourceLimits,
}

/// Why a policy file says nothing at all. What is wrong within it is reported at its place instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyFileError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The directory at which its entries start is none.
    #[error(transparent)]
    Workspace(#[from] SandboxError),
}

impl PolicyFile {
    /// Reads a file whose relative entries start at `workspace`. Everything that is wrong with it is added to `problems`, and
    /// then there is no policy.
    pub fn read(
        library: &mut Library,
        path: &Path,
        workspace: &Path,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Option<Self>, PolicyFileError> {
        let mut found = Vec::new();
        let (_, policy) = library.document::<SandboxPolicy>(path, &mut found)?;
        if let Some(policy) = &policy {
            check::check(policy, workspace, &mut found)?;
        }
        let is_sound = found.is_empty();
        found.sort_by_key(|problem| problem.at.start);
        problems.append(&mut found);
        Ok(policy.filter(|_| is_sound).map(|policy| Self::from_parts(path, &policy)))
    }

    fn from_parts(path: &Path, policy: &SandboxPolicy) -> Self {
        Self {
            path: path.to_owned(),
            permissions: permissions(policy),
            denied_hosts: texts(policy.deny.as_ref()),
            http_rules: policy.http_rules.iter().flatten().map(http_rule).collect(),
            private_hosts: policy
                .private_hosts
                .iter()
                .flatten()
                .filter_map(|entry| {
                    let (host, network) = (entry.host.as_ref()?, entry.network.as_ref()?);
                    Some(PrivateHost { host: host.value.clone(), network: network.value.to_string() })
                })
                .collect(),
            endpoints: policy
                .endpoints
                .iter()
                .flatten()
                .map(|entry| (endpoint(entry), entry.key_env.as_ref().map(|name| name.as_str().to_owned())))
                .collect(),
            limits: policy.limits.as_ref().map(limits).unwrap_or_default(),
        }
    }
}

fn permissions(policy: &SandboxPolicy) -> PermissionPolicy {
    PermissionPolicy {
        read: texts(policy.read.as_ref()),
        write: texts(policy.write.as_ref()),
        exec: texts(policy.exec.as_ref()),
        net: texts(policy.net.as_ref()),
    }
}

fn texts(list: Option<&Vec<Located<String>>>) -> Vec<String> {
    list.into_iter().flatten().map(|text| text.value.clone()).collect()
}

fn http_rule(rule: &HostRule) -> HttpRule {
    HttpRule {
        host: rule.host.as_ref().map(|host| host.value.clone()).unwrap_or_default(),
        methods: texts(rule.methods.as_ref()),
        paths: texts(rule.paths.as_ref()),
    }
}

/// Without its key, which is the caller's to look up.
fn endpoint(entry: &EndpointEntry) -> Endpoint {
    let rules = entry.rules.iter().flatten().map(|rule| HttpRule {
        host: String::new(),
        methods: texts(rule.methods.as_ref()),
        paths: texts(rule.paths.as_ref()),
    });
    Endpoint {
        name: entry.name.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default(),
        upstream: entry.url.as_ref().map(|url| url.value.clone()).unwrap_or_default(),
        headers: Vec::new(),
        rules: rules.collect(),
    }
}

fn limits(limits: &SandboxLimits) -> ResourceLimits {
    ResourceLimits {
        wall_time: limits.timeout.map(|time| time.value.get()),
        cpu_count: limits.cpus.and_then(count),
        memory_mb: limits.memory_mb.and_then(count),
        processes: limits.processes.and_then(count),
        file_size_mb: limits.file_size_mb.and_then(count),
        scratch_mb: limits.scratch_mb.and_then(count),
        ..ResourceLimits::default()
    }
}

fn count<const MIN: i64, const MAX: i64>(number: Located<Bounded<MIN, MAX>>) -> Option<u32> {
    u32::try_from(number.value.get()).ok()
}
