//! What a spec grants, for people and for programs.

mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::spec::{
    FilesystemAccess, MEMORY_MOUNT, NetworkPolicy, OUTPUTS_MOUNT, ResourceLimits, SandboxSpec, WriteMode,
    is_at_or_below, normal_target,
};
use crate::{docker, local};

/// Directories of the system that every session sees, read-only.
const SYSTEM_DIRECTORIES: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];
/// What every session has to itself.
const PRIVATE_DIRECTORIES: [&str; 3] = ["/tmp", "/dev/shm", "$HOME"];

/// Where the programs, libraries and settings of a session come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    /// This machine, as with the backend `local`.
    Machine,
    /// An image, as with the backend `docker`.
    Image(String),
}

/// Everything that a session can do. Printed it is a text; serialised it is the same as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What can be read but not written.
    pub read: Vec<PathGrant>,
    /// What can be written, and read.
    pub write: Vec<PathGrant>,
    /// What can be run.
    pub run: Programs,
    /// What can be reached.
    pub reach: Reach,
    /// Services with credentials that the session does not see.
    pub endpoints: Vec<EndpointGrant>,
    /// How much can be used, defaults included; what is not set has no limit but the machine's.
    pub limits: ResourceLimits,
    /// Which of these limits are defaults, because the spec does not say anything.
    pub default_limits: Vec<&'static str>,
    /// Files that each process can have open, where the backend decides that.
    pub open_files: Option<u64>,
    /// What is never there unless granted above.
    pub withheld: Vec<&'static str>,
}

/// A path that a session sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathGrant {
    /// The path in the session.
    pub path: String,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: PathOrigin,
}

/// Where the files at a path come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "origin", rename_all = "snake_case")]
pub enum PathOrigin {
    /// The programs, libraries and public settings of the system.
    System,
    /// An image.
    Image {
        /// Its name.
        image: String,
    },
    /// Made for the session and gone with it.
    Private,
    /// The host's.
    Host {
        /// Where it is on the host.
        source: PathBuf,
    },
    /// The host's, of which the session changes its own copy.
    Layered {
        /// Where it is on the host.
        source: PathBuf,
    },
    /// The host's, as an exception inside a path that can be written.
    Exception {
        /// Where it is on the host.
        source: PathBuf,
        /// The path that can be written.
        inside: String,
    },
}

/// What can be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Programs {
    /// All programs of the system.
    System,
    /// These and nothing else.
    Only(Vec<String>),
}

/// What can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Reach {
    /// Everything that the host can reach, unfiltered.
    Everything,
    /// Nothing at all.
    Nothing,
    /// Listed hosts, through a proxy.
    Hosts {
        /// The hosts and their ports.
        allowed: Vec<HostGrant>,
        /// Refused whatever is allowed.
        denied: Vec<String>,
        /// Hosts with rules about requests, and these rules.
        rules: BTreeMap<String, Vec<String>>,
        /// Hosts that may have addresses which are not public, and these addresses.
        private: BTreeMap<String, String>,
    },
}

/// A host that can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostGrant {
    /// The host, or `*.domain`.
    pub host: String,
    /// The ports on it.
    pub ports: Vec<String>,
}

/// A service with credentials that the session does not see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndpointGrant {
    /// Its name.
    pub name: String,
    /// The variable with the URL that commands use.
    pub variable: String,
    /// Where requests go.
    pub upstream: String,
    /// Names of the headers that are added outside.
    pub headers: Vec<String>,
    /// Requests that are allowed; empty for all.
    pub rules: Vec<String>,
}

/// Says what a session of this spec can read, write, run, reach and use on this machine.
pub fn explain(spec: &SandboxSpec) -> Explanation {
    explain_on(spec, &Ground::Machine)
}

/// As [`explain`], on another ground.
pub fn explain_on(spec: &SandboxSpec, ground: &Ground) -> Explanation {
    let (read, write) = paths(spec, ground);
    let (limits, open_files) = match ground {
        Ground::Machine => (local::limits::effective(&spec.limits), Some(local::limits::OPEN_FILES)),
        Ground::Image(_) => (docker::limits::effective(&spec.limits), None),
    };
    Explanation {
        read,
        write,
        run: spec.programs.clone().map_or(Programs::System, Programs::Only),
        reach: reach(&spec.network_policy),
        endpoints: spec.endpoints.iter().map(endpoint).collect(),
        default_limits: defaults(&spec.limits, &limits),
        limits,
        open_files,
        withheld: vec![
            "other files of the host",
            "other processes of the host",
            "the caller's environment variables",
            "the caller's credentials",
        ],
    }
}

