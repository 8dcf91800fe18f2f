//! Which directory of the host is at which place of a session.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::arguments::{Bind, ContainerUser};
use super::owners::Shown;
use crate::error::SandboxError;
use crate::local::mounts::{HeldSource, Pinned, pin};
use crate::spec::{
    FilesystemAccess, FilesystemMount, MEMORY_MOUNT, OUTPUTS_MOUNT, ResolvedMount, WriteMode, is_at_or_below,
    normal_target,
};
use crate::tree::{self, Owner};

/// A mount and where its files are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Placed {
    /// The mount as it was asked for, its target in normal form.
    pub(super) mount: FilesystemMount,
    /// The number of the session's own directory with its files; none for the source itself.
    pub(super) own: Option<usize>,
}

/// All mounts of a session: those asked for, and the two that every session has.
pub(super) fn place(asked: &[FilesystemMount]) -> Result<Vec<Placed>, SandboxError> {
    let mut mounts = Vec::new();
    for mount in asked {
        add(&mut mounts, mount)?;
    }
    let standard = [(MEMORY_MOUNT, FilesystemAccess::ReadOnly), (OUTPUTS_MOUNT, FilesystemAccess::ReadWrite)];
    for (target, access) in standard {
        if !mounts.iter().any(|placed| placed.mount.target == target) {
            let (source, target) = (PathBuf::new(), target.to_owned());
            add(&mut mounts, &FilesystemMount { source, target, access, write_mode: WriteMode::Direct })?;
        }
    }
    Ok(mounts)
}

/// Adds a mount to those of a session.
pub(super) fn add(mounts: &mut Vec<Placed>, mount: &FilesystemMount) -> Result<(), SandboxError> {
    let target = normal_target(&mount.target)?;
    if mounts.iter().any(|placed| placed.mount.target == target) {
        return Err(SandboxError::InvalidRequest(format!("two mounts have the target `{target}`")));
    }
    let copied = mount.write_mode == WriteMode::Overlay;
    if copied && (mount.is_session_owned() || mount.access == FilesystemAccess::ReadOnly) {
        return Err(SandboxError::InvalidRequest(format!(
            "mount `{target}` has no use for an overlay: only read-write mounts with a source have one"
        )));
    }
    let number = mounts.iter().filter(|placed| placed.own.is_some()).count();
    let own = (copied || mount.is_session_owned()).then_some(number);
    mounts.push(Placed { mount: FilesystemMount { target, ..mount.clone() }, own });
    Ok(())
}

impl Placed {
    /// Whether commands change files that are not the session's.
    pub(super) fn writes_through(&self) -> bool {
        self.own.is_none() && self.mount.access == FilesystemAccess::ReadWrite
    }

    pub(super) fn host_path(&self, files: &Path) -> PathBuf {
        match self.own {
            Some(number) => files.join(number.to_string()),
            None => self.mount.source.clone(),
        }
    }

    /// The mount as the session sees it.
    pub(super) fn resolved(&self, files: &Path) -> ResolvedMount {
        let layered = self.mount.write_mode == WriteMode::Overlay;
        let host_path = (!layered).then(|| self.host_path(files));
        ResolvedMount { target: self.mount.target.clone(), access: self.mount.access, host_path }
    }

    /// Makes the session's own directory, empty or as a copy of the source.
    pub(super) fn prepare(
        &self,
        files: &Path,
        user: ContainerUser,
        foreign: bool,
    ) -> Result<(), SandboxError> {
        if self.own.is_none() {
            return Ok(());
        }
        let directory = self.host_path(files);
        let failed = SandboxError::io(format!("cannot prepare the files of mount `{}`", self.mount.target));
        let prepared = if self.mount.is_session_owned() {
            // Numbers of a remapping engine are not ours to know; the directory above lets nobody else in.
            let mode = if foreign { 0o777 } else { 0o755 };
            std::fs::create_dir(&directory)
                .and_then(|()| std::fs::set_permissions(&directory, Permissions::from_mode(mode)))
                .and_then(|()| give(&directory, user))
        } else {
            let source = HeldSource::open(&self.mount.source)?;
            if !source.is_directory {
                let target = &self.mount.target;
                return Err(SandboxError::InvalidRequest(format!(
                    "mount `{target}` is a file; only directories can be overlaid"
                )));
            }
            tree::copy(&source.path, &directory, Owner::Given { user: user.uid, group: user.gid })
        };
        prepared.map_err(failed)
    }
}

