//! Opens directories and files below a root without following links.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

/// Bits of `open` for everything below a root. Without `O_NONBLOCK`, opening a planted pipe would wait for a writer.
const SAFE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// A directory below which files are opened one step at a time, and which nothing opened through it lies outside of.
#[derive(Debug)]
pub struct Root {
    directory: OwnedFd,
    /// Absolute, without links.
    real: PathBuf,
}

impl Root {
    /// Opens the directory at `path`, which may be a link: whoever names it means what it leads to.
    pub fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let flags = SAFE | OFlags::DIRECTORY;
        Ok(Self { directory: rustix::fs::open(&real, flags, Mode::empty())?, real })
    }

    /// The last segment of its real path.
    pub(crate) fn name(&self) -> &OsStr {
        self.real.file_name().unwrap_or_default()
    }

    /// The directory itself, opened once more.
    pub(crate) fn directory(&self) -> io::Result<OwnedFd> {
        open_directory(&self.directory, OsStr::new("."))
    }

    /// Where `path`, relative to the root, leads when links are followed: relative to the root, or none when outside.
    pub(crate) fn resolve(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let target = self.real.join(path).canonicalize()?;
        Ok(target.strip_prefix(&self.real).ok().map(Path::to_path_buf))
    }

    /// Opens the directory at the relative `path`, none of whose segments may be a link.
    pub(crate) fn open_directory(&self, path: &Path) -> io::Result<OwnedFd> {
        let mut current = self.directory()?;
        for component in path.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) => current = open_directory(&current, name)?,
                Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                    return Err(io::Error::from(io::ErrorKind::InvalidInput));
                }
            }
        }
        Ok(current)
    }

    /// Opens the parent of the relative `path`, and gives the name in it.
    pub(crate) fn open_parent<'p>(&self, path: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok((self.open_directory(path.parent().unwrap_or(Path::new("")))?, name))
    }
}

/// What a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Special,
}

/// A file or directory by the numbers that stay the same whatever it is called.
pub(crate) type Identity = (u64, u64);

/// Opens the directory `name` in `parent`; fails on links.
pub fn open_directory(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(parent, name, SAFE | OFlags::DIRECTORY, Mode::empty())?)
}

/// Opens the file `name` in `parent`; fails on links, and on what has become something else than a file.
pub fn open_file(parent: impl AsFd, name: &OsStr) -> io::Result<File> {
    let file = File::from(rustix::fs::openat(parent, name, SAFE, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// The names in a directory, in order.
pub fn names(directory: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// What `name` in `parent` is. Links are not followed.
pub fn shape(parent: impl AsFd, name: &OsStr) -> io::Result<Shape> {
    let status = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => Shape::File,
        FileType::Directory => Shape::Directory,
        FileType::Symlink => Shape::Link,
        FileType::Fifo
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Socket
        | FileType::Unknown => Shape::Special,
    })
}

/// The identity of something open.
pub(crate) fn identity(open: impl AsFd) -> io::Result<Identity> {
    let status = rustix::fs::fstat(open)?;
    Ok((status.st_dev, status.st_ino))
}
