//! The directories that a run works in: where they are on the host, where the sandbox sees them, and what is off limits.
//!
//! Tools name files by the paths that commands in the sandbox see. The files are opened on the host, where a command
//! that is still running may swap any name for a link at any moment, and where the records of the run lie beside the
//! work. So nothing here opens a path: [`Workspace`] holds a handle of each mount and goes down from it one name at a
//! time (`reach`), and every directory on the way is compared with the reserved ones by identity, not by spelling.

mod current_dir;
mod host_mount;
mod host_path;
mod open;
mod path;
mod problem;
pub(crate) mod reach;
mod replace;
pub(crate) mod tree;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use fullsend_sandbox::spec::{is_at_or_below, normal_target};
use rustix::fs::Stat;

pub use self::current_dir::CurrentDir;
pub use self::host_mount::{HostMount, HostMountError};
pub use self::host_path::{Contained, HostPathError};
pub(crate) use self::open::open_regular;
pub use self::open::{LARGEST_WHOLE_FILE, OpenFile};
pub use self::path::{PathProblem, SandboxPath};
pub use self::problem::FileProblem;
use self::reach::Identity;
pub(crate) use self::replace::newest_file;
pub use self::replace::{Parents, Place, Put};

/// Where the sandbox sees the workspace, unless somebody says otherwise.
pub const WORKSPACE_TARGET: &str = "/workspace";

/// What may be done below a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    #[default]
    ReadOnly,
    /// Reading and writing.
    Writable,
}

/// A directory of the host, and where the sandbox sees it.
#[derive(Debug)]
pub struct Mount {
    name: String,
    host: PathBuf,
    target: SandboxPath,
    access: Access,
    device: u64,
    handle: OwnedFd,
}

impl Mount {
    /// What it is called; `workspace` for the first one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is on the host, all links followed.
    pub fn host(&self) -> &Path {
        &self.host
    }

    /// Where the sandbox sees it.
    pub fn target(&self) -> &SandboxPath {
        &self.target
    }

    /// What may be done below it.
    pub fn access(&self) -> Access {
        self.access
    }

    /// The number of the device that its root is on.
    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// What a [`Workspace`] is made of.
#[derive(Clone, Debug)]
pub struct WorkspacePlan<'a> {
    /// The directory that the run works in.
    pub root: &'a Path,
    /// Where the sandbox sees it, such as [`WORKSPACE_TARGET`].
    pub target: &'a str,
    /// What may be done below it.
    pub access: Access,
    /// Other directories that the sandbox sees.
    pub mounts: &'a [HostMount],
    /// What relative sources of mounts are relative to.
    pub relative_to: &'a Path,
    /// Directories that no tool may reach, by whatever name: the artifacts of runs. They must exist.
    pub reserved: &'a [PathBuf],
}

/// The mounts of a run and the directories that are off limits.
#[derive(Debug)]
pub struct Workspace {
    mounts: Vec<Mount>,
    reserved: Vec<Reserved>,
}

/// A directory that is off limits. The handle keeps its number from being given to another.
#[derive(Debug)]
struct Reserved {
    host: PathBuf,
    identity: Identity,
    _handle: OwnedFd,
}

/// Why there is no workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// A directory is missing, is none, or cannot be entered.
    #[error("cannot use `{}` as {role}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What it was to be.
        role: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The whole file system was to be worked in.
    #[error("the workspace is the root of the file system; choose the directory that the work is in")]
    RootAsWorkspace,
    /// The whole file system was to be mounted.
    #[error("host mount `{0}` is the root of the file system; mount the directory that is needed")]
    WholeFileSystem(String),
    /// The name of the workspace, or one that another mount has.
    #[error("two mounts are called `{0}`; give each its own name")]
    DuplicateName(String),
    /// A target that the sandbox cannot have.
    #[error("host mount `{name}`: {detail}")]
    Target {
        /// The mount.
        name: String,
        /// What is wrong with its target.
        detail: String,
    },
    /// A target at, above or below that of another mount.
    #[error("mounts `{first}` and `{second}` overlap in the sandbox: `{first_target}` and `{second_target}`")]
    Overlap {
        /// The earlier mount.
        first: String,
        /// Its target.
        first_target: SandboxPath,
        /// The later mount.
        second: String,
        /// Its target.
        second_target: SandboxPath,
    },
    /// A mount that lies in a reserved directory.
    #[error("mount `{name}` lies in `{}`, which is reserved for the records of runs", reserved.display())]
    Reserved {
        /// The mount.
        name: String,
        /// The reserved directory.
        reserved: PathBuf,
    },
}