/// Only root gives directories away; everybody else runs commands as themselves.
fn give(directory: &Path, user: ContainerUser) -> std::io::Result<()> {
    if rustix::process::geteuid().is_root() {
        chown(directory, Some(user.uid), Some(user.gid))?;
    }
    Ok(())
}

/// Mounts whose sources are checked and held, in the order in which they are mounted.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) pinned: Vec<Arc<Pinned>>,
    /// Directories between a writable mount and a read-only one inside it. Mounted on themselves, so that nobody can
    /// rename what leads to the read-only one and put something else in its place.
    between: Vec<Between>,
    /// Sources as the session's user, by target.
    shown: BTreeMap<String, Shown>,
}

/// A directory inside a mount.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Between {
    /// The target of the mount.
    outer: String,
    /// The directory, below its source.
    below: PathBuf,
    /// Where the session sees it.
    target: String,
}

/// How sources of root are shown to the session's user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Showing<'a> {
    pub(super) init: &'a Path,
    pub(super) state: &'a Path,
}

impl Layout {
    /// Checks every source and every place of a mount inside another. `held` are sources that were opened before.
    pub(super) fn check(
        mounts: &[Placed],
        held: &[Arc<Pinned>],
        files: &Path,
        state: &Path,
        user: ContainerUser,
        showing: Option<Showing<'_>>,
    ) -> Result<Self, SandboxError> {
        let (own, given): (Vec<&Placed>, Vec<&Placed>) =
            mounts.iter().partition(|placed| placed.own.is_some());
        let as_mounted = |placed: &&Placed| FilesystemMount {
            source: placed.host_path(files),
            write_mode: WriteMode::Direct,
            ..placed.mount.clone()
        };
        let own: Vec<FilesystemMount> = own.iter().map(as_mounted).collect();
        let given: Vec<FilesystemMount> = given.iter().map(as_mounted).collect();
        let pinned = pin(&given, &own, held, state)?;
        let mut shown = BTreeMap::new();
        for mount in &pinned {
            refuse_special(mount)?;
            require_same(mount)?;
            let given =
                mounts.iter().find(|placed| placed.mount.target == mount.target && placed.own.is_none());
            let foreign = given.is_some() && mount.source.owner.user != user.uid;
            let other =
                showing.filter(|_| foreign).map(|how| Shown::new(&mount.source, user, how.state, how.init));
            match other {
                Some(Ok(other)) => drop(shown.insert(mount.target.clone(), other)),
                // Some file systems cannot show other owners. Then the permission bits for others decide.
                Some(Err(_)) | None if given.is_some_and(Placed::writes_through) => {
                    require_writable(mount, user, showing.is_some())?
                }
                Some(Err(_)) | None => {}
            }
        }
        let between = nested(&pinned, files)?;
        Ok(Self { pinned, between, shown })
    }

    /// What the engine mounts for a source.
    fn source<'a>(&'a self, mount: &'a Pinned) -> &'a Path {
        self.shown.get(&mount.target).map_or(&mount.source.path, Shown::path)
    }

    /// Takes over the mounts that must last as long as the container.
    pub(super) fn into_shown(self) -> Vec<Shown> {
        self.shown.into_values().collect()
    }

    /// What the engine is told.
    pub(super) fn binds(&self) -> Vec<Bind<'_>> {
        let between = self.between.iter().filter_map(|between| {
            let outer = self.pinned.iter().find(|mount| mount.target == between.outer)?;
            let source = self.source(outer).join(&between.below);
            Some(Bind { source: source.into(), target: &between.target, writable: true })
        });
        let mounts = self.pinned.iter().map(|mount| Bind {
            source: self.source(mount).into(),
            target: &mount.target,
            writable: mount.access == FilesystemAccess::ReadWrite,
        });
        let mut binds: Vec<Bind<'_>> = between.chain(mounts).collect();
        binds.sort_by_key(|bind| bind.target);
        binds
    }

    /// Targets with the identity of what must be there.
    pub(super) fn identities(&self) -> impl Iterator<Item = (&str, (u64, u64))> {
        self.pinned.iter().map(|mount| (mount.target.as_str(), mount.source.identity))
    }
}

