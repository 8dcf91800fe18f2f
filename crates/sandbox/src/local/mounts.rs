//! Sources of mounts, held by descriptor from the moment they are checked.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_sandbox_init::wire::{Blob, Mapping};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use crate::error::SandboxError;
use crate::spec::{FilesystemAccess, FilesystemMount, WriteMode, is_at_or_below, normal_target};

/// A mount whose source is checked and held: whatever happens to its path, this is what will be mounted.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) target: String,
    pub(crate) access: FilesystemAccess,
    pub(crate) write_mode: WriteMode,
    pub(crate) source: HeldSource,
    /// The source as it was asked for.
    asked: PathBuf,
}

/// A file or directory of the host.
#[derive(Debug)]
pub(crate) struct HeldSource {
    pub(crate) path: PathBuf,
    pub(crate) identity: (u64, u64),
    pub(crate) owner: Mapping,
    pub(crate) is_directory: bool,
    descriptor: OwnedFd,
}

/// Directories of the host that no session gets: they are interfaces to the kernel and to services, not files.
const REFUSED_SOURCES: [&str; 5] = ["/", "/proc", "/sys", "/dev", "/run"];

impl HeldSource {
    /// Takes hold of an existing file or directory.
    pub(crate) fn open(path: &Path) -> Result<Self, SandboxError> {
        let shown = path.display();
        if !path.is_absolute() {
            return Err(SandboxError::InvalidRequest(format!("mount source `{shown}` is not absolute")));
        }
        let held = Self::hold(path).map_err(|error| {
            let why = match error.raw_os_error() {
                Some(libc::ELOOP) => "it leads through a symbolic link; name the real path".to_owned(),
                Some(_) | None => format!("{error}; nothing was created"),
            };
            SandboxError::InvalidRequest(format!("mount source `{shown}` cannot be used: {why}"))
        })?;
        let refused = REFUSED_SOURCES.iter().any(|refused| held.path == Path::new(refused))
            || ["/proc", "/sys", "/dev"].iter().any(|tree| held.path.starts_with(tree));
        if refused {
            return Err(SandboxError::InvalidRequest(format!(
                "mount source `{shown}` is never given to a sandbox; name the directories below it that are needed"
            )));
        }
        Ok(held)
    }

    /// No component may be a symbolic link: whoever can write to a directory above could change where it leads.
    fn hold(path: &Path) -> std::io::Result<Self> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let descriptor =
            rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?;
        let status = rustix::fs::fstat(&descriptor)?;
        let path = std::fs::read_link(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))?;
        Ok(Self {
            path,
            identity: (status.st_dev, status.st_ino),
            owner: Mapping { user: status.st_uid, group: status.st_gid },
            is_directory: FileType::from_raw_mode(status.st_mode).is_dir(),
            descriptor,
        })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    pub(crate) fn path_blob(&self) -> Blob {
        Blob::from(self.path.as_os_str().as_bytes())
    }
}

/// Checks all mounts of a session together: those that the caller gave, and those that belong to the session. What the
/// caller gave is opened once: `held` has what was opened before.
pub(crate) fn pin(
    given: &[FilesystemMount],
    owned: &[FilesystemMount],
    held: &[Arc<Pinned>],
    state: &Path,
) -> Result<Vec<Arc<Pinned>>, SandboxError> {
    let mut pinned = Vec::new();
    for mount in given {
        let target = normal_target(&mount.target)?;
        match held.iter().find(|held| held.target == target) {
            Some(held) if held.asked == mount.source => pinned.push(Arc::clone(held)),
            Some(_) | None => pinned.push(Arc::new(pin_one(mount)?)),
        }
    }
    refuse_state(&pinned, state)?;
    for mount in owned {
        pinned.push(Arc::new(pin_one(mount)?));
    }
    pinned.sort_by(|one, other| one.target.cmp(&other.target));
    for pair in pinned.windows(2) {
        if let [one, other] = pair
            && one.target == other.target
        {
            return Err(SandboxError::InvalidRequest(format!("two mounts have the target `{}`", one.target)));
        }
    }
    refuse_below_file(&pinned)?;
    Ok(pinned)
}

fn pin_one(mount: &FilesystemMount) -> Result<Pinned, SandboxError> {
    let target = normal_target(&mount.target)?;
    let source = HeldSource::open(&mount.source)?;
    if mount.write_mode == WriteMode::Overlay {
        if mount.access == FilesystemAccess::ReadOnly {
            return Err(SandboxError::InvalidRequest(format!(
                "mount `{target}` is read-only and has no use for an overlay"
            )));
        }
        if !source.is_directory {
            return Err(SandboxError::InvalidRequest(format!(
                "mount `{target}` is a file; only directories can be overlaid"
            )));
        }
    }
    Ok(Pinned {
        target,
        access: mount.access,
        write_mode: mount.write_mode,
        source,
        asked: mount.source.clone(),
    })
}

/// A session that could write where layers and records of sessions are could forge them.
fn refuse_state(pinned: &[Arc<Pinned>], state: &Path) -> Result<(), SandboxError> {
    let state = std::fs::canonicalize(state).unwrap_or_else(|_| state.to_path_buf());
    let overlaps = |path: &Path| path.starts_with(&state) || state.starts_with(path);
    match pinned.iter().find(|mount| overlaps(&mount.source.path)) {
        None => Ok(()),
        Some(mount) => Err(SandboxError::InvalidRequest(format!(
            "mount source `{}` overlaps the sandbox's own state in `{}`; choose another state directory",
            mount.source.path.display(),
            state.display()
        ))),
    }
}

fn refuse_below_file(pinned: &[Arc<Pinned>]) -> Result<(), SandboxError> {
    let files: Vec<&Arc<Pinned>> = pinned.iter().filter(|mount| !mount.source.is_directory).collect();
    let below = pinned.iter().find_map(|mount| {
        let file = files
            .iter()
            .find(|file| file.target != mount.target && is_at_or_below(&mount.target, &file.target))?;
        Some((mount, file))
    });
    match below {
        None => Ok(()),
        Some((mount, file)) => Err(SandboxError::InvalidRequest(format!(
            "mount target `{}` lies below `{}`, which is a file",
            mount.target, file.target
        ))),
    }
}
