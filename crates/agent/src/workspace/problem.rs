//! Why a file of the workspace cannot be had.

use rustix::io::Errno;

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileProblem {
    /// There is nothing by that name, or a directory on the way is missing.
    #[error("there is no such file or directory")]
    NotFound,
    /// A directory, a pipe, a socket or a device.
    #[error("it is {0}, not a regular file")]
    NotAFile(&'static str),
    /// Something on the way, or at its end, should be a directory.
    #[error("a part of the path is not a directory")]
    NotADirectory,
    /// A link leads out of the mount, by `..` or by an absolute path.
    #[error("a symbolic link in the path leads out of the workspace or has an absolute target")]
    Outside,
    /// The path leads into the records of runs.
    #[error("the path leads into the artifacts of runs, which are reserved")]
    Reserved,
    /// The mount may only be read.
    #[error("the directory is mounted read-only")]
    ReadOnlyMount,
    /// A link whose target does not exist; what is created through it would be somewhere else.
    #[error("it is a symbolic link to nothing; create its target instead")]
    DanglingLink,
    /// Links that lead to each other.
    #[error("there are too many symbolic links in the path")]
    TooManyLinks,
    /// A link where none may be.
    #[error("there is a symbolic link in the path")]
    Linked,
    /// The file is there although it was to be created.
    #[error("the file exists already")]
    Exists,
    /// Somebody else changed the file meanwhile.
    #[error("the file was changed meanwhile by something else; read it again")]
    Changed,
    /// More bytes than are handled at once.
    #[error("the file has {size} bytes, more than the {limit} that can be handled at once")]
    TooLarge {
        /// The size.
        size: u64,
        /// The most that is handled.
        limit: u64,
    },
    /// A file of another owner, which a new file would take away.
    #[error("the file belongs to another user or group and cannot be replaced without changing that")]
    OtherOwner,
    /// The system says no.
    #[error("the system does not permit it: {0}")]
    Denied(Errno),
    /// Anything else: a full disk, a broken one.
    #[error("{0}")]
    System(std::io::Error),
}

impl From<Errno> for FileProblem {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NAMETOOLONG => Self::NotFound,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::ISDIR => Self::NotAFile("a directory"),
            // Only links are refused this way once a name has been looked at: it became one meanwhile.
            Errno::LOOP | Errno::STALE => Self::Changed,
            Errno::NXIO => Self::NotAFile("a pipe, socket or device"),
            Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::TXTBSY => Self::Denied(errno),
            _ => Self::System(errno.into()),
        }
    }
}

impl From<std::io::Error> for FileProblem {
    fn from(error: std::io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => errno.into(),
            None => Self::System(error),
        }
    }
}
