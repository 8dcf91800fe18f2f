//! Writing below a directory whose contents are not trusted.
//!
//! The agent's copy of a repository may hold links to anywhere on the host. A path that is opened by name would follow them;
//! here every step is taken from an open directory and the kernel refuses links and steps out.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// How many directories may lie in each other in what is removed.
const DEEPEST: usize = 200;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Directory(OwnedFd);

impl Directory {
    /// Opens a directory of ours.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::openat(CWD, path, DIRECTORY, Mode::empty())?))
    }

    /// The directory at `relative`, made with all that lead to it where they are missing.
    pub(crate) fn make(&self, relative: &Path) -> io::Result<Self> {
        let mut current = rustix::fs::openat(&self.0, ".", DIRECTORY, Mode::empty())?;
        for component in relative.components() {
            let name = match component {
                Component::CurDir => continue,
                Component::Normal(name) => name,
                Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                    return Err(io::Error::from(io::ErrorKind::InvalidInput));
                }
            };
            match rustix::fs::mkdirat(&current, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            current = rustix::fs::openat2(&current, name, DIRECTORY, Mode::empty(), BENEATH)?;
        }
        Ok(Self(current))
    }

    /// Writes the file at `relative` anew: what was there, be it a link, is removed and not followed.
    pub(crate) fn write(&self, relative: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let name = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = self.make(relative.parent().unwrap_or(Path::new("")))?;
        match rustix::fs::unlinkat(&parent.0, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        parent.create(name, bytes, mode)
    }

    /// Makes the file `name`, where nothing may be yet.
    pub(crate) fn create(&self, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o600))?;
        let mut file = File::from(file);
        file.write_all(bytes)?;
        // Whatever the caller's mask for new files is.
        Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?)
    }

    /// Adds lines to the file at `relative`, which is made if it is missing.
    pub(crate) fn append(&self, relative: &Path, lines: &str, largest: u64) -> io::Result<()> {
        let name = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = self.make(relative.parent().unwrap_or(Path::new("")))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let file = File::from(rustix::fs::openat2(&parent.0, name, flags, mode, BENEATH)?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut present = Vec::new();
        (&file).take(largest).read_to_end(&mut present)?;
        let separator = if present.last().is_some_and(|last| *last != b'\n') { "\n" } else { "" };
        (&file).write_all(format!("{separator}{lines}").as_bytes())
    }

    /// Moves what lies at `from` here under `name`, in place of what is there. Whether there was something.
    pub(crate) fn take_in(&self, name: &OsStr, from: &Path) -> io::Result<bool> {
        let replaced = self.remove(name, 0)?;
        rustix::fs::renameat(CWD, from, &self.0, name)?;
        Ok(replaced)
    }

    /// Removes `name` and everything below it; false when it is not there.
    fn remove(&self, name: &OsStr, depth: usize) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Ok(()) => return Ok(true),
            Err(Errno::NOENT) => return Ok(false),
            Err(Errno::ISDIR) if depth < DEEPEST => {}
            Err(error) => return Err(error.into()),
        }
        let inside = Self(rustix::fs::openat2(&self.0, name, DIRECTORY, Mode::empty(), BENEATH)?);
        for entry in Dir::read_from(&inside.0)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                inside.remove(OsStr::from_bytes(entry.file_name().to_bytes()), depth + 1)?;
            }
        }
        rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?;
        Ok(true)
    }
}
