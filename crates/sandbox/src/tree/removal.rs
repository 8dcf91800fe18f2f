//! Removes directory trees, whatever a sandbox has made of them.
//!
//! Directories can be nested deeper than a stack or a table of descriptors reaches. So nothing here follows the nesting:
//! what a directory contains is moved up to the top before the directory itself is removed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, RenameFlags};
use rustix::io::Errno;

use super::DIRECTORY;

/// How many names are read before they are dealt with.
const BATCH: usize = 1024;

/// How often a removal is begun again because somebody else removes the same tree.
const MOST_TRIES: usize = 1000;

/// Removes a tree, also one whose directories forbid it; one that is not there is fine, and so is one that others are
/// removing too.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for _ in 0..MOST_TRIES {
        match try_to_remove(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    try_to_remove(path)
}

fn try_to_remove(path: &Path) -> io::Result<()> {
    let kind = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        status => FileType::from_raw_mode(status?.st_mode),
    };
    if kind != FileType::Directory {
        return std::fs::remove_file(path);
    }
    let top = open_up(CWD, path.as_os_str())?;
    Removal { top: top.as_fd(), moved: 0 }.empty()?;
    gone(rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR))
}

struct Removal<'a> {
    top: BorrowedFd<'a>,
    /// How many directories have been moved up; each gets a name of its own.
    moved: u64,
}

impl Removal<'_> {
    fn empty(&mut self) -> io::Result<()> {
        while let names @ [_, ..] = batch(self.top)?.as_slice() {
            for entry in names {
                match entry {
                    Entry::Directory(name) => self.flatten(name)?,
                    Entry::Other(name) => {
                        gone(rustix::fs::unlinkat(self.top, name.as_os_str(), AtFlags::empty()))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes a directory of the top after moving the directories in it there.
    fn flatten(&mut self, name: &OsStr) -> io::Result<()> {
        let directory = open_up(self.top, name)?;
        while let names @ [_, ..] = batch(directory.as_fd())?.as_slice() {
            for entry in names {
                match entry {
                    Entry::Directory(name) => self.move_up(directory.as_fd(), name)?,
                    Entry::Other(name) => {
                        gone(rustix::fs::unlinkat(&directory, name.as_os_str(), AtFlags::empty()))?;
                    }
                }
            }
        }
        gone(rustix::fs::unlinkat(self.top, name, AtFlags::REMOVEDIR))
    }

    fn move_up(&mut self, from: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
        // Usually there is nothing in it, or nothing left.
        match rustix::fs::unlinkat(from, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            other => return gone(other),
        }
        // A directory can be moved to another by those who may write to it.
        drop(open_up(from, name)?);
        loop {
            let place = format!("{}", self.moved);
            self.moved += 1;
            match rustix::fs::renameat_with(from, name, self.top, place, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                other => return gone(other),
            }
        }
    }
}

/// What somebody else has removed meanwhile is what we want.
fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        other => Ok(other?),
    }
}

enum Entry {
    Directory(OsString),
    Other(OsString),
}

/// Some of what is in a directory; nothing when it is empty.
fn batch(directory: BorrowedFd<'_>) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name == "." || name == ".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let status = rustix::fs::statat(directory, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)?;
            kind = FileType::from_raw_mode(status.st_mode);
        }
        found.push(if kind == FileType::Directory { Entry::Directory(name) } else { Entry::Other(name) });
        if found.len() == BATCH {
            break;
        }
    }
    Ok(found)
}

/// Opens a directory that may forbid it. The name cannot be a link: that was looked at, and nobody else writes here
/// any more.
fn open_up(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    rustix::fs::chmodat(at, name, Mode::from_raw_mode(0o700), AtFlags::empty())?;
    open_here(at, name)
}

fn open_here(at: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(at, name, DIRECTORY, Mode::empty())?)
}
