//! Files that are replaced in one step.
//!
//! The new content is written beside the file, reaches the disk, and only then takes the file's name. A process that is
//! killed at any instant leaves the old content or the new one, never a mixture. Writers exclude each other with a lock
//! on the directory itself: the kernel drops it when its owner dies, and no lock file has to be kept out of version
//! control.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a file could not be read or replaced.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A directory, pipe or device is where a file should be; reading it could block or never end.
    #[error("`{}` is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than any honest one.
    #[error("`{}` has more than {limit} bytes", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// How many bytes are read.
        limit: u64,
    },
    /// Someone else wrote the file after it was read.
    #[error("`{}` has changed since it was read; nothing was written", path.display())]
    Changed {
        /// The path.
        path: PathBuf,
    },
}

impl FileError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "file-io",
            Self::NotAFile { .. } => "file-kind",
            Self::TooLarge { .. } => "file-too-large",
            Self::Changed { .. } => "file-changed",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "give the user who runs fullsend access to it".to_owned()
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space on the disk and try again".to_owned()
            }
            Self::Io { path, .. } => {
                format!("check that `{}` exists, is writable and lies on a local disk", path.display())
            }
            Self::NotAFile { .. } => "move away what is there".to_owned(),
            Self::TooLarge { .. } => "restore the file from version control, or delete it".to_owned(),
            Self::Changed { .. } => "look at the new content and run the command again".to_owned(),
        }
    }
}

/// Turns an operating system error into one that says what was tried on which path.
fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError::Io { action, path: path.to_owned(), source }
}

/// The content of a regular file of at most `limit` bytes; `None` when there is no such file.
pub(crate) fn read_regular(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    // Looked at before it is opened: opening a pipe waits for a writer.
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    if !metadata.is_file() {
        return Err(FileError::NotAFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed("open", path))?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(failed("read", path))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(Some(bytes))
}

/// Makes `directory` and what is missing above it.
pub(crate) fn create_directory(directory: &Path) -> Result<(), FileError> {
    DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(failed("create", directory))
}

/// The directory that `path` lies in.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// The right to replace one file, exclusive among all processes that ask for it, until dropped.
#[derive(Debug)]
pub(crate) struct Held {
    path: PathBuf,
    name: OsString,
    directory: File,
}

impl Held {
    /// Waits for the right to replace the file at `path`, which need not exist; its directory must.
    ///
    /// A symbolic link is followed: the file it points at is replaced, the link stays.
    pub(crate) fn lock(path: &Path) -> Result<Self, FileError> {
        let path = match path.is_symlink() {
            true => path.canonicalize().map_err(failed("follow the link", path))?,
            false => path.to_owned(),
        };
        let name = path.file_name().ok_or_else(|| FileError::NotAFile { path: path.clone() })?.to_owned();
        let parent = parent_of(&path);
        let directory = File::open(parent).map_err(failed("open", parent))?;
        directory.lock().map_err(failed("lock", parent))?;
        Ok(Self { name, directory, path })
    }

    /// The file, links followed.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The permission bits of the file as it is now.
    pub(crate) fn mode(&self) -> Result<u32, FileError> {
        let metadata = std::fs::metadata(&self.path).map_err(failed("look at", &self.path))?;
        Ok(metadata.permissions().mode() & 0o7777)
    }

    /// Puts `bytes` in the place of the file's content.
    pub(crate) fn replace(&self, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        let temporary = parent_of(&self.path).join(temporary_name(&self.name));
        // One name for all writers is enough, since they exclude each other; what a killed one left is removed here.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &temporary)(error));
            }
            Ok(()) | Err(_) => {}
        }
        let written =
            write_new(&temporary, bytes, mode).and_then(|()| std::fs::rename(&temporary, &self.path));
        if let Err(error) = written {
            // The first error is the one to report; the next writer removes what stays.
            let _ignored = std::fs::remove_file(&temporary);
            return Err(failed("write", &self.path)(error));
        }
        self.directory.sync_all().map_err(failed("write", parent_of(&self.path)))
    }
}

/// The name of the new content until it is complete.
fn temporary_name(name: &OsStr) -> OsString {
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(".tmp.fullsend");
    temporary
}

/// Writes a file that must not exist yet, down to the disk.
fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    // Set on the open file, so that the umask has no say.
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}