/// The limits that hold although a spec does not say so.
fn defaults(said: &ResourceLimits, effective: &ResourceLimits) -> Vec<&'static str> {
    let limits = [
        ("memory_mb", said.memory_mb.is_none() && effective.memory_mb.is_some()),
        ("processes", said.processes.is_none() && effective.processes.is_some()),
        ("file_size_mb", said.file_size_mb.is_none() && effective.file_size_mb.is_some()),
        ("scratch_mb", said.scratch_mb.is_none() && effective.scratch_mb.is_some()),
        ("output_bytes", said.output_bytes.is_none() && effective.output_bytes.is_some()),
    ];
    limits.into_iter().filter(|(_, is_default)| *is_default).map(|(name, _)| name).collect()
}

fn paths(spec: &SandboxSpec, ground: &Ground) -> (Vec<PathGrant>, Vec<PathGrant>) {
    let grant = |path: &str, origin: PathOrigin| PathGrant { path: path.to_owned(), origin };
    let mut read: Vec<PathGrant> = match ground {
        Ground::Machine => SYSTEM_DIRECTORIES.iter().map(|path| grant(path, PathOrigin::System)).collect(),
        Ground::Image(image) => vec![grant("/", PathOrigin::Image { image: image.clone() })],
    };
    let mut write: Vec<PathGrant> =
        PRIVATE_DIRECTORIES.iter().map(|path| grant(path, PathOrigin::Private)).collect();
    read.push(grant(MEMORY_MOUNT, PathOrigin::Private));
    write.push(grant(OUTPUTS_MOUNT, PathOrigin::Private));
    for mount in &spec.mounts {
        let target = normal_target(&mount.target).unwrap_or_else(|_| mount.target.clone());
        // The mount takes the place of what would be there otherwise.
        read.retain(|grant| grant.path != target);
        write.retain(|grant| grant.path != target);
        let source = mount.source.clone();
        let origin = match (mount.access, mount.write_mode) {
            _ if mount.is_session_owned() => PathOrigin::Private,
            (FilesystemAccess::ReadWrite, WriteMode::Overlay) => PathOrigin::Layered { source },
            (FilesystemAccess::ReadWrite, WriteMode::Direct) => PathOrigin::Host { source },
            (FilesystemAccess::ReadOnly, _) => match writable_above(spec, &target) {
                Some(inside) => PathOrigin::Exception { source, inside },
                None => PathOrigin::Host { source },
            },
        };
        match mount.access {
            FilesystemAccess::ReadOnly => read.push(grant(&target, origin)),
            FilesystemAccess::ReadWrite => write.push(grant(&target, origin)),
        }
    }
    (read, write)
}

/// The mount that a path would be in if it were not one itself, where that can be written.
fn writable_above(spec: &SandboxSpec, target: &str) -> Option<String> {
    let above = spec
        .mounts
        .iter()
        .filter_map(|mount| Some((normal_target(&mount.target).ok()?, mount.access)))
        .filter(|(other, _)| other != target && is_at_or_below(target, other))
        .max_by_key(|(other, _)| other.len())?;
    (above.1 == FilesystemAccess::ReadWrite).then_some(above.0)
}

fn reach(policy: &NetworkPolicy) -> Reach {
    match policy {
        NetworkPolicy::Unrestricted => Reach::Everything,
        NetworkPolicy::Limited { allowed_hosts, .. } if allowed_hosts.is_empty() => Reach::Nothing,
        NetworkPolicy::Limited { allowed_hosts, denied_hosts, http_rules, private_hosts } => {
            let mut rules: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for rule in http_rules {
                rules.entry(rule.host.clone()).or_default().push(rule_text(rule));
            }
            Reach::Hosts {
                allowed: allowed_hosts.iter().map(|host| host_grant(host)).collect(),
                denied: denied_hosts.clone(),
                rules,
                private: private_hosts.iter().map(|host| (host.host.clone(), host.network.clone())).collect(),
            }
        }
    }
}

fn host_grant(entry: &str) -> HostGrant {
    let (host, port) = super::host::split_port(entry);
    let ports = port.map_or_else(|| vec!["80".to_owned(), "443".to_owned()], |port| vec![port.to_owned()]);
    HostGrant { host: host.to_owned(), ports }
}

fn rule_text(rule: &crate::spec::HttpRule) -> String {
    let methods = if rule.methods.is_empty() { "any method".to_owned() } else { rule.methods.join(", ") };
    let paths = if rule.paths.is_empty() { "any path".to_owned() } else { rule.paths.join(", ") };
    format!("{methods} on {paths}")
}

fn endpoint(endpoint: &crate::spec::Endpoint) -> EndpointGrant {
    EndpointGrant {
        name: endpoint.name.clone(),
        variable: format!("FULLSEND_ENDPOINT_{}", endpoint.name.to_uppercase()),
        upstream: endpoint.upstream.clone(),
        headers: endpoint.headers.iter().map(|(name, _)| name.clone()).collect(),
        rules: endpoint.rules.iter().map(rule_text).collect(),
    }
}
