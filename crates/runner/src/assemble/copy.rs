//! Copies a directory without following anything in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps};

/// How many directories may lie in each other. Each is one open descriptor and one frame of the stack.
const DEEPEST: usize = 200;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Without `NONBLOCK`, a pipe that took the place of a file would be waited for.
const SOURCE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const TARGET: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What was not copied, and why, a line each; harmless to print.
    pub warnings: Vec<String>,
}

/// Why a directory was not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// Something cannot be read or written.
    #[error("cannot copy `{}`", path.display())]
    Io {
        /// Relative to the directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Directories lie too deep in each other.
    #[error("`{}` lies in more than {DEEPEST} directories", path.display())]
    TooDeep {
        /// Relative to the directory.
        path: PathBuf,
    },
    /// Nobody waits for it any more.
    #[error("the copy was ended")]
    Ended,
}

/// Copies everything in `from` into the directory `to`, which exists and is empty.
///
/// Links stay links, and are never followed. What has several names becomes as many files, so that nothing in the copy is
/// also elsewhere. Pipes, sockets and devices are left out with a warning. Contents share storage with the original where
/// the file system can do that.
pub fn copy_tree(from: &Path, to: &Path, left_out: &[&Path]) -> Result<Copied, CopyError> {
    copy_unless(from, to, left_out, &|| false)
}

/// As [`copy_tree`], until `is_over` says so; it is asked before each entry.
pub(super) fn copy_unless(
    from: &Path,
    to: &Path,
    left_out: &[&Path],
    is_over: &dyn Fn() -> bool,
) -> Result<Copied, CopyError> {
    let failed = |source| CopyError::Io { path: PathBuf::from("."), source };
    let open = |path: &Path| -> io::Result<OwnedFd> {
        // Whoever names a directory by a link means what it leads to.
        let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
        Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
    };
    let (source, target) = (open(from).map_err(failed)?, open(to).map_err(failed)?);
    // By identity, because a path can be spelt in many ways.
    let left_out = left_out.iter().filter_map(|path| rustix::fs::stat(*path).ok());
    let mut copy = Copy {
        done: Copied::default(),
        left_out: left_out.map(|status| identity(&status)).collect(),
        can_share: true,
        path: PathBuf::new(),
        is_over,
    };
    copy.directory(&source, &target, 0)?;
    Ok(copy.done)
}

struct Copy<'a> {
    done: Copied,
    left_out: Vec<(u64, u64)>,
    /// Until the file system says that it cannot.
    can_share: bool,
    /// Where the copy is, relative to its start.
    path: PathBuf,
    is_over: &'a dyn Fn() -> bool,
}

impl Copy<'_> {
    fn directory(&mut self, from: &OwnedFd, to: &OwnedFd, depth: usize) -> Result<(), CopyError> {
        if depth > DEEPEST {
            return Err(CopyError::TooDeep { path: self.path.clone() });
        }
        for name in names(from).map_err(|source| self.failed(source))? {
            if (self.is_over)() {
                return Err(CopyError::Ended);
            }
            self.path.push(&name);
            self.entry(from, to, &name, depth)?;
            self.path.pop();
        }
        Ok(())
    }

    fn entry(&mut self, from: &OwnedFd, to: &OwnedFd, name: &OsStr, depth: usize) -> Result<(), CopyError> {
        let status = match rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => status,
            // Gone since it was listed.
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            Err(error) => return Err(self.failed(error.into())),
        };
        let copied = match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => self.file(from, to, name),
            FileType::Symlink => link(from, to, name),
            FileType::Directory if self.left_out.contains(&identity(&status)) => Ok(()),
            FileType::Directory => {
                let (source, target) = below(from, to, name).map_err(|source| self.failed(source))?;
                self.directory(&source, &target, depth + 1)?;
                finish(&target, &status, 0o700)
            }
            FileType::Fifo
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Socket
            | FileType::Unknown => {
                let shown = fullsend_guard::visible(&self.path.to_string_lossy()).into_owned();
                self.done
                    .warnings
                    .push(format!("`{shown}` is no file, directory or link, and is not copied"));
                Ok(())
            }
        };
        copied.map_err(|source| self.failed(source))
    }

    fn file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &OsStr) -> io::Result<()> {
        let mut source = File::from(rustix::fs::openat(from, name, SOURCE, Mode::empty())?);
        let status = rustix::fs::fstat(&source)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it changed while it was copied"));
        }
        let mut target = File::from(rustix::fs::openat(to, name, TARGET, Mode::from_raw_mode(0o600))?);
        if status.st_size > 0 {
            self.contents(&mut source, &mut target)?;
        }
        finish(&target, &status, 0o600)?;
        self.done.files += 1;
        self.done.bytes += u64::try_from(status.st_size).unwrap_or_default();
        Ok(())
    }

    fn contents(&mut self, source: &mut File, target: &mut File) -> io::Result<()> {
        if self.can_share {
            self.can_share = rustix::fs::ioctl_ficlone(&*target, &*source).is_ok();
            if self.can_share {
                return Ok(());
            }
        }
        // Between files this stays within the kernel.
        io::copy(source, target).map(drop)
    }

    fn failed(&self, source: io::Error) -> CopyError {
        CopyError::Io { path: self.path.clone(), source }
    }
}

/// Opens the directory `name` in both, and makes it in the second.
fn below(from: &OwnedFd, to: &OwnedFd, name: &OsStr) -> io::Result<(OwnedFd, OwnedFd)> {
    let source = rustix::fs::openat(from, name, DIRECTORY, Mode::empty())?;
    rustix::fs::mkdirat(to, name, Mode::from_raw_mode(0o700))?;
    Ok((source, rustix::fs::openat(to, name, DIRECTORY, Mode::empty())?))
}

fn link(from: &OwnedFd, to: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let target = rustix::fs::readlinkat(from, name, Vec::new())?;
    Ok(rustix::fs::symlinkat(target, to, name)?)
}

/// The permissions and the time of the original: build tools go by times. What the owner needs to change and remove the
/// copy is always there, and nothing gives rights of another user.
fn finish(target: impl AsFd, status: &Stat, least: u32) -> io::Result<()> {
    rustix::fs::fchmod(&target, Mode::from_raw_mode(status.st_mode & 0o777 | least))?;
    let modified =
        Timespec { tv_sec: status.st_mtime, tv_nsec: status.st_mtime_nsec.try_into().unwrap_or_default() };
    Ok(rustix::fs::futimens(&target, &Timestamps { last_access: modified, last_modification: modified })?)
}

fn identity(status: &Stat) -> (u64, u64) {
    (status.st_dev, status.st_ino)
}

fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}
