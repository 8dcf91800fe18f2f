//! Copies and removes directory trees that a sandbox has written: nothing in them is followed, opened for its
//! contents' sake, or waited for.

mod removal;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps};
use rustix::io::Errno;

pub(crate) use removal::remove;

use crate::error::SandboxError;

/// Deeper trees are refused: descriptors are held for every level.
const DEEPEST: usize = 256;

/// Copies a directory with modes and times. Files, directories, symbolic links and FIFOs are copied as what they are;
/// sockets and devices are left out, because a copy would be none. Holes stay holes and several names of a file stay
/// names of one file, so a copy takes no more room than what it is of.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), SandboxError> {
    let doing = || format!("cannot copy `{}`", from.display());
    let links = to.with_extension("links");
    let copied = || -> io::Result<()> {
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let source = open_directory(CWD, from.as_os_str())?;
        let status = rustix::fs::fstat(&source)?;
        rustix::fs::mkdir(to, Mode::from_raw_mode(0o700))?;
        rustix::fs::mkdir(&links, Mode::from_raw_mode(0o700))?;
        let target = open_directory(CWD, to.as_os_str())?;
        let copying = Copying { links: open_directory(CWD, links.as_os_str())? };
        copying.entries(&source, &target, 0)?;
        finish(&target, &status)
    };
    let copied = copied().map_err(SandboxError::io(doing()));
    remove(&links)?;
    copied
}

/// A copy under way.
struct Copying {
    /// A directory with one name for each copied file that has several, by the number of the original.
    links: OwnedFd,
}

impl Copying {
    fn entries(&self, from: &OwnedFd, to: &OwnedFd, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other(format!("directories are nested more than {DEEPEST} deep")));
        }
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entry(from.as_fd(), to.as_fd(), OsStr::from_bytes(name.to_bytes()), depth)?;
        }
        Ok(())
    }

    fn entry(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &OsStr, depth: usize) -> io::Result<()> {
        let status = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::Directory => {
                let source = open_anyway(from, name, DIRECTORY, &status)?;
                rustix::fs::mkdirat(to, name, Mode::from_raw_mode(0o700))?;
                let target = open_directory(to, name)?;
                self.entries(&source, &target, depth + 1)?;
                finish(&target, &status)
            }
            FileType::RegularFile if status.st_nlink > 1 => self.linked(from, to, name, &status),
            FileType::RegularFile => copy_file(from, to, name, &status),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                Ok(rustix::fs::symlinkat(target, to, name)?)
            }
            FileType::Fifo => {
                let mode = Mode::from_raw_mode(status.st_mode & 0o777);
                Ok(rustix::fs::mknodat(to, name, FileType::Fifo, mode, 0)?)
            }
            FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
                Ok(())
            }
        }
    }

    /// A file with several names is copied when the first of them is met.
    fn linked(
        &self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        name: &OsStr,
        status: &Stat,
    ) -> io::Result<()> {
        let known = format!("{}-{}", status.st_dev, status.st_ino);
        match rustix::fs::linkat(&self.links, known.as_str(), to, name, AtFlags::empty()) {
            Ok(()) => return Ok(()),
            Err(Errno::NOENT) => copy_file(from, to, name, status)?,
            // More names than a file can have.
            Err(Errno::MLINK) => return copy_file(from, to, name, status),
            Err(error) => return Err(error.into()),
        }
        Ok(rustix::fs::linkat(to, name, &self.links, known, AtFlags::empty())?)
    }
}

fn copy_file(from: BorrowedFd<'_>, to: BorrowedFd<'_>, name: &OsStr, status: &Stat) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let source = File::from(open_anyway(from, name, flags, status)?);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let target = File::from(rustix::fs::openat(to, name, flags, Mode::from_raw_mode(0o600))?);
    let mut at = 0;
    loop {
        at = match rustix::fs::seek(&source, SeekFrom::Data(at)) {
            Ok(start) => start,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(&source, SeekFrom::Hole(at))?;
        rustix::fs::seek(&source, SeekFrom::Start(at))?;
        rustix::fs::seek(&target, SeekFrom::Start(at))?;
        // Shares blocks where the file system can.
        io::copy(&mut (&source).take(end.saturating_sub(at)), &mut &target)?;
        at = end;
    }
    rustix::fs::ftruncate(&target, u64::try_from(status.st_size).unwrap_or(0))?;
    finish(&target.into(), status)
}

/// Owner, mode and times, last: writing has changed the times, and a mode may forbid writing.
fn finish(target: &OwnedFd, status: &Stat) -> io::Result<()> {
    let (user, group) = (rustix::fs::Uid::from_raw(status.st_uid), rustix::fs::Gid::from_raw(status.st_gid));
    // Only root can give files away; for others they have the right owner already.
    let _ = rustix::fs::fchown(target, Some(user), Some(group));
    rustix::fs::fchmod(target, Mode::from_raw_mode(status.st_mode & 0o1777))?;
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(status.st_atime, status.st_atime_nsec as _),
        last_modification: time(status.st_mtime, status.st_mtime_nsec as _),
    };
    Ok(rustix::fs::futimens(target, &times)?)
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn open_directory(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(at, name, DIRECTORY, Mode::empty())?)
}

/// Opens what its own mode forbids its owner to read; the mode is put back at once.
fn open_anyway(at: BorrowedFd<'_>, name: &OsStr, flags: OFlags, status: &Stat) -> io::Result<OwnedFd> {
    match rustix::fs::openat(at, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        other => return Ok(other?),
    }
    // Nothing runs in the session, so the name is still that of the file or directory that was looked at.
    let mode = status.st_mode & 0o7777;
    rustix::fs::chmodat(at, name, Mode::from_raw_mode(mode | 0o500), AtFlags::empty())?;
    let opened = rustix::fs::openat(at, name, flags, Mode::empty());
    rustix::fs::chmodat(at, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
    Ok(opened?)
}