impl Workspace {
    /// Opens the directories of a plan.
    pub fn open(plan: &WorkspacePlan<'_>) -> Result<Self, WorkspaceError> {
        let reserved = plan.reserved.iter().map(|path| reserve(path)).collect::<Result<Vec<_>, _>>()?;
        let mut workspace = Self { mounts: Vec::with_capacity(1 + plan.mounts.len()), reserved };
        let (host, handle, stat) = open_directory(plan.root, "the workspace")?;
        if host.parent().is_none() {
            return Err(WorkspaceError::RootAsWorkspace);
        }
        let name = "workspace".to_owned();
        let target = target_of(&name, plan.target)?;
        workspace.add(Mount { name, host, target, access: plan.access, device: stat.st_dev, handle })?;
        for mount in plan.mounts {
            let source = plan.relative_to.join(&mount.source);
            let (host, handle, stat) = open_directory(&source, &format!("host mount `{}`", mount.name))?;
            if host.parent().is_none() {
                return Err(WorkspaceError::WholeFileSystem(mount.name.clone()));
            }
            let name = mount.name.clone();
            let target = target_of(&name, mount.target.as_str())?;
            workspace.add(Mount { name, host, target, access: mount.access, device: stat.st_dev, handle })?;
        }
        Ok(workspace)
    }

    /// The mounts, that of the workspace first.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// What a path of a model means: relative ones start at `current`, and none leaves the mounts.
    ///
    /// This is about spelling only. Where links lead is decided when a file is opened.
    pub fn resolve(&self, given: &str, current: &SandboxPath) -> Result<SandboxPath, PathProblem> {
        let path = current.join(given)?;
        if self.mount_of(&path).is_none() {
            return Err(PathProblem::Outside);
        }
        Ok(path)
    }

    /// The mount that a path lies in, and the rest of the path below it.
    pub fn mount_of<'a>(&self, path: &'a SandboxPath) -> Option<(&Mount, &'a str)> {
        self.mounts.iter().find_map(|mount| Some((mount, path.below(&mount.target)?)))
    }

    /// The path below the workspace itself; none for other mounts.
    pub(crate) fn in_workspace<'a>(&self, path: &'a SandboxPath) -> Option<&'a str> {
        path.below(&self.mounts.first()?.target)
    }

    pub(crate) fn is_reserved(&self, identity: Identity) -> bool {
        self.reserved.iter().any(|reserved| reserved.identity == identity)
    }

    fn add(&mut self, mount: Mount) -> Result<(), WorkspaceError> {
        if let Some(reserved) = self.reserved.iter().find(|reserved| mount.host.starts_with(&reserved.host)) {
            return Err(WorkspaceError::Reserved { name: mount.name, reserved: reserved.host.clone() });
        }
        if self.mounts.iter().any(|other| other.name == mount.name) {
            return Err(WorkspaceError::DuplicateName(mount.name));
        }
        let overlaps = |other: &&Mount| {
            let (left, right) = (other.target.as_str(), mount.target.as_str());
            is_at_or_below(left, right) || is_at_or_below(right, left)
        };
        if let Some(other) = self.mounts.iter().find(overlaps) {
            return Err(WorkspaceError::Overlap {
                first: other.name.clone(),
                first_target: other.target.clone(),
                second: mount.name,
                second_target: mount.target,
            });
        }
        self.mounts.push(mount);
        Ok(())
    }
}

/// A target that the sandbox can have.
fn target_of(name: &str, target: &str) -> Result<SandboxPath, WorkspaceError> {
    let refused = |error: fullsend_sandbox::SandboxError| WorkspaceError::Target {
        name: name.to_owned(),
        detail: error.to_string(),
    };
    Ok(SandboxPath::known(&normal_target(target).map_err(refused)?))
}

fn reserve(path: &Path) -> Result<Reserved, WorkspaceError> {
    let role = "the directory for the records of runs";
    let (host, handle, stat) = open_directory(path, role)?;
    Ok(Reserved { host, identity: Identity::of(&stat), _handle: handle })
}

/// A directory with all links followed, and a handle of it.
fn open_directory(path: &Path, role: &str) -> Result<(PathBuf, OwnedFd, Stat), WorkspaceError> {
    let open = || {
        let host = std::fs::canonicalize(path)?;
        let handle = reach::open_root(&host)?;
        let stat = rustix::fs::fstat(&handle)?;
        Ok((host, handle, stat))
    };
    open().map_err(|source| WorkspaceError::Directory {
        path: path.to_owned(),
        role: role.to_owned(),
        source,
    })
}
