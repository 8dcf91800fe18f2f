//! Steps from an open directory that follow no link and open nothing but files and directories.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

/// Without `O_NONBLOCK`, opening a pipe that was put in the place of a file would wait for a writer.
const SAFE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    File,
    Directory,
    Link,
    Special,
}

pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, SAFE | OFlags::DIRECTORY, Mode::empty())?)
}

pub(super) fn open_directory(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(parent, name, SAFE | OFlags::DIRECTORY, Mode::empty())?)
}

pub(super) fn open_file(parent: impl AsFd, name: &OsStr) -> io::Result<File> {
    let file = File::from(rustix::fs::openat(parent, name, SAFE, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// In order, so that two runs over one tree do the same.
pub(super) fn names(directory: impl AsFd) -> io::Result<Vec<OsString>> {
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

pub(super) fn shape(parent: impl AsFd, name: &OsStr) -> io::Result<Shape> {
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

pub(super) fn read_link(parent: impl AsFd, name: &OsStr) -> io::Result<OsString> {
    Ok(OsString::from_vec(rustix::fs::readlinkat(parent, name, Vec::new())?.into_bytes()))
}
