//! Why a lock file cannot be used.

use std::path::PathBuf;

use fullsend_yaml::{Diagnostic, LineColumn, SourceMap};
use thiserror::Error;

use super::read::RESTORE;
use super::rules;
use crate::durable::FileError;

/// Why a lock file could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file could not be read or replaced.
    #[error(transparent)]
    File(#[from] FileError),
    /// What the file says cannot be used.
    #[error("`{}` is not a usable lock file; line {}, column {}: {first}", path.display(), at.line, at.column)]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where the first error is.
        at: LineColumn,
        /// What the first error is.
        first: String,
        /// Every problem, warnings included.
        problems: Vec<Diagnostic>,
    },
    /// The new content would not be read back as it is; nothing was written.
    #[error("the lock file cannot express its new content; nothing was written to `{}`", path.display())]
    Inexpressible {
        /// The file.
        path: PathBuf,
    },
}

impl LockError {
    /// Wraps the problems of a file, of which at least one is an error.
    pub(super) fn invalid(path: PathBuf, sources: &SourceMap, problems: Vec<Diagnostic>) -> Self {
        let error = problems.iter().find(|problem| problem.is_error());
        let at = error.and_then(|error| sources.resolve(error.at)).map(|(_, at)| at);
        let first = error.map(|error| error.message.clone()).unwrap_or_default();
        Self::Invalid { at: at.unwrap_or(LineColumn { line: 1, column: 1 }), first, path, problems }
    }

    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::File(error) => error.code(),
            Self::Invalid { .. } => "lock-invalid",
            Self::Inexpressible { .. } => "lock-inexpressible",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::File(error) => error.help(),
            // What is wrong with one line is seldom to be mended by hand in a file that nobody writes by hand.
            Self::Invalid { problems, .. } => match problems.iter().find(|problem| problem.is_error()) {
                Some(problem) if *problem.rule == rules::VERSION => problem.help().to_owned(),
                Some(_) | None => RESTORE.to_owned(),
            },
            Self::Inexpressible { .. } => {
                "shorten the name of the harness, and report this as a defect of fullsend".to_owned()
            }
        }
    }
}
