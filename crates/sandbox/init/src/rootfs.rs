//! The files that a session sees: a new root in memory, filled step by step, in place of the host's.

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags,
};

use crate::kernel::mount_attributes::{self, NO_EXECUTE, NO_SETUID, READ_ONLY};
use crate::setup::{Failure, doing};
use crate::wire::{Blob, OverlayStep, Source, Step};

/// Something that a step can mount.
#[derive(Debug)]
pub struct Opened {
    place: Place,
    /// A mount that is nowhere yet, or a plain directory; `None` for an optional source that is not there.
    descriptor: Option<OwnedFd>,
}

/// Whose directories a place lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Made by us or by the system: its path holds no links that somebody else has laid.
    Own,
    /// Possibly in a directory that the session or a repository controls.
    Foreign,
}

/// Where the new root is attached while the old one is still there. Nothing below the first is ever a source, so it hides
/// none that is opened later.
const FOOTHOLDS: [&str; 4] = ["/sys", "/proc/sys", "/mnt", "/tmp"];

/// What the session does with its mounts must not reach the host. The other way round they follow until the host's files
/// are let go of, so that a process that waits for its plan neither misses a mount nor holds on to one.
pub fn detach_from_host() -> io::Result<()> {
    Ok(rustix::mount::mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?)
}

/// Opens all sources while the host's files can still be seen.
pub fn open_sources(sources: &[Source], prepared: Vec<OwnedFd>) -> Result<Vec<Opened>, Failure> {
    let mut prepared: Vec<Option<OwnedFd>> = prepared.into_iter().map(Some).collect();
    sources.iter().map(|source| open_source(source, &mut prepared)).collect()
}

fn open_source(source: &Source, prepared: &mut [Option<OwnedFd>]) -> Result<Opened, Failure> {
    if let Some(mount) = prepared.get_mut(source.prepared as usize) {
        return Ok(Opened { place: Place::Foreign, descriptor: mount.take() });
    }
    let (place, opened) = match source.identity {
        (0, 0) => (Place::Own, open_system(source)),
        _ => (Place::Foreign, open_checked(source)),
    };
    match opened {
        Ok(descriptor) => Ok(Opened { place, descriptor: Some(descriptor) }),
        Err(error) if source.optional == 1 && error.kind() == io::ErrorKind::NotFound => {
            Ok(Opened { place, descriptor: None })
        }
        Err(error) => Err(Failure { doing: format!("opening {}", source.path), error }),
    }
}

/// System directories are trusted; they may be symbolic links.
fn open_system(source: &Source) -> io::Result<OwnedFd> {
    clone_mount(CWD, &source.path.0, source.attributes)
}

/// Descriptors from before the clone belong to another mount namespace and cannot be mounted, so the path is opened
/// again, and must lead to the same file without symbolic links.
fn open_checked(source: &Source) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let found = rustix::fs::openat2(
        CWD,
        source.path.0.as_slice(),
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        resolve,
    )?;
    let status = rustix::fs::fstat(&found)?;
    if (status.st_dev, status.st_ino) != source.identity {
        return Err(io::Error::from_raw_os_error(libc::ESTALE));
    }
    clone_mount(found.as_fd(), b"", source.attributes)
}

fn clone_mount(directory: BorrowedFd<'_>, path: &[u8], attributes: u64) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let mount = rustix::mount::open_tree(directory, path, flags)?;
    mount_attributes::set(mount.as_fd(), attributes, None)?;
    Ok(mount)
}

/// Makes the root and attaches it where the old root is still around it.
pub fn new_root(bytes: u64, files: u64, attributes: u64) -> Result<OwnedFd, Failure> {
    let root =
        tmpfs(&[("size", bytes.to_string()), ("nr_inodes", files.to_string()), ("mode", "0755".to_owned())])
            .map_err(doing("making a root in memory"))?;
    mount_attributes::set(root.as_fd(), attributes, None).map_err(doing("protecting the new root"))?;
    let attached = FOOTHOLDS.iter().any(|foothold| {
        rustix::mount::move_mount(&root, "", CWD, *foothold, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).is_ok()
    });
    if !attached {
        let error = io::Error::from_raw_os_error(libc::ENOENT);
        return Err(Failure { doing: format!("attaching the new root to one of {FOOTHOLDS:?}"), error });
    }
    Ok(root)
}

