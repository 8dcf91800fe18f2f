//! Directories and files that a session sees at paths of their own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::SandboxError;

/// What commands may do below a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesystemAccess {
    /// Read and execute.
    #[default]
    ReadOnly,
    /// Everything but set-user-id files and devices.
    ReadWrite,
}

/// Where writes to a read-write mount go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// To the source itself. Such a session cannot be snapshotted.
    #[default]
    Direct,
    /// To a layer of the session; the source is never changed.
    Overlay,
}

/// A source on the host and the place where the session sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesystemMount {
    /// An absolute path that exists, or empty for a fresh directory that belongs to the session.
    pub source: PathBuf,
    /// An absolute path in the session.
    pub target: String,
    /// What commands may do.
    pub access: FilesystemAccess,
    /// Where writes go; only for read-write mounts with a source.
    #[serde(default, skip_serializing_if = "is_direct")]
    pub write_mode: WriteMode,
}

impl FilesystemMount {
    /// A source that commands can read.
    pub fn read_only(source: impl Into<PathBuf>, target: impl Into<String>) -> Self {
        Self::new(source.into(), target.into(), FilesystemAccess::ReadOnly, WriteMode::Direct)
    }

    /// A source that commands can change.
    pub fn read_write(source: impl Into<PathBuf>, target: impl Into<String>) -> Self {
        Self::new(source.into(), target.into(), FilesystemAccess::ReadWrite, WriteMode::Direct)
    }

    /// A source of which the session changes its own copy.
    pub fn overlay(source: impl Into<PathBuf>, target: impl Into<String>) -> Self {
        Self::new(source.into(), target.into(), FilesystemAccess::ReadWrite, WriteMode::Overlay)
    }

    fn new(source: PathBuf, target: String, access: FilesystemAccess, write_mode: WriteMode) -> Self {
        Self { source, target, access, write_mode }
    }

    /// Whether the directory belongs to the session rather than to the caller.
    pub fn is_session_owned(&self) -> bool {
        self.source.as_os_str().is_empty()
    }
}

fn is_direct(mode: &WriteMode) -> bool {
    *mode == WriteMode::Direct
}

/// A mount as it is in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedMount {
    /// Where the session sees it.
    pub target: String,
    /// What commands may do.
    pub access: FilesystemAccess,
    /// Where it is on the host; none for layered mounts, which have no single place.
    pub host_path: Option<PathBuf>,
}

/// Places that belong to the sandbox itself.
const RESERVED_TARGETS: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/.fullsend"];

/// The normal form of a mount target: absolute, no `.` or `..`, no empty components, no trailing slash.
pub fn normal_target(target: &str) -> Result<String, SandboxError> {
    let refuse = |why: &str| {
        Err(SandboxError::InvalidRequest(format!("mount target `{}` {why}", target.escape_debug())))
    };
    if !target.starts_with('/') {
        return refuse("is not absolute");
    }
    if target.chars().any(char::is_control) {
        return refuse("has a control character");
    }
    let components: Vec<&str> = target.split('/').filter(|component| !component.is_empty()).collect();
    if components.iter().any(|component| *component == "." || *component == "..") {
        return refuse("has a `.` or `..` component");
    }
    if components.is_empty() {
        return refuse("is the root of the sandbox, which cannot be replaced; mount what you need below it");
    }
    let normal = format!("/{}", components.join("/"));
    if RESERVED_TARGETS.iter().any(|reserved| is_at_or_below(&normal, reserved)) {
        return refuse("belongs to the sandbox itself");
    }
    Ok(normal)
}

/// Whether `path` is `base` or lies below it; both in normal form.
pub fn is_at_or_below(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::normal_target;

    #[test]
    fn targets_have_one_normal_form() {
        assert_eq!(normal_target("/work//a/").unwrap(), "/work/a");
        for bad in [
            "", "work", "/", "//", "/a/../b", "/a/./b", "/proc", "/proc/1", "/dev/shm", "/sys", "/a\nb",
            "/a\0",
        ] {
            assert!(normal_target(bad).is_err(), "{bad:?}");
        }
        assert!(normal_target("/process").is_ok());
    }
}
