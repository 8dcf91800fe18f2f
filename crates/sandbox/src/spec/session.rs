//! A session: what is asked for, and what is there.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mount::{FilesystemMount, ResolvedMount};
use super::network::{Endpoint, NetworkPolicy};
use crate::error::SandboxError;

/// Names a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SandboxSessionId(String);

impl SandboxSessionId {
    /// Letters, digits, `-`, `_` and `.`, not starting with a dot, at most 128 characters: ids become file names.
    pub fn new(id: impl Into<String>) -> Result<Self, SandboxError> {
        let id = id.into();
        let ordinary = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if id.is_empty() || id.len() > 128 || id.starts_with('.') || !id.bytes().all(ordinary) {
            return Err(SandboxError::InvalidRequest(format!(
                "session id `{}` is not made of 1 to 128 letters, digits, `-`, `_` and `.`",
                id.escape_debug()
            )));
        }
        Ok(Self(id))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SandboxSessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for SandboxSessionId {
    type Error = SandboxError;

    fn try_from(id: String) -> Result<Self, SandboxError> {
        Self::new(id)
    }
}

impl From<SandboxSessionId> for String {
    fn from(id: SandboxSessionId) -> Self {
        id.0
    }
}

/// How much a session may use. What is not set has a default of the backend, never "unlimited by accident".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceLimits {
    /// The longest a command may take, unless its request says otherwise.
    pub wall_time: Option<Duration>,
    /// Processors that all commands share.
    pub cpu_count: Option<u32>,
    /// Memory of all processes together.
    pub memory_mb: Option<u32>,
    /// How long a session may be idle before it is suspended.
    pub idle_timeout: Option<Duration>,
    /// Processes and threads at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// The largest file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size_mb: Option<u32>,
    /// Private scratch space: `/tmp`, the home directory, shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch_mb: Option<u32>,
    /// Bytes kept of each output stream by `exec`; the rest is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

/// Everything a session may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxSpec {
    /// A name of the caller's; one is made up when there is none.
    pub session_id: Option<SandboxSessionId>,
    /// For the caller's own use; shown in the session's metadata as `label.<name>`.
    pub labels: BTreeMap<String, String>,
    /// Which hosts can be reached.
    pub network_policy: NetworkPolicy,
    /// Files of the host that the session sees, in addition to the memory and outputs mounts.
    pub mounts: Vec<FilesystemMount>,
    /// How much may be used.
    pub limits: ResourceLimits,
    /// Programs that can be run: paths or bare names on the system. None for all of the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<String>>,
    /// Whether path accesses are watched too, so that refused ones can be named; costs time on every file access.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub watch_paths: bool,
    /// Services with credentials; never written anywhere, so a session of an earlier process has none.
    #[serde(skip)]
    pub endpoints: Vec<Endpoint>,
}

/// Where a session is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    /// Made, and no command has run yet.
    Provisioned,
    /// Ready for commands.
    Running,
    /// Stopped until the next command.
    Suspended,
    /// Gone.
    Terminated,
}

/// A session as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSession {
    /// Its name.
    pub id: SandboxSessionId,
    /// The backend that runs it.
    pub backend: String,
    /// Where it is in its life.
    pub state: SandboxState,
    /// All mounts, the memory and outputs mounts included.
    pub mounts: Vec<ResolvedMount>,
    /// The enforcement report (each layer `enforced`, `degraded: why` or `absent`) and the labels.
    pub metadata: BTreeMap<String, String>,
}

/// Kept files of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSnapshot {
    /// The session it was taken of.
    pub session_id: SandboxSessionId,
    /// The backend that keeps it.
    pub backend: String,
    /// Names the snapshot.
    pub snapshot_id: String,
    /// What the backend tells about it.
    pub metadata: BTreeMap<String, String>,
}

/// What a backend can do on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxCapabilities {
    /// Commands are confined by this machine's kernel.
    pub local_process_sandbox: bool,
    /// Allow-lists of hosts are enforced.
    pub network_policy: bool,
    /// Files of a session can be kept.
    pub snapshot: bool,
    /// A session can be brought back.
    pub resume: bool,
    /// Idle sessions stop using the processor.
    pub suspend_on_idle: bool,
}