fn tmpfs(options: &[(&str, String)]) -> io::Result<OwnedFd> {
    make_mount("tmpfs", options, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV)
}

fn make_mount(kind: &str, options: &[(&str, String)], attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            rustix::mount::fsconfig_set_flag(context.as_fd(), *key)?;
        } else {
            rustix::mount::fsconfig_set_string(context.as_fd(), *key, value.as_str())?;
        }
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    Ok(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Carries out the steps in order.
pub fn fill(root: &OwnedFd, steps: &[Step], sources: &[Opened]) -> Result<(), Failure> {
    let filling = Filling { root: root.as_fd(), sources, empty: OnceCell::new() };
    // Modes are as the steps say, without a call for each that puts back what the caller's mask takes away.
    let mask = rustix::process::umask(Mode::empty());
    let filled = steps.iter().try_for_each(|step| filling.step(step));
    rustix::process::umask(mask);
    filled
}

struct Filling<'a> {
    root: BorrowedFd<'a>,
    sources: &'a [Opened],
    /// An empty directory that is mounted somewhere; others are copies of the mount.
    empty: OnceCell<OwnedFd>,
}

impl Filling<'_> {
    fn step(&self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Directory { path, mode } => {
                self.directory(path, *mode).map_err(about("making directory", path))
            }
            Step::File { path, mode, content } => {
                self.file(path, *mode, content).map_err(about("writing", path))
            }
            Step::Link { path, target } => {
                rustix::fs::symlinkat(target.0.as_slice(), self.root, relative(path))
                    .map_err(about("linking", path))
            }
            Step::Attach { source, path } => self.attach(*source, path).map_err(about("mounting on", path)),
            Step::Pin { path } => self.pin(path).map_err(about("pinning", path)),
            Step::Seal { path, attributes } => {
                tolerate_absence(self.seal(path, *attributes)).map_err(about("protecting", path))
            }
            Step::Mask { path } => tolerate_absence(self.mask(path)).map_err(about("hiding", path)),
            Step::Empty { path } => tolerate_absence(self.empty(path)).map_err(about("emptying", path)),
            Step::Overlay { overlay } => {
                self.overlay(overlay).map_err(about("stacking directories on", &overlay.path))
            }
            Step::Bind { from, path, attributes } => {
                self.bind(from, path, *attributes).map_err(about("mounting on", path))
            }
            Step::Detach { path } => self.detach(path).map_err(about("detaching", path)),
            Step::Processes { path } => self.processes(path).map_err(about("mounting processes on", path)),
            Step::Terminals { path } => self.terminals(path).map_err(about("mounting terminals on", path)),
        }
    }

    fn directory(&self, path: &Blob, mode: u32) -> io::Result<()> {
        match rustix::fs::mkdirat(self.root, relative(path), Mode::from_raw_mode(mode)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn file(&self, path: &Blob, mode: u32, content: &Blob) -> io::Result<()> {
        let mode = Mode::from_raw_mode(mode);
        if content.0.is_empty() {
            return Ok(rustix::fs::mknodat(self.root, relative(path), FileType::RegularFile, mode, 0)?);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(self.root, relative(path), flags, mode)?;
        File::from(file).write_all(&content.0)
    }

    fn attach(&self, source: u32, path: &Blob) -> io::Result<()> {
        let source = self.sources.get(source as usize).ok_or(io::ErrorKind::InvalidInput)?;
        match (&source.descriptor, source.place) {
            (Some(mount), Place::Own) => self.put_plainly(mount.as_fd(), path),
            (Some(mount), Place::Foreign) => self.put(mount.as_fd(), path),
            (None, _) => Ok(()),
        }
    }

    /// Paths may lie in directories that the session or a repository controls: no link is followed.
    fn target(&self, path: &Blob) -> io::Result<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(
            self.root,
            relative(path),
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        )?)
    }

    fn put(&self, mount: BorrowedFd<'_>, path: &Blob) -> io::Result<()> {
        put_on(mount, self.target(path)?.as_fd())
    }

    /// For paths in directories that are ours.
    fn put_plainly(&self, mount: BorrowedFd<'_>, path: &Blob) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        Ok(rustix::mount::move_mount(mount, "", self.root, relative(path), flags)?)
    }

    fn pin(&self, path: &Blob) -> io::Result<()> {
        let target = self.target(path)?;
        put_on(clone_mount(target.as_fd(), b"", 0)?.as_fd(), target.as_fd())
    }

    /// Only for what the kernel has made: processes and settings.
    fn seal(&self, path: &Blob, attributes: u64) -> io::Result<()> {
        let mount = clone_mount(self.root, relative(path), attributes)?;
        self.put_plainly(mount.as_fd(), path)
    }

    /// Only for what the kernel has made, see [`Self::seal`].
    fn mask(&self, path: &Blob) -> io::Result<()> {
        let mount = clone_mount(self.root, b"dev/null", READ_ONLY | NO_SETUID | NO_EXECUTE)?;
        self.put_plainly(mount.as_fd(), path)
    }

    fn empty(&self, path: &Blob) -> io::Result<()> {
        let target = self.target(path)?;
        if let Some(empty) = self.empty.get() {
            return put_on(clone_mount(empty.as_fd(), b"", READ_ONLY)?.as_fd(), target.as_fd());
        }
        let mount =
            tmpfs(&[("size", "0".to_owned()), ("nr_inodes", "2".to_owned()), ("mode", "0555".to_owned())])?;
        mount_attributes::set(mount.as_fd(), READ_ONLY, None)?;
        put_on(mount.as_fd(), target.as_fd())?;
        // There is none yet, as was just seen.
        let _ = self.empty.set(mount);
        Ok(())
    }

    fn processes(&self, path: &Blob) -> io::Result<()> {
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        self.put_plainly(make_mount("proc", &[], attributes)?.as_fd(), path)
    }

    fn terminals(&self, path: &Blob) -> io::Result<()> {
        let options = [
            ("newinstance", String::new()),
            ("ptmxmode", "0666".to_owned()),
            ("mode", "0620".to_owned()),
            // The machine has a few thousand for all sessions together.
            ("max", "256".to_owned()),
        ];
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        self.put_plainly(make_mount("devpts", &options, attributes)?.as_fd(), path)
    }

    /// The kernel takes the directories of an overlay by path, relative to the working directory.
    fn overlay(&self, overlay: &OverlayStep) -> io::Result<()> {
        rustix::process::fchdir(self.root)?;
        let text =
            |path: &Blob| String::from_utf8(relative(path).to_vec()).map_err(|_| io::ErrorKind::InvalidInput);
        let mut options = Vec::new();
        for lower in &overlay.lower {
            // One at a time: a value is limited to 256 bytes.
            options.push(("lowerdir+", text(lower)?));
        }
        options.extend([
            ("upperdir", text(&overlay.upper)?),
            ("workdir", text(&overlay.work)?),
            ("userxattr", String::new()),
            ("volatile", String::new()),
            ("index", "off".to_owned()),
        ]);
        let mount = make_mount(
            "overlay",
            &options,
            MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
        )?;
        mount_attributes::set(mount.as_fd(), overlay.attributes, None)?;
        self.put(mount.as_fd(), &overlay.path)
    }

    fn bind(&self, from: &Blob, path: &Blob, attributes: u64) -> io::Result<()> {
        let from = self.target(from)?;
        self.put(clone_mount(from.as_fd(), b"", attributes)?.as_fd(), path)
    }

    fn detach(&self, path: &Blob) -> io::Result<()> {
        // Unmounting goes by path, and the root is attached at a place of the host's.
        rustix::process::fchdir(self.root)?;
        rustix::mount::unmount(relative(path), UnmountFlags::DETACH)?;
        Ok(rustix::fs::unlinkat(self.root, relative(path), AtFlags::REMOVEDIR)?)
    }
}

/// Makes the new root the root, and lets go of the old one.
pub fn switch_to(root: &OwnedFd) -> Result<(), Failure> {
    rustix::process::fchdir(root).map_err(doing("entering the new root"))?;
    rustix::process::pivot_root(".", ".").map_err(doing("making the new root the root"))?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(doing("letting go of the host's files"))?;
    rustix::process::chdir("/").map_err(doing("entering the new root"))
}

fn relative(path: &Blob) -> &[u8] {
    path.0.strip_prefix(b"/").unwrap_or(&path.0)
}

fn put_on(mount: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(mount, "", target, "", flags)?)
}

/// Words are only put together when something has failed: there are a hundred steps.
fn about<E: Into<io::Error>>(what: &str, path: &Blob) -> impl FnOnce(E) -> Failure {
    move |error| doing(format!("{what} {path}"))(error)
}

fn tolerate_absence(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
