//! Why there is no page.

use thiserror::Error;

use super::super::FetchError;
use super::PageUrl;

/// Why a page could not be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VisitError {
    /// The text is no URL of a page.
    #[error("this is no URL of a page: {reason}")]
    InvalidUrl {
        /// Why not.
        reason: &'static str,
    },
    /// The rules do not allow it.
    #[error("`{at}` is not allowed: {reason}")]
    Blocked {
        /// The URL that is not allowed, or that redirected to something that is not.
        at: PageUrl,
        /// Why not.
        reason: String,
    },
    /// Redirects did not come to an end.
    #[error("there were more than {limit} redirects")]
    TooManyRedirects {
        /// The URL that sent the last one.
        at: PageUrl,
        /// The most that are followed.
        limit: usize,
    },
    /// The page is not of a kind that is wanted.
    #[error("`{at}` is {}, which is not text", content_type.as_deref().unwrap_or("of no stated type"))]
    ContentType {
        /// The URL.
        at: PageUrl,
        /// The status of the answer.
        status: u16,
        /// What it says it is.
        content_type: Option<String>,
    },
    /// There was no answer that could be used.
    #[error("`{at}` cannot be fetched: {source}")]
    Failed {
        /// The URL.
        at: PageUrl,
        /// What happened.
        source: Box<FetchError>,
    },
    /// It took too long.
    #[error("`{at}` took too long")]
    Timeout {
        /// The URL.
        at: PageUrl,
    },
}

impl VisitError {
    /// What a failed request means here.
    pub(super) fn of(at: &PageUrl, error: FetchError) -> Self {
        let at = at.clone();
        let refused = matches!(
            error,
            FetchError::AddressRefused { .. }
                | FetchError::MetadataAddress { .. }
                | FetchError::Dns { .. }
                | FetchError::Peer { .. }
        );
        if refused {
            return Self::Blocked { at, reason: error.to_string() };
        }
        if matches!(error, FetchError::Timeout { .. }) {
            return Self::Timeout { at };
        }
        Self::Failed { at, source: Box::new(error) }
    }

    /// A stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidUrl { .. } => "invalid_url",
            Self::Blocked { .. } => "blocked_url",
            Self::TooManyRedirects { .. } => "too_many_redirects",
            Self::ContentType { .. } => "unsupported_content_type",
            Self::Failed { .. } => "fetch_failed",
            Self::Timeout { .. } => "timeout",
        }
    }

    /// The URL at which it ended.
    pub fn at(&self) -> Option<&PageUrl> {
        match self {
            Self::InvalidUrl { .. } => None,
            Self::Blocked { at, .. }
            | Self::TooManyRedirects { at, .. }
            | Self::ContentType { at, .. }
            | Self::Failed { at, .. }
            | Self::Timeout { at } => Some(at),
        }
    }
}
