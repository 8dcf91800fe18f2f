//! The backends that can be chosen, and where they keep their state.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use fullsend_sandbox::policy::Ground;
use fullsend_sandbox::{
    DockerBackend, DockerConfig, LocalBackend, LocalConfig, SandboxBackend, SandboxError,
};

use crate::cli::{BackendName, EngineArgs, SandboxExecArgs};
use crate::environment;
use crate::output::Advice;

/// A backend as the arguments name it.
#[derive(Debug)]
pub(super) enum Choice<'a> {
    Local,
    Docker { image: &'a str, engine: &'a EngineArgs },
}

impl<'a> Choice<'a> {
    /// What the arguments choose; an option that the backend has no use for is an error, never ignored.
    pub(super) fn of(args: &'a SandboxExecArgs) -> Result<Self> {
        let engine = &args.engine;
        match (args.backend, &engine.image) {
            (BackendName::Docker, Some(image)) => Ok(Self::Docker { image, engine }),
            (BackendName::Docker, None) => bail!("`--backend docker` needs `--image`"),
            (BackendName::Local, _) => {
                let useless = [
                    ("--image", engine.image.is_some()),
                    ("--runtime", engine.runtime.is_some()),
                    ("--docker", engine.docker.is_some()),
                ];
                match useless.into_iter().find(|(_, given)| *given) {
                    Some((option, _)) => bail!(Advice::new(
                        format!("`{option}` is about containers, and the backend `local` has none"),
                        "add `--backend docker`",
                    )),
                    None => Ok(Self::Local),
                }
            }
        }
    }

    /// What commands stand on.
    pub(super) fn ground(&self) -> Ground {
        match self {
            Self::Local => Ground::Machine,
            Self::Docker { image, .. } => Ground::Image((*image).to_owned()),
        }
    }

    /// Starts the backend; inside a runtime.
    pub(super) async fn start(&self, egress_log: Option<PathBuf>) -> Result<Backend, SandboxError> {
        match self {
            Self::Local => Ok(Backend::Local(local(egress_log)?)),
            Self::Docker { image, engine } => {
                let usual = DockerConfig::new(*image, state_directory("docker")?);
                let config = DockerConfig {
                    program: engine.docker.clone().unwrap_or(usual.program),
                    runtime: engine.runtime.clone(),
                    egress_log,
                    ..usual
                };
                Ok(Backend::Docker(Box::new(DockerBackend::connect(config).await?)))
            }
        }
    }
}

/// A backend that was started.
#[derive(Debug)]
pub(super) enum Backend {
    /// On this machine's kernel.
    Local(LocalBackend),
    /// In containers.
    Docker(Box<DockerBackend>),
}

impl Backend {
    /// What every backend does.
    pub(super) fn contract(&self) -> &dyn SandboxBackend {
        match self {
            Self::Local(backend) => backend,
            Self::Docker(backend) => backend.as_ref(),
        }
    }

    /// Removes what killed processes have left behind.
    pub(super) async fn sweep(&self) -> Result<(), SandboxError> {
        match self {
            Self::Local(backend) => backend.sweep().map(drop),
            Self::Docker(backend) => backend.sweep().await,
        }
    }
}

/// The backend on this machine's kernel.
pub(in crate::command) fn local(egress_log: Option<PathBuf>) -> Result<LocalBackend, SandboxError> {
    let state_dir = state_directory("sandbox")?;
    LocalBackend::start(LocalConfig { state_dir, egress_log, ..LocalConfig::default() })
}

/// Where a backend keeps its state.
pub(in crate::command) fn state_directory(kind: &str) -> Result<PathBuf, SandboxError> {
    match environment::state_directory() {
        Some(directory) => Ok(directory.join(kind)),
        None => directory_for(&std::env::temp_dir(), kind, rustix::process::geteuid().as_raw()),
    }
}

/// A directory of the user's in one that everybody can write to: whoever else made it first must not be trusted with it.
fn directory_for(shared: &Path, kind: &str, user: u32) -> Result<PathBuf, SandboxError> {
    let path = shared.join(format!("fullsend-{kind}-{user}"));
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
        let path = directory_for(shared.path(), "sandbox", user).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert_eq!(directory_for(shared.path(), "sandbox", user).unwrap(), path, "and again");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(directory_for(shared.path(), "sandbox", user).is_err(), "open to others");
        fs::remove_dir(&path).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), &path).unwrap();
        assert!(directory_for(shared.path(), "sandbox", user).is_err(), "a link");
        assert!(directory_for(shared.path(), "sandbox", user + 1).is_err(), "of another user");
        assert!(directory_for(&shared.path().join("missing"), "sandbox", user).is_err(), "nowhere");
    }
}
