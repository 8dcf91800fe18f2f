//! Why a log cannot be written or read.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::verify::Broken;

/// Why a log cannot be written or read. Whatever the reason, what was to be recorded is not, so the caller denies.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The system refused.
    #[error("cannot use the findings log `{}`", path.display())]
    Io {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("the findings log `{}` is open in another process", path.display())]
    InUse {
        /// The log.
        path: PathBuf,
    },
    /// It was tampered with or damaged.
    #[error("the findings log `{}` is broken: {broken}", path.display())]
    Broken {
        /// The log.
        path: PathBuf,
        /// Where, and how.
        broken: Broken,
    },
    /// It has its last entry.
    #[error("the findings log `{}` is closed", path.display())]
    Sealed {
        /// The log.
        path: PathBuf,
    },
    /// Something else wrote to the file, or an earlier write failed half way.
    #[error("the findings log `{}` is not as it was left: {expected} bytes were written, and it has {found}", path.display())]
    Changed {
        /// The log.
        path: PathBuf,
        /// How long it was left.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// The file is not where it was: it was removed, moved away or replaced.
    #[error("the findings log `{}` was removed or replaced while it was open", path.display())]
    Gone {
        /// Where it was.
        path: PathBuf,
    },
    /// The end of a log was appended as if it were a finding.
    #[error("the last entry of the findings log `{}` cannot be appended as a finding", path.display())]
    NotAFinding {
        /// The log.
        path: PathBuf,
    },
}

impl LogError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "findings-log-io",
            Self::InUse { .. } => "findings-log-in-use",
            Self::Broken { .. } => "findings-log-broken",
            Self::Sealed { .. } => "findings-log-sealed",
            Self::Changed { .. } => "findings-log-changed",
            Self::Gone { .. } => "findings-log-gone",
            Self::NotAFinding { .. } => "findings-log-not-a-finding",
        }
    }
}

/// What went wrong, before it is known in which file.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    InUse,
    Broken(Broken),
    Sealed,
    Changed { expected: u64, found: u64 },
    Gone,
}

impl Fault {
    pub(super) fn at(self, path: &Path) -> LogError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => LogError::Io { path, source },
            Self::InUse => LogError::InUse { path },
            Self::Broken(broken) => LogError::Broken { path, broken },
            Self::Sealed => LogError::Sealed { path },
            Self::Changed { expected, found } => LogError::Changed { path, expected, found },
            Self::Gone => LogError::Gone { path },
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
