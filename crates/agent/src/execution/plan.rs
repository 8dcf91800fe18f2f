//! What the session of a run may touch, lowered to what a backend enforces.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fullsend_sandbox::{
    FilesystemAccess, FilesystemMount, NetworkPolicy, ResourceLimits, SandboxError, SandboxSessionId,
    SandboxSpec, WriteMode,
};

pub use crate::workspace::WORKSPACE_TARGET as WORKSPACE;

/// Private space of the session, in memory.
pub const SCRATCH: &str = "/tmp";
/// Where shells leave word of the directory they ended in. Belongs to the session.
pub const SHELL_MOUNT: &str = "/mnt/session/shell";

/// No host is ever called this: the name is reserved for that. A list of hosts with nothing else on it allows nothing,
/// but unlike an empty one it brings a loopback device and a proxy that can say what it refuses.
const NOWHERE: &str = "nowhere.invalid";

/// Memory of all processes together, in MiB.
const MEMORY_MB: u32 = 4096;
/// Processes and threads.
const PROCESSES: u32 = 1024;
/// The largest file, in MiB.
const FILE_SIZE_MB: u32 = 2048;
/// The longest that a command takes when nothing else is said.
const WALL_TIME: Duration = Duration::from_secs(600);

/// A directory or file of the host, and where commands see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountPoint {
    /// An absolute path in the sandbox.
    pub sandbox: String,
    /// An absolute path on the host.
    pub host: PathBuf,
    /// Whether commands may change it.
    pub writable: bool,
}

/// Where the session of a run comes from.
#[derive(Clone, Debug)]
pub enum Ground {
    /// It is made for the run.
    Planned(Box<SessionPlan>),
    /// It is there.
    Given(Box<GivenSession>),
}

impl From<SessionPlan> for Ground {
    fn from(plan: SessionPlan) -> Self {
        Self::Planned(Box::new(plan))
    }
}

/// A session that somebody else made and ends.
#[derive(Clone, Debug)]
pub struct GivenSession {
    /// Its name. Commands run in it unless something has to be covered or kept from being changed, which cannot be done to a
    /// session that is there.
    pub id: SandboxSessionId,
    /// What it was made from. Where something has to be, a session of the run's own is made from the same.
    pub spec: SandboxSpec,
    /// Variables of every command.
    pub env: BTreeMap<String, String>,
}

impl GivenSession {
    /// What a session of the run's own is made from: the same, under another name.
    pub(super) fn spec(&self) -> SandboxSpec {
        let mut spec = SandboxSpec { session_id: None, ..self.spec.clone() };
        if !spec.mounts.iter().any(|mount| mount.target == SHELL_MOUNT) {
            spec.mounts.push(shell_mount());
        }
        spec
    }
}

/// What a session must have so that a command can leave word of the directory that it ended in.
pub fn shell_mount() -> FilesystemMount {
    owned(SHELL_MOUNT.to_owned(), FilesystemAccess::ReadWrite)
}

/// What a session may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlan {
    /// What commands see of the host; commands start in the first.
    pub mounts: Vec<MountPoint>,
    /// Directories of the host that are nowhere to be seen, also where they lie in what is mounted: the records of the run.
    pub hidden: Vec<PathBuf>,
    /// What can be reached. Programs of the session always reach each other over loopback.
    pub network: NetworkPolicy,
    /// How much may be used.
    pub limits: ResourceLimits,
}

impl SessionPlan {
    /// A workspace that commands may change, no network, and the usual limits.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            mounts: vec![MountPoint {
                sandbox: WORKSPACE.to_owned(),
                host: workspace.into(),
                writable: true,
            }],
            hidden: Vec::new(),
            network: NetworkPolicy::none(),
            limits: ResourceLimits {
                wall_time: Some(WALL_TIME),
                memory_mb: Some(MEMORY_MB),
                processes: Some(PROCESSES),
                file_size_mb: Some(FILE_SIZE_MB),
                ..ResourceLimits::default()
            },
        }
    }

    /// The plan in the terms of a backend. Looks at the paths, so they must exist.
    pub fn spec(&self) -> Result<SandboxSpec, SandboxError> {
        let mut mounts = Vec::with_capacity(self.mounts.len() + 2);
        let mut covered = BTreeSet::new();
        for mount in &self.mounts {
            let host = canonical(&mount.host)?;
            for hidden in &self.hidden {
                covered.extend(cover(mount, &host, &canonical(hidden)?)?);
            }
            mounts.push(match mount.writable {
                true => FilesystemMount::read_write(host, &mount.sandbox),
                false => FilesystemMount::read_only(host, &mount.sandbox),
            });
        }
        mounts.extend(covered.into_iter().map(|target| owned(target, FilesystemAccess::ReadOnly)));
        mounts.push(shell_mount());
        Ok(SandboxSpec {
            network_policy: audible(&self.network),
            mounts,
            limits: self.limits.clone(),
            ..SandboxSpec::default()
        })
    }
}

/// The place in the sandbox that has to be covered so that `hidden` is not seen through `mount`, if there is one. The
/// backend keeps the directories above it from being renamed.
fn cover(mount: &MountPoint, host: &Path, hidden: &Path) -> Result<Option<String>, SandboxError> {
    if host.starts_with(hidden) {
        return Err(SandboxError::InvalidRequest(format!(
            "`{}` cannot be mounted at `{}`: it lies in `{}`, where the records of the run are kept",
            host.display(),
            mount.sandbox,
            hidden.display()
        )));
    }
    let Ok(below) = hidden.strip_prefix(host) else { return Ok(None) };
    match below.to_str() {
        Some(below) => Ok(Some(format!("{}/{below}", mount.sandbox.trim_end_matches('/')))),
        None => Err(SandboxError::InvalidRequest(format!(
            "`{}` cannot be hidden from commands: its name is not UTF-8; keep the records of the run elsewhere",
            hidden.display()
        ))),
    }
}

/// An empty directory of the session's.
fn owned(target: String, access: FilesystemAccess) -> FilesystemMount {
    FilesystemMount { source: PathBuf::new(), target, access, write_mode: WriteMode::Direct }
}

/// The same policy, never without a loopback device and a voice.
fn audible(policy: &NetworkPolicy) -> NetworkPolicy {
    match policy {
        NetworkPolicy::Limited { allowed_hosts, denied_hosts, http_rules, private_hosts }
            if allowed_hosts.is_empty() =>
        {
            NetworkPolicy::Limited {
                allowed_hosts: vec![NOWHERE.to_owned()],
                denied_hosts: denied_hosts.clone(),
                http_rules: http_rules.clone(),
                private_hosts: private_hosts.clone(),
            }
        }
        NetworkPolicy::Limited { .. } | NetworkPolicy::Unrestricted => policy.clone(),
    }
}

/// The real path: two spellings of one directory must not be told apart, or what is hidden under one is seen under the other.
fn canonical(path: &Path) -> Result<PathBuf, SandboxError> {
    std::fs::canonicalize(path).map_err(SandboxError::io(format!("cannot mount `{}`", path.display())))
}
