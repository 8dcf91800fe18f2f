//! What is on disk of a session, written before its container exists, so that a later process can go on or clean up.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::arguments::ContainerUser;
use super::layout::Placed;
use crate::error::SandboxError;
use crate::spec::{SandboxSessionId, SandboxSpec};

const VERSION: u32 = 1;

/// A session, as a later process needs to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    version: u32,
    pub(super) id: SandboxSessionId,
    /// The process that has the session.
    pub(super) owner: Owner,
    /// The container's name; each start has a new one.
    pub(super) container: String,
    pub(super) user: ContainerUser,
    pub(super) spec: SandboxSpec,
    pub(super) mounts: Vec<Placed>,
    /// Names of snapshots, the last one last.
    pub(super) snapshots: Vec<String>,
}

impl Record {
    pub(super) fn new(
        id: SandboxSessionId,
        user: ContainerUser,
        spec: SandboxSpec,
        mounts: Vec<Placed>,
    ) -> Self {
        let owner = Owner::this_process();
        Self {
            version: VERSION,
            id,
            owner,
            container: String::new(),
            user,
            spec,
            mounts,
            snapshots: Vec::new(),
        }
    }
}

/// A process, told from a later one with the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    pid: u32,
    start: u64,
}

impl Owner {
    /// The process that this runs in.
    pub(super) fn this_process() -> Self {
        let pid = std::process::id();
        Self { pid, start: start_of(pid).unwrap_or(0) }
    }

    /// What it is displayed as.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (pid, start) = text.split_once('-')?;
        Some(Self { pid: pid.parse().ok()?, start: start.parse().ok()? })
    }

    pub(super) fn is_alive(self) -> bool {
        start_of(self.pid) == Some(self.start)
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}-{}", self.pid, self.start)
    }
}

/// When a process started, in ticks since the machine did. The name in parentheses may contain anything.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Where a session's files are.
#[derive(Clone, Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    /// Of the session `id`, whether it exists or not.
    pub(super) fn of(state: &Path, id: &SandboxSessionId) -> Self {
        Self(sessions(state).join(id.as_str()))
    }

    /// Makes the directory of a new session; fails if there is one already.
    pub(super) fn create(&self) -> std::io::Result<()> {
        if let Some(parent) = self.0.parent() {
            std::fs::DirBuilder::new().recursive(true).create(parent)?;
        }
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().mode(0o700).create(&self.0)?;
        std::fs::create_dir(self.files())?;
        std::fs::create_dir(self.0.join("snapshots"))
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    /// Directories that belong to the session, by number.
    pub(super) fn files(&self) -> PathBuf {
        self.0.join("files")
    }

    pub(super) fn snapshot(&self, name: &str) -> PathBuf {
        self.0.join("snapshots").join(name)
    }

    /// The record, or none when there is no such session.
    pub(super) fn read(&self) -> Result<Option<Record>, SandboxError> {
        let path = self.0.join("record.json");
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(SandboxError::io(format!("cannot read {}", path.display()))(error)),
        };
        let doing = || format!("reading the session in {}", path.display());
        let record: Record =
            serde_json::from_slice(&bytes).map_err(|source| SandboxError::Json { doing: doing(), source })?;
        if record.version != VERSION {
            return Err(SandboxError::Lifecycle(format!("{}: it is of version {}", doing(), record.version)));
        }
        Ok(Some(record))
    }

    /// Writes the record so that a reader sees the old one or the new one.
    pub(super) fn write(&self, record: &Record) -> Result<(), SandboxError> {
        let doing = format!("cannot write the record of session {}", record.id);
        let json = serde_json::to_vec_pretty(record)
            .map_err(|source| SandboxError::Json { doing: doing.clone(), source })?;
        let fresh = self.0.join("record.new");
        let written = std::fs::File::create(&fresh)
            .and_then(|mut file| file.write_all(&json))
            .and_then(|()| std::fs::rename(&fresh, self.0.join("record.json")));
        written.map_err(SandboxError::io(doing))
    }
}

/// Where all sessions are.
pub(super) fn sessions(state: &Path) -> PathBuf {
    state.join("sessions")
}

#[cfg(test)]
mod tests {
    use super::Owner;

    #[test]
    fn a_process_is_told_from_a_later_one_with_its_number() {
        let this = Owner::this_process();
        assert!(this.is_alive() && this.start > 0);
        assert_eq!(Owner::parse(&this.to_string()), Some(this));
        assert!(!Owner { start: this.start + 1, ..this }.is_alive());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(!Owner { pid: child.id(), start: this.start }.is_alive());
    }
}