/// Sockets lead to services, the engine's own among them.
fn refuse_special(mount: &Pinned) -> Result<(), SandboxError> {
    let path = &mount.source.path;
    if mount.source.is_directory || path.is_file() {
        return Ok(());
    }
    Err(SandboxError::InvalidRequest(format!(
        "mount source `{}` is neither a file nor a directory, and is not given to a sandbox",
        path.display()
    )))
}

/// The engine mounts by path, so the path must still lead to what was given.
fn require_same(mount: &Pinned) -> Result<(), SandboxError> {
    let path = &mount.source.path;
    if HeldSource::open(path)?.identity == mount.source.identity {
        return Ok(());
    }
    Err(SandboxError::InvalidRequest(format!(
        "mount source `{}` is no longer what it was when it was given",
        path.display()
    )))
}

/// A container engine cannot show files under another owner, so a grant to write may be of no effect.
fn require_writable(mount: &Pinned, user: ContainerUser, shows: bool) -> Result<(), SandboxError> {
    let path = &mount.source.path;
    let status = rustix::fs::stat(path)
        .map_err(|error| SandboxError::io(format!("cannot look at `{}`", path.display()))(error.into()))?;
    let bit = if status.st_uid == user.uid {
        0o200
    } else if status.st_gid == user.gid {
        0o020
    } else {
        0o002
    };
    if user.uid == 0 || status.st_mode & bit != 0 {
        return Ok(());
    }
    let help = match rustix::process::geteuid().is_root() && !shows {
        true => {
            "do not run as root: this runtime has a kernel of its own, to which files of root cannot be shown as another's"
        }
        false => "change its owner, configure the user, or use an overlay",
    };
    Err(SandboxError::InvalidRequest(format!(
        "mount source `{}` belongs to user {} and cannot be written by user {}, as whom commands run; {help}",
        path.display(),
        status.st_uid,
        user.uid
    )))
}

/// Looks at every mount inside another: its place must be there, or the engine would make it in the caller's files.
fn nested(pinned: &[Arc<Pinned>], files: &Path) -> Result<Vec<Between>, SandboxError> {
    let mut between = Vec::new();
    for inner in pinned {
        let outer = pinned
            .iter()
            .filter(|outer| outer.target != inner.target && is_at_or_below(&inner.target, &outer.target))
            .max_by_key(|outer| outer.target.len());
        let Some(outer) = outer else { continue };
        let names: Vec<&str> =
            inner.target.get(outer.target.len()..).unwrap_or_default().split('/').skip(1).collect();
        let steps = places(outer, inner, &names, outer.source.path.starts_with(files))?;
        let pins = outer.access == FilesystemAccess::ReadWrite && inner.access == FilesystemAccess::ReadOnly;
        if pins {
            between.extend(steps);
        }
    }
    between.sort();
    between.dedup();
    Ok(between)
}

/// The directories on the way from one mount to another inside it, each checked or, in the session's own files, made.
fn places(outer: &Pinned, inner: &Pinned, names: &[&str], own: bool) -> Result<Vec<Between>, SandboxError> {
    let mut steps = Vec::new();
    let (mut path, mut target) = (outer.source.path.clone(), outer.target.clone());
    let mut below = PathBuf::new();
    for (position, name) in names.iter().enumerate() {
        path.push(name);
        below.push(name);
        target = format!("{target}/{name}");
        let last = position + 1 == names.len();
        let directory = !last || inner.source.is_directory;
        let status = std::fs::symlink_metadata(&path);
        let fits =
            status.as_ref().is_ok_and(|status| if directory { status.is_dir() } else { status.is_file() });
        let missing = status.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if missing && own {
            let made =
                if directory { std::fs::create_dir(&path) } else { std::fs::File::create(&path).map(drop) };
            made.map_err(SandboxError::io(format!("cannot make a place for mount `{}`", inner.target)))?;
        } else if !fits {
            return Err(SandboxError::InvalidRequest(format!(
                "mount target `{}` lies inside mount `{}`, whose source has no {} at `{}`; make one, nothing is created in a source",
                inner.target,
                outer.target,
                if directory { "directory" } else { "file" },
                path.display()
            )));
        }
        if !last {
            let outer = outer.target.clone();
            steps.push(Between { outer, below: below.clone(), target: target.clone() });
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests;
