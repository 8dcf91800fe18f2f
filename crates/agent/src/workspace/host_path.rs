//! Where the sandbox sees a path of the host that a person named.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::{Access, Mount, SandboxPath, Workspace};

/// A path of the host that lies in a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contained {
    /// The path, links followed as far as it exists.
    pub host: PathBuf,
    /// Where the sandbox sees it.
    pub sandbox: SandboxPath,
    /// What may be done there.
    pub access: Access,
}

/// Why the sandbox does not see a path of the host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostPathError {
    /// It is in none of the mounts.
    #[error("`{}` is outside of the workspace and of every mounted directory", .0.display())]
    Outside(PathBuf),
    /// A link on the way leads to nothing: what would be created there is somewhere else.
    #[error("`{}` is a symbolic link to nothing", .0.display())]
    DanglingLink(PathBuf),
    /// It cannot be looked up.
    #[error("cannot look up `{}`: {source}", path.display())]
    Lookup {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The sandbox names files by text.
    #[error("`{}` is not valid UTF-8", .0.display())]
    NotText(PathBuf),
}

impl Workspace {
    /// Where the sandbox sees a path of the host, which need not exist yet; a relative one starts at the workspace.
    ///
    /// Where several mounts hold it, the one with the longest path on the host counts.
    pub fn host_to_sandbox(&self, path: &Path) -> Result<Contained, HostPathError> {
        let Some(root) = self.mounts.first() else { return Err(HostPathError::Outside(path.to_owned())) };
        self.real_to_sandbox(real_path(&root.host.join(path))?)
    }

    /// The same for a path that had no links when somebody looked; whether it has some now does not matter.
    pub fn real_to_sandbox(&self, host: PathBuf) -> Result<Contained, HostPathError> {
        let holds = |mount: &&Mount| host.starts_with(&mount.host);
        let mount = self.mounts.iter().filter(holds).max_by_key(|mount| mount.host.as_os_str().len());
        let Some(mount) = mount else { return Err(HostPathError::Outside(host)) };
        let below = host.strip_prefix(&mount.host).unwrap_or(Path::new(""));
        let Some(below) = below.to_str() else { return Err(HostPathError::NotText(host)) };
        let sandbox = match below {
            "" => mount.target.clone(),
            below => mount.target.join(below).map_err(|_| HostPathError::Outside(host.clone()))?,
        };
        Ok(Contained { sandbox, access: mount.access, host })
    }

    /// Where in the workspace itself a path leads, links followed as far as it exists; none if it leads elsewhere.
    pub(crate) fn real_in_workspace(&self, path: &SandboxPath) -> Option<String> {
        let below = self.in_workspace(path)?;
        let root = self.mounts.first()?;
        let host = root.host.join(below);
        // Most files exist, and are found at once.
        if let Ok(real) = host.canonicalize() {
            return real.strip_prefix(&root.host).ok()?.to_str().map(str::to_owned);
        }
        let contained = self.host_to_sandbox(&host).ok()?;
        self.in_workspace(&contained.sandbox).map(str::to_owned)
    }
}

/// The path with all links followed, as far as it exists; what does not exist yet is appended as it is spelled.
fn real_path(path: &Path) -> Result<PathBuf, HostPathError> {
    let (mut real, mut missing) = (PathBuf::new(), 0_usize);
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => real.push(component),
            Component::ParentDir => {
                real.pop();
                missing = missing.saturating_sub(1);
            }
            Component::Normal(name) if missing > 0 => {
                real.push(name);
                missing += 1;
            }
            Component::Normal(name) => match step(&real, name)? {
                Some(next) => real = next,
                None => {
                    real.push(name);
                    missing = 1;
                }
            },
        }
    }
    Ok(real)
}

/// One name further, links followed; nothing where the name does not exist.
fn step(directory: &Path, name: &OsStr) -> Result<Option<PathBuf>, HostPathError> {
    let path = directory.join(name);
    match std::fs::canonicalize(&path) {
        Ok(next) => Ok(Some(next)),
        Err(error) if error.kind() == ErrorKind::NotFound => match path.symlink_metadata() {
            Ok(_) => Err(HostPathError::DanglingLink(path)),
            Err(_) => Ok(None),
        },
        Err(source) => Err(HostPathError::Lookup { path, source }),
    }
}
