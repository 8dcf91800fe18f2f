//! The backends that can be chosen, and where they keep their state.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use fullsend_sandbox::{LocalBackend, LocalConfig, SandboxBackend, SandboxError};

use crate::cli::{BackendName, SandboxExecArgs};
use crate::environment;

/// A backend that was chosen.
#[derive(Debug)]
pub(super) enum Backend {
    /// On this machine's kernel.
    Local(LocalBackend),
}

impl Backend {
    /// Starts the backend that the arguments name; inside a runtime.
    pub(super) fn start(args: &SandboxExecArgs) -> Result<Self, SandboxError> {
        match args.backend {
            BackendName::Local => Ok(Self::Local(local(args.network.log.clone())?)),
        }
    }

    /// What every backend does.
    pub(super) fn contract(&self) -> &dyn SandboxBackend {
        match self {
            Self::Local(backend) => backend,
        }
    }

    /// Removes what killed processes have left behind.
    pub(super) fn sweep(&self) -> Result<(), SandboxError> {
        match self {
            Self::Local(backend) => backend.sweep().map(drop),
        }
    }
}

/// The backend on this machine's kernel.
pub(in crate::command) fn local(egress_log: Option<PathBuf>) -> Result<LocalBackend, SandboxError> {
    let state_dir = match environment::state_directory() {
        Some(directory) => directory,
        None => directory_for(&std::env::temp_dir(), rustix::process::geteuid().as_raw())?,
    };
    LocalBackend::start(LocalConfig { state_dir, egress_log, ..LocalConfig::default() })
}

/// A directory of the user's in one that everybody can write to: whoever else made it first must not be trusted with it.
fn directory_for(shared: &Path, user: u32) -> Result<PathBuf, SandboxError> {
    let path = shared.join(format!("fullsend-sandbox-{user}"));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(SandboxError::Io { doing: format!("making `{}`", path.display()), source: error });
        }
        Ok(()) | Err(_) => {}
    }
    let found =
        fs::symlink_metadata(&path).map_err(SandboxError::io(format!("looking at `{}`", path.display())))?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        return Ok(path);
    }
    Err(SandboxError::Lifecycle(format!(
        "`{}` is not a directory that only this user can open; remove it, or set `{}`",
        path.display(),
        environment::XDG_STATE_HOME
    )))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::directory_for;

    #[test]
    fn state_is_kept_only_where_nobody_else_can_reach() {
        let shared = tempfile::tempdir().unwrap();
        let user = fs::metadata(shared.path()).unwrap().uid();
        let path = directory_for(shared.path(), user).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert_eq!(directory_for(shared.path(), user).unwrap(), path, "and again");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(directory_for(shared.path(), user).is_err(), "open to others");
        fs::remove_dir(&path).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), &path).unwrap();
        assert!(directory_for(shared.path(), user).is_err(), "a link");
        assert!(directory_for(shared.path(), user + 1).is_err(), "of another user");
        assert!(directory_for(&shared.path().join("missing"), user).is_err(), "nowhere");
    }
}
