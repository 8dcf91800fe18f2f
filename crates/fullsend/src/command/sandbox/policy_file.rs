//! Policy files: read, checked, and put in the terms of the sandbox.

mod check;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use fullsend_harness::Library;
use fullsend_harness::schema::{EndpointEntry, HostRule, SandboxLimits, SandboxPolicy};
use fullsend_harness::value::Bounded;
use fullsend_sandbox::{Endpoint, HttpRule, PermissionPolicy, PrivateHost, ResourceLimits};
use fullsend_yaml::Located;

use crate::output::{Advice, Output, diagnostics};

/// What a file grants.
#[derive(Debug, Default)]
pub(super) struct PolicyFile {
    pub(super) path: PathBuf,
    pub(super) permissions: PermissionPolicy,
    pub(super) denied_hosts: Vec<String>,
    pub(super) http_rules: Vec<HttpRule>,
    pub(super) private_hosts: Vec<PrivateHost>,
    /// Each with the variable that has its key.
    pub(super) endpoints: Vec<(Endpoint, Option<String>)>,
    pub(super) limits: ResourceLimits,
}

impl PolicyFile {
    /// Reads a file whose relative entries start at `workspace`. All that is wrong with it is printed with its place.
    pub(super) fn read(path: &Path, workspace: &Path, output: &mut Output) -> Result<Self> {
        let mut library = Library::new(workspace);
        let mut problems = Vec::new();
        let (_, policy) = library
            .document::<SandboxPolicy>(path, &mut problems)
            .map_err(|error| Advice::new(error.to_string(), error.help()))?;
        if let Some(policy) = &policy {
            check::check(policy, workspace, &mut problems)?;
        }
        match policy {
            Some(policy) if problems.is_empty() => Ok(Self::from_parts(path, &policy)),
            _ => {
                problems.sort_by_key(|problem| problem.at.start);
                diagnostics::print_to_stderr(output, library.sources(), &problems);
                let what = if problems.len() == 1 { "an error" } else { "errors" };
                let message = format!("the sandbox policy `{}` has {what}", path.display());
                Err(anyhow!(Advice::new(message, "correct the problems above; nothing was run")))
            }
        }
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
