//! How the values of a lock file are read from text.

use fullsend_origin::{RemoteUrl, Sha256Digest, TreePath, UrlError};
use fullsend_yaml::{FromText, TextProblem};
use jiff::Timestamp;

use super::LockedKind;

/// Reads a type of another crate; the result is unwrapped at once.
pub(super) struct Text<T>(pub(super) T);

impl FromText for Text<Sha256Digest> {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        let problem = |error: fullsend_origin::DigestError| {
            TextProblem::invalid(format!("is no digest: {error}"), error.help())
        };
        text.parse().map(Text).map_err(problem)
    }
}

impl FromText for Text<RemoteUrl> {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        let problem = |error: UrlError| {
            let help = match error == UrlError::Fragment {
                true => Some("remove the part from `#` on; the digest stands in `sha256`".to_owned()),
                false => error.help(),
            };
            TextProblem::invalid(format!("is no URL that can be fetched: {error}"), help)
        };
        RemoteUrl::parse(text).map(Text).map_err(problem)
    }
}

impl FromText for Text<TreePath> {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        let problem = |error: fullsend_origin::TreeError| {
            TextProblem::invalid(format!("is no path: {error}"), error.help())
        };
        TreePath::parse(text).map(Text).map_err(problem)
    }
}

impl FromText for Text<Timestamp> {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        let help = Some("write it like `2026-06-08T12:00:00Z`".to_owned());
        text.parse()
            .map(Text)
            .map_err(|_| TextProblem::invalid(format!("must be a date and time in UTC, not `{text}`"), help))
    }
}

impl FromText for LockedKind {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        LockedKind::from_word(text).ok_or_else(|| TextProblem::not_one_of(text, LockedKind::WORDS))
    }
}
