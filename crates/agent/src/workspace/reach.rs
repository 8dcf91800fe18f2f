//! Goes from the handle of a mount to a file, one name at a time, so that no name can lead anywhere else.
//!
//! Each name is opened relative to the directory before it, without following it. A link is read from its handle and
//! its text is walked like the rest of the path: `..` goes back to a handle that is already held, never above the
//! mount, and an absolute target is refused. A name that is swapped meanwhile changes where inside the mount the walk
//! ends, and nothing else. One call to `openat2` would do the same in the kernel, but would not show the directories
//! on the way, which must be compared with the reserved ones, nor the directory in which a file is to be replaced.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{FileProblem, Workspace};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;
/// Names a file without opening it: nothing can block, and a device notices nothing.
const NAME_ONLY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Which file it is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn new(device: u64, inode: u64) -> Self {
        Self { device, inode }
    }

    pub(crate) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// What to do about directories that are missing on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    Refuse,
    Create,
}

/// What to do about links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// They are followed as long as they stay in the mount.
    Follow,
    /// There may be none.
    Refuse,
}

/// Where a walk ended.
#[derive(Debug)]
pub(crate) enum Reached {
    /// At a directory; a handle that names it.
    Directory(OwnedFd),
    /// At something else in a directory.
    Entry { parent: OwnedFd, name: OsString, kind: FileType },
    /// At a name that is free.
    Free { parent: OwnedFd, name: OsString },
    /// At a link to nothing.
    Dangling,
}

/// A handle of a directory that somebody else chose, links followed.
pub(super) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The directory that a handle names, to be listed or to open its files.
pub(crate) fn open_directory(handle: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(handle, name, flags, Mode::empty())
}

/// Goes from `root` to `below`. Names no directory that is reserved in `workspace`.
pub(crate) fn reach(
    workspace: &Workspace,
    root: BorrowedFd<'_>,
    below: &str,
    gaps: Gaps,
    links: Links,
) -> Result<Reached, FileProblem> {
    let first = rustix::fs::openat(root, ".", NAME_ONLY | OFlags::DIRECTORY, Mode::empty())?;
    let mut walk = Walk { workspace, held: vec![first], names: Vec::new(), links, followed: 0 };
    walk.push_names(below.as_bytes(), Origin::Path);
    while let Some((name, origin)) = walk.names.pop() {
        if name == ".." {
            walk.back()?;
        } else if let Some(end) = walk.step(name, origin, gaps)? {
            return Ok(end);
        }
    }
    walk.held.pop().map(Reached::Directory).ok_or(FileProblem::Outside)
}

/// Who wrote a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Whoever asked for the file.
    Path,
    /// A link on the way.
    Link,
}

/// A walk under way.
struct Walk<'a> {
    workspace: &'a Workspace,
    /// The directories from the mount to where it is.
    held: Vec<OwnedFd>,
    /// The names still to go, the next one last.
    names: Vec<(OsString, Origin)>,
    links: Links,
    followed: usize,
}

impl Walk<'_> {
    fn push_names(&mut self, path: &[u8], origin: Origin) {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
        self.names.extend(names.rev().map(|name| (OsStr::from_bytes(name).to_owned(), origin)));
    }

    fn here(&self) -> Result<BorrowedFd<'_>, FileProblem> {
        self.held.last().map(AsFd::as_fd).ok_or(FileProblem::Outside)
    }

    fn back(&mut self) -> Result<(), FileProblem> {
        self.held.pop();
        self.here().map(drop)
    }

    /// One name further; something where the walk ends.
    fn step(&mut self, name: OsString, origin: Origin, gaps: Gaps) -> Result<Option<Reached>, FileProblem> {
        let here = self.here()?;
        let handle = match rustix::fs::openat(here, &name, NAME_ONLY, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return self.missing(name, origin, gaps),
            Err(errno) => return Err(errno.into()),
        };
        let stat = rustix::fs::fstat(&handle)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            return self.enter(handle, &stat).map(|()| None);
        }
        if kind == FileType::Symlink {
            return self.follow(&handle).map(|()| None);
        }
        if !self.names.is_empty() {
            return Err(FileProblem::NotADirectory);
        }
        Ok(self.held.pop().map(|parent| Reached::Entry { parent, name, kind }))
    }

    fn enter(&mut self, handle: OwnedFd, stat: &Stat) -> Result<(), FileProblem> {
        if self.workspace.is_reserved(Identity::of(stat)) {
            return Err(FileProblem::Reserved);
        }
        self.held.push(handle);
        Ok(())
    }

    fn follow(&mut self, link: &OwnedFd) -> Result<(), FileProblem> {
        if self.links == Links::Refuse {
            return Err(FileProblem::Linked);
        }
        self.followed += 1;
        if self.followed > MOST_LINKS {
            return Err(FileProblem::TooManyLinks);
        }
        let target = OsString::from_vec(rustix::fs::readlinkat(link, "", Vec::new())?.into_bytes());
        if target.as_bytes().starts_with(b"/") {
            return Err(FileProblem::Outside);
        }
        self.push_names(target.as_bytes(), Origin::Link);
        Ok(())
    }

    /// A name that does not exist. One that a link wrote is not created: the link would decide where.
    fn missing(
        &mut self,
        name: OsString,
        origin: Origin,
        gaps: Gaps,
    ) -> Result<Option<Reached>, FileProblem> {
        if origin == Origin::Link {
            let all_of_link = self.names.iter().all(|(_, origin)| *origin == Origin::Link);
            return if all_of_link { Ok(Some(Reached::Dangling)) } else { Err(FileProblem::NotFound) };
        }
        if self.names.is_empty() {
            return Ok(self.held.pop().map(|parent| Reached::Free { parent, name }));
        }
        if gaps == Gaps::Refuse {
            return Err(FileProblem::NotFound);
        }
        match rustix::fs::mkdirat(self.here()?, &name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let made = rustix::fs::openat(self.here()?, &name, NAME_ONLY | OFlags::DIRECTORY, Mode::empty())?;
        let stat = rustix::fs::fstat(&made)?;
        self.enter(made, &stat).map(|()| None)
    }
}
