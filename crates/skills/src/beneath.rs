//! Opening files below a directory, so that nothing leads out of it.
//!
//! A path that was checked and is then opened by name can be exchanged in between, for a symbolic link to somewhere else.
//! Here the kernel checks while it opens: paths are resolved below a directory that is held open, and a step out of it fails.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A directory that is held open, with its real path.
#[derive(Debug)]
pub(crate) struct Root {
    descriptor: OwnedFd,
    path: PathBuf,
}

/// One name in a directory.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) name: OsString,
    pub(crate) kind: NameKind,
}

/// What a name in a directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Directory,
    File,
    Link,
    Other,
}

/// Why something below a root was not opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// The path leads out of the root, or over something that could.
    Outside,
    /// It is not a regular file.
    NotFile,
    Io(io::Error),
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Without `NONBLOCK`, opening a named pipe waits until somebody writes to it.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The kernel gives up on a path when directories are renamed while it looks, which anybody may do all the time.
const ATTEMPTS: usize = 16;

impl Root {
    /// Opens a directory by any path, resolving links.
    pub(crate) fn resolve(path: &Path) -> Result<Self, OpenError> {
        let real = path.canonicalize().map_err(OpenError::Io)?;
        Self::open_real(&real)
    }

    /// Opens a directory by its real path, which has become another one if a link stands in it now.
    pub(crate) fn open_real(path: &Path) -> Result<Self, OpenError> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let descriptor =
            rustix::fs::openat2(CWD, path, DIRECTORY, Mode::empty(), resolve).map_err(refusal)?;
        Ok(Self { descriptor, path: path.to_owned() })
    }

    /// A directory below this one as a root of its own.
    pub(crate) fn below(&self, relative: &Path) -> Result<Self, OpenError> {
        Ok(Self { descriptor: self.directory(relative)?, path: self.path.join(relative) })
    }

    /// The real path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where a path below this directory really lies, links resolved; relative to this directory.
    pub(crate) fn real(&self, relative: &Path) -> Result<PathBuf, OpenError> {
        let real = self.path.join(relative).canonicalize().map_err(OpenError::Io)?;
        real.strip_prefix(&self.path).map(Path::to_owned).map_err(|_| OpenError::Outside)
    }

    /// The names in a directory, sorted by their bytes; `None` when there are more than `most`.
    pub(crate) fn list(&self, relative: &Path, most: usize) -> Result<Option<Vec<Name>>, OpenError> {
        let mut names = Vec::new();
        for entry in Dir::new(self.directory(relative)?).map_err(refusal)? {
            let entry = entry.map_err(refusal)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if names.len() == most {
                return Ok(None);
            }
            let kind = self.kind(relative, name, entry.file_type());
            names.push(Name { name: name.to_owned(), kind });
        }
        names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(Some(names))
    }

    /// Opens a regular file; links on the way count as long as they stay below this directory.
    pub(crate) fn file(&self, relative: &Path) -> Result<File, OpenError> {
        let file = File::from(self.open(relative, FILE)?);
        let is_file = file.metadata().map_err(OpenError::Io)?.is_file();
        if is_file { Ok(file) } else { Err(OpenError::NotFile) }
    }

    fn directory(&self, relative: &Path) -> Result<OwnedFd, OpenError> {
        self.open(relative, DIRECTORY)
    }

    fn open(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, OpenError> {
        let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut opened = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            opened = rustix::fs::openat2(&self.descriptor, path, flags, Mode::empty(), resolve);
            if !matches!(opened, Err(Errno::AGAIN)) {
                break;
            }
        }
        opened.map_err(refusal)
    }

    /// Some file systems do not say what a name stands for when they list it.
    fn kind(&self, relative: &Path, name: &OsStr, listed: FileType) -> NameKind {
        let mode = |path: PathBuf| path.symlink_metadata().map(|metadata| metadata.mode());
        let kind = if listed == FileType::Unknown {
            mode(self.path.join(relative).join(name)).map_or(listed, FileType::from_raw_mode)
        } else {
            listed
        };
        match kind {
            FileType::Directory => NameKind::Directory,
            FileType::RegularFile => NameKind::File,
            FileType::Symlink => NameKind::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => NameKind::Other,
        }
    }
}

/// `EXDEV` is a step out of the directory, `ELOOP` a link where none may be.
fn refusal(error: Errno) -> OpenError {
    match error {
        Errno::XDEV | Errno::LOOP => OpenError::Outside,
        // A socket or a device without driver; a directory that is one no more.
        Errno::NXIO | Errno::NODEV => OpenError::NotFile,
        other => OpenError::Io(other.into()),
    }
}
