//! Copies and removes directory trees that a sandbox has written: nothing in them is followed, opened for its
//! contents' sake, or waited for.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps};

use crate::error::SandboxError;

/// Deeper trees are refused: descriptors are held for every level.
const DEEPEST: usize = 256;

/// Copies a directory with modes, times, holes and hard links. Files, directories, symbolic links and FIFOs are copied
/// as what they are; sockets and devices are left out, because a copy would be none.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), SandboxError> {
    let copied = || -> io::Result<()> {
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let source = open_directory(CWD, from.as_os_str())?;
        let status = rustix::fs::fstat(&source)?;
        rustix::fs::mkdir(to, Mode::from_raw_mode(0o700))?;
        let target = open_directory(CWD, to.as_os_str())?;
        let mut copier = Copier { root: &target, links: HashMap::new() };
        copier.entries(&source, &target, Path::new(""), 0)?;
        finish(&target, &status)
    };
    copied().map_err(SandboxError::io(format!("cannot copy `{}` to `{}`", from.display(), to.display())))
}

/// A copy under way.
struct Copier<'a> {
    root: &'a OwnedFd,
    /// Files with several names, by what they are in the source: where the first copy is.
    links: HashMap<(u64, u64), PathBuf>,
}

impl Copier<'_> {
    fn entries(&mut self, from: &OwnedFd, to: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other(format!("directories are nested more than {DEEPEST} deep")));
        }
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                let path = path.join(OsStr::from_bytes(name.to_bytes()));
                self.entry(from.as_fd(), to.as_fd(), &path, depth)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        path: &Path,
        depth: usize,
    ) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default();
        let status = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::Directory => {
                let source = open_anyway(from, name, DIRECTORY, &status)?;
                rustix::fs::mkdirat(to, name, Mode::from_raw_mode(0o700))?;
                let target = open_directory(to, name)?;
                self.entries(&source, &target, path, depth + 1)?;
                finish(&target, &status)
            }
            FileType::RegularFile => self.file(from, to, path, &status),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                rustix::fs::symlinkat(target, to, name)?;
                Ok(rustix::fs::utimensat(to, name, &times(&status), AtFlags::SYMLINK_NOFOLLOW)?)
            }
            FileType::Fifo => {
                let mode = Mode::from_raw_mode(status.st_mode & 0o777);
                rustix::fs::mknodat(to, name, FileType::Fifo, mode, 0)?;
                rustix::fs::chmodat(to, name, mode, AtFlags::empty())?;
                Ok(rustix::fs::utimensat(to, name, &times(&status), AtFlags::SYMLINK_NOFOLLOW)?)
            }
            FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
                Ok(())
            }
        }
    }

    fn file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        path: &Path,
        status: &Stat,
    ) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default();
        let identity = (status.st_dev, status.st_ino);
        if let Some(first) = self.links.get(&identity)
            // A directory on the way may have its final mode already, and let nobody in: then it becomes a file of its own.
            && rustix::fs::linkat(self.root, first, to, name, AtFlags::empty()).is_ok()
        {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut source = File::from(open_anyway(from, name, flags, status)?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut target = File::from(rustix::fs::openat(to, name, flags, Mode::from_raw_mode(0o600))?);
        copy_content(&mut source, &mut target)?;
        finish(&target.into(), status)?;
        if status.st_nlink > 1 {
            self.links.insert(identity, path.to_owned());
        }
        Ok(())
    }
}

/// Copies data where there is data; blocks are shared where the file system can.
fn copy_content(source: &mut File, target: &mut File) -> io::Result<()> {
    let size = source.metadata()?.len();
    let mut at = 0;
    while at < size {
        let start = match rustix::fs::seek(&*source, SeekFrom::Data(at)) {
            Err(rustix::io::Errno::NXIO) => break,
            // A file system that knows nothing of holes.
            Err(_) => at,
            Ok(start) => start,
        };
        let end = rustix::fs::seek(&*source, SeekFrom::Hole(start)).unwrap_or(size).min(size);
        source.seek(io::SeekFrom::Start(start))?;
        target.seek(io::SeekFrom::Start(start))?;
        let copied = io::copy(&mut source.take(end.saturating_sub(start)), target)?;
        if copied == 0 {
            break;
        }
        at = end;
    }
    target.set_len(size)
}

/// Owner, mode and times, last: writing has changed the times, and a mode may forbid writing.
fn finish(target: &OwnedFd, status: &Stat) -> io::Result<()> {
    let (user, group) = (rustix::fs::Uid::from_raw(status.st_uid), rustix::fs::Gid::from_raw(status.st_gid));
    // Only root can give files away; for others they have the right owner already.
    let _ = rustix::fs::fchown(target, Some(user), Some(group));
    rustix::fs::fchmod(target, Mode::from_raw_mode(status.st_mode & 0o1777))?;
    Ok(rustix::fs::futimens(target, &times(status))?)
}

fn times(status: &Stat) -> Timestamps {
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    Timestamps {
        last_access: time(status.st_atime, status.st_atime_nsec as _),
        last_modification: time(status.st_mtime, status.st_mtime_nsec as _),
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_directory(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(at, name, DIRECTORY, Mode::empty())?)
}

/// Opens what its own mode forbids its owner to read; the mode is put back at once.
fn open_anyway(at: BorrowedFd<'_>, name: &OsStr, flags: OFlags, status: &Stat) -> io::Result<OwnedFd> {
    match rustix::fs::openat(at, name, flags, Mode::empty()) {
        Err(rustix::io::Errno::ACCESS) => {}
        other => return Ok(other?),
    }
    // Nothing runs in the session, so the name is still that of the file or directory that was looked at.
    let mode = status.st_mode & 0o7777;
    rustix::fs::chmodat(at, name, Mode::from_raw_mode(mode | 0o500), AtFlags::empty())?;
    let opened = rustix::fs::openat(at, name, flags, Mode::empty());
    rustix::fs::chmodat(at, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
    Ok(opened?)
}

/// Removes a tree, also one whose directories forbid it; one that is not there is fine.
pub(crate) fn remove(path: &Path) -> Result<(), SandboxError> {
    let removed = match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Directories that a command has made inaccessible, and the kernel's own for overlays.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(CWD, path.as_os_str(), 0).and_then(|()| std::fs::remove_dir_all(path))
        }
        other => other,
    };
    removed.map_err(SandboxError::io(format!("cannot remove `{}`", path.display())))
}

fn open_up(at: BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<()> {
    let status = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Directory || depth > DEEPEST {
        return Ok(());
    }
    // The name cannot be a link: that was looked at, and nobody else writes here any more.
    rustix::fs::chmodat(at, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
    let directory = open_directory(at, name)?;
    for entry in Dir::read_from(&directory)?.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            open_up(directory.as_fd(), name, depth + 1)?;
        }
    }
    Ok(())
}
