//! Files and directories of the workspace, opened for reading.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{ffi::OsStr, fmt};

use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::reach::{Gaps, Links, Reached, open_directory, reach};
use super::{FileProblem, SandboxPath, Workspace};

/// The most bytes of one file that are held at once.
pub const LARGEST_WHOLE_FILE: u64 = 64 * 1024 * 1024;
/// How often a file is looked for again that was swapped while it was being opened.
const TRIES: usize = 4;

/// A regular file, open for reading.
pub struct OpenFile {
    file: File,
    size: u64,
    stat: Stat,
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFile").field("size", &self.size).finish_non_exhaustive()
    }
}

impl OpenFile {
    /// Its size when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What it was when it was opened.
    pub(crate) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// A handle of it, to ask what it is called.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// All of its bytes, unless there are more than `limit`.
    pub fn read_all(self, limit: u64) -> Result<Vec<u8>, FileProblem> {
        read_all(&self.file, self.size, limit)
    }

    /// The handle.
    pub fn into_file(self) -> File {
        self.file
    }
}

/// All bytes of a file. The size is a hint: files grow, and some say 0 and are not empty.
pub(super) fn read_all(file: &File, size: u64, limit: u64) -> Result<Vec<u8>, FileProblem> {
    if size > limit {
        return Err(FileProblem::TooLarge { size, limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > limit { Err(FileProblem::TooLarge { size, limit }) } else { Ok(bytes) }
}

impl Workspace {
    /// Opens a regular file. Pipes, sockets and devices are refused without being opened.
    pub fn open_file(&self, path: &SandboxPath) -> Result<OpenFile, FileProblem> {
        self.open_file_by(path, Links::Follow)
    }

    /// Opens a regular file that is where its path says: no link leads to it.
    pub fn open_unlinked_file(&self, path: &SandboxPath) -> Result<OpenFile, FileProblem> {
        self.open_file_by(path, Links::Refuse)
    }

    fn open_file_by(&self, path: &SandboxPath, links: Links) -> Result<OpenFile, FileProblem> {
        let mut tries = 1;
        loop {
            match self.open_file_once(path, links) {
                Err(FileProblem::Changed) if tries < TRIES => tries += 1,
                done => return done,
            }
        }
    }

    fn open_file_once(&self, path: &SandboxPath, links: Links) -> Result<OpenFile, FileProblem> {
        match self.reach(path, Gaps::Refuse, links)? {
            Reached::Directory(_) => Err(FileProblem::NotAFile("a directory")),
            Reached::Free { .. } | Reached::Dangling => Err(FileProblem::NotFound),
            Reached::Entry { parent, name, kind } => {
                expect_regular(kind)?;
                open_regular(parent.as_fd(), &name, OFlags::RDONLY)
            }
        }
    }

    /// Opens a directory, to be listed.
    pub(crate) fn open_directory(&self, path: &SandboxPath) -> Result<OwnedFd, FileProblem> {
        match self.reach(path, Gaps::Refuse, Links::Follow)? {
            Reached::Directory(handle) => Ok(open_directory(handle.as_fd(), OsStr::new("."))?),
            Reached::Free { .. } | Reached::Dangling => Err(FileProblem::NotFound),
            Reached::Entry { .. } => Err(FileProblem::NotADirectory),
        }
    }

    pub(crate) fn reach(&self, path: &SandboxPath, gaps: Gaps, links: Links) -> Result<Reached, FileProblem> {
        let (mount, below) = self.mount_of(path).ok_or(FileProblem::Outside)?;
        reach(self, mount.handle(), below, gaps, links)
    }
}

/// Opens a name of a directory that is a regular file, and stays one: whatever it was swapped for is refused.
pub(crate) fn open_regular(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    access: OFlags,
) -> Result<OpenFile, FileProblem> {
    // A pipe that took the name meanwhile would block the run for ever.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    expect_regular(FileType::from_raw_mode(stat.st_mode))?;
    Ok(OpenFile { file: handle.into(), size: u64::try_from(stat.st_size).unwrap_or(0), stat })
}

pub(super) fn expect_regular(kind: FileType) -> Result<(), FileProblem> {
    let what = match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => return Err(FileProblem::Changed),
        FileType::Unknown => "of an unknown kind",
    };
    Err(FileProblem::NotAFile(what))
}
