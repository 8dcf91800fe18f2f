//! Why a pin could not be written.

use fullsend_origin::{RemoteUrl, UrlError};
use fullsend_yaml::{Diagnostic, LineColumn, SourceMap};
use thiserror::Error;

/// Why a document was not edited.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PinEditError {
    /// What is to be pinned is not a URL that can be fetched.
    #[error("this cannot be pinned: {0}")]
    Target(#[from] UrlError),
    /// The document has an error.
    #[error("line {}, column {}: {message}", at.line, at.column)]
    Unreadable {
        /// Where.
        at: LineColumn,
        /// What is wrong.
        message: String,
        /// What to do about it.
        help: String,
    },
    /// The document does not use the URL.
    #[error("no value or key in the file is {url}")]
    NotFound {
        /// The URL.
        url: Box<RemoteUrl>,
    },
    /// A use of the URL is spread over several lines.
    #[error("line {line}: the URL spans several lines")]
    SeveralLines {
        /// The first of them.
        line: usize,
    },
    /// The edited document would say something else, too.
    #[error("with the new pin the file would no longer say the same in other places")]
    Altered,
}

impl PinEditError {
    /// Wraps the first error of a document.
    pub(super) fn unreadable(sources: &SourceMap, problem: &Diagnostic) -> Self {
        let at = sources.resolve(problem.at).map(|(_, at)| at);
        Self::Unreadable {
            at: at.unwrap_or(LineColumn { line: 1, column: 1 }),
            message: problem.message.clone(),
            help: problem.help().to_owned(),
        }
    }

    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Target(error) => error.code(),
            Self::Unreadable { .. } => "pin-edit-unreadable",
            Self::NotFound { .. } => "pin-edit-not-found",
            Self::SeveralLines { .. } => "pin-edit-several-lines",
            Self::Altered => "pin-edit-altered",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Target(error) => return error.help(),
            Self::Unreadable { help, .. } => help.clone(),
            Self::NotFound { .. } => {
                "name the URL exactly as the file writes it; its pin may be left out".to_owned()
            }
            Self::SeveralLines { .. } => "write the URL on one line".to_owned(),
            Self::Altered => {
                "write the pin by hand; if the URL stands twice in one mapping, remove one".to_owned()
            }
        })
    }
}
