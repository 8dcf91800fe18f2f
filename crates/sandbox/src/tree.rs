//! Copies and removes trees that hostile programs may have made.
//!
//! A copy follows no link, waits for nothing (a pipe without a writer is copied as a pipe), writes no more than the
//! data there is (a file may claim a terabyte and have none), and keeps names, modes and times as they are.

mod removal;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, SeekFrom, Stat, Timespec, Timestamps, Uid,
};
use rustix::io::Errno;

pub(crate) use removal::remove;

use crate::error::SandboxError;

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Who owns a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Whoever owns the original, as far as we may give files away.
    Same,
    /// One user and group, who are to work with the copy.
    Given {
        /// The user.
        user: u32,
        /// The group.
        group: u32,
    },
}

/// Copies what is in the directory `from` into the directory `to`, which is made.
pub(crate) fn copy(from: &Path, to: &Path, owner: Owner) -> io::Result<()> {
    let from = rustix::fs::open(from, DIRECTORY, Mode::empty())?;
    rustix::fs::mkdir(to, Mode::RWXU)?;
    let to = rustix::fs::open(to, DIRECTORY, Mode::empty())?;
    Copying { from, to, owner, linked: HashMap::new(), opened: Vec::new() }.run()
}

/// [`copy`] with owners as they are and directories above made; failures say what was being copied.
pub(crate) fn keep(from: &Path, to: &Path) -> Result<(), SandboxError> {
    let above = to.parent().map_or(Ok(()), std::fs::create_dir_all);
    let copied = above.and_then(|()| copy(from, to, Owner::Same));
    copied.map_err(SandboxError::io(format!("cannot copy `{}` to `{}`", from.display(), to.display())))
}

/// [`remove`] with a failure that says what was being removed.
pub(crate) fn clear(path: &Path) -> Result<(), SandboxError> {
    remove(path).map_err(SandboxError::io(format!("cannot remove `{}`", path.display())))
}

struct Copying {
    from: OwnedFd,
    to: OwnedFd,
    owner: Owner,
    /// Files with several names, by their identity: where the first copy is.
    linked: HashMap<(u64, u64), PathBuf>,
    /// Directories of the original whose mode was changed, with the mode to give back.
    opened: Vec<(PathBuf, Mode)>,
}

impl Copying {
    fn run(mut self) -> io::Result<()> {
        let mut waiting = vec![(PathBuf::new(), rustix::fs::fstat(&self.from)?)];
        let mut directories = Vec::new();
        while let Some((path, status)) = waiting.pop() {
            let source = open_directory(self.from.as_fd(), &path)?;
            let place = open_directory(self.to.as_fd(), &path)?;
            for entry in Dir::read_from(&source)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let status = rustix::fs::statat(&source, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if self.entry(&source, &place, &path, name, &status)? {
                    waiting.push((path.join(name), status));
                }
            }
            directories.push((path, status));
        }
        // Inner ones first: what is made in a directory changes its time, and its mode may forbid making anything.
        for (path, status) in directories.into_iter().rev() {
            let place = open_directory(self.to.as_fd(), &path)?;
            self.give(&place, OsStr::new(""), &status)?;
            rustix::fs::fchmod(&place, mode(&status))?;
            rustix::fs::futimens(&place, &times(&status))?;
        }
        for (path, mode) in self.opened.iter().rev() {
            rustix::fs::fchmod(open_directory(self.from.as_fd(), path)?, *mode)?;
        }
        Ok(())
    }

    /// Opens what its own mode hides from its owner, who made it so. Only in trees that belong to a session: a source
    /// of the caller's is never changed.
    fn open_up(&self, source: &OwnedFd, name: &OsStr, status: &Stat, needed: Mode) -> io::Result<bool> {
        let hidden = !Mode::from_raw_mode(status.st_mode).contains(needed);
        let ours = status.st_uid == rustix::process::geteuid().as_raw();
        if !hidden || !ours || rustix::process::geteuid().is_root() || self.owner != Owner::Same {
            return Ok(false);
        }
        rustix::fs::chmodat(source, name, mode(status) | needed, AtFlags::empty())?;
        Ok(true)
    }

    /// Copies one entry; says whether it is a directory to go through.
    fn entry(
        &mut self,
        source: &OwnedFd,
        place: &OwnedFd,
        path: &Path,
        name: &OsStr,
        status: &Stat,
    ) -> io::Result<bool> {
        let kind = FileType::from_raw_mode(status.st_mode);
        if kind == FileType::Directory {
            rustix::fs::mkdirat(place, name, Mode::RWXU)?;
            if self.open_up(source, name, status, Mode::RWXU)? {
                self.opened.push((path.join(name), mode(status)));
            }
            return Ok(true);
        }
        let identity = (status.st_dev, status.st_ino);
        if let Some(first) = self.linked.get(&identity).filter(|_| status.st_nlink > 1) {
            rustix::fs::linkat(&self.to, first, place, name, AtFlags::empty())?;
            return Ok(false);
        }
        if status.st_nlink > 1 {
            self.linked.insert(identity, path.join(name));
        }
        match kind {
            FileType::RegularFile => {
                let opened = self.open_up(source, name, status, Mode::RUSR)?;
                let copied = copy_file(source, place, name);
                if opened {
                    rustix::fs::chmodat(source, name, mode(status), AtFlags::empty())?;
                }
                copied?;
            }
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(source, name, Vec::new())?;
                rustix::fs::symlinkat(target, place, name)?;
            }
            FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice => {
                rustix::fs::mknodat(place, name, kind, Mode::RUSR | Mode::WUSR, status.st_rdev)?;
            }
            FileType::Directory | FileType::Unknown => return Err(io::ErrorKind::Unsupported.into()),
        }
        self.give(place, name, status)?;
        if kind != FileType::Symlink {
            // The name was made a moment ago in a directory that nobody else can enter.
            rustix::fs::chmodat(place, name, mode(status), AtFlags::empty())?;
        }
        rustix::fs::utimensat(place, name, &times(status), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(false)
    }

    fn give(&self, directory: &OwnedFd, name: &OsStr, status: &Stat) -> io::Result<()> {
        let (user, group) = match self.owner {
            Owner::Same => (status.st_uid, status.st_gid),
            Owner::Given { user, group } => (user, group),
        };
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
        let given = rustix::fs::chownat(
            directory,
            name,
            Some(Uid::from_raw(user)),
            Some(Gid::from_raw(group)),
            flags,
        );
        match given {
            // Only root gives files away. For everybody else the files are their own before and after.
            Err(Errno::PERM) if !rustix::process::geteuid().is_root() => Ok(()),
            other => Ok(other?),
        }
    }
}

/// A directory below another, never through a symbolic link.
fn open_directory(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    Ok(rustix::fs::openat2(root, path, DIRECTORY, Mode::empty(), resolve)?)
}

fn copy_file(source: &OwnedFd, place: &OwnedFd, name: &OsStr) -> io::Result<()> {
    // A pipe that has taken the file's place would make an ordinary open wait.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let from = rustix::fs::openat(source, name, flags, Mode::empty())?;
    let status = rustix::fs::fstat(&from)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("a file was replaced while it was copied"));
    }
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL;
    let to = rustix::fs::openat(place, name, flags, Mode::RUSR | Mode::WUSR)?;
    if rustix::fs::ioctl_ficlone(&to, &from).is_ok() {
        return Ok(());
    }
    copy_data(&from, &to)?;
    Ok(rustix::fs::ftruncate(&to, u64::try_from(status.st_size).unwrap_or(0))?)
}

/// Copies the parts of a file that have data.
fn copy_data(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let mut position = 0;
    loop {
        let mut start = match rustix::fs::seek(from, SeekFrom::Data(position)) {
            Ok(start) => start,
            // No data after this.
            Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(from, SeekFrom::Hole(start))?;
        position = end;
        let mut place = start;
        while start < end {
            let length = usize::try_from(end - start).unwrap_or(usize::MAX).min(1 << 30);
            let copied = rustix::fs::copy_file_range(from, Some(&mut start), to, Some(&mut place), length)?;
            if copied == 0 {
                return Ok(());
            }
        }
    }
}

/// Without set-user-id and set-group-id of files: a copy that somebody else owns must not lend their rights.
fn mode(status: &Stat) -> Mode {
    let mode = Mode::from_raw_mode(status.st_mode);
    if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
        mode
    } else {
        mode - (Mode::SUID | Mode::SGID)
    }
}

fn times(status: &Stat) -> Timestamps {
    let stamp = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    Timestamps {
        last_access: stamp(status.st_atime, status.st_atime_nsec as _),
        last_modification: stamp(status.st_mtime, status.st_mtime_nsec as _),
    }
}

#[cfg(test)]
mod tests;
