//! What can be wrong with an allow-list, and why a URL is denied.

use thiserror::Error;

use crate::url::UrlError;

/// Why a text is not an allow-list entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AllowEntryError {
    /// The entry is not an acceptable `https` URL.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The entry does not end in `/`.
    #[error("the entry does not end in `/`, so it would also allow names that merely start alike")]
    NoTrailingSlash {
        /// The entry with its slash.
        corrected: String,
    },
    /// The entry has a query.
    #[error("the entry has a query")]
    Query,
    /// The entry has a fragment.
    #[error("the entry has a fragment")]
    Fragment,
    /// The entry has two slashes in a row in its path.
    #[error("the entry has an empty path segment")]
    EmptySegment,
}

impl AllowEntryError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Url(error) => error.code(),
            Self::NoTrailingSlash { .. } => "allow-no-trailing-slash",
            Self::Query => "allow-query",
            Self::Fragment => "allow-fragment",
            Self::EmptySegment => "allow-empty-segment",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Url(error) => error.help(),
            Self::NoTrailingSlash { corrected } => Some(format!("write `{corrected}`")),
            Self::Query | Self::Fragment => {
                Some("write host and path only; an entry allows every query below it".to_owned())
            }
            Self::EmptySegment => Some("write single slashes between segments".to_owned()),
        }
    }
}

/// The first bad entry of a list.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("entry {index} of the allow-list is not valid: {source}")]
#[non_exhaustive]
pub struct AllowListError {
    /// Position in the list, from 0.
    pub index: usize,
    /// The entry as written.
    pub entry: String,
    /// What is wrong with it.
    pub source: AllowEntryError,
}

impl AllowListError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        self.source.code()
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        self.source.help()
    }
}

/// Why a URL may not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DenyReason {
    /// The URL can be read in more than one way.
    #[error(transparent)]
    AmbiguousUrl(UrlError),
    /// No entry of the harness matches.
    #[error("the URL is not below any entry of `allowed_remote_resources` in the harness")]
    NotInHarnessList,
    /// The harness allows it, the organisation does not.
    #[error("the URL is not below any entry of `allowed_remote_resources` in the org config")]
    NotInOrgList,
}

impl DenyReason {
    /// Stable name of this reason for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::AmbiguousUrl(error) => error.code(),
            Self::NotInHarnessList => "allow-not-in-harness-list",
            Self::NotInOrgList => "allow-not-in-org-list",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::AmbiguousUrl(error) => error.help(),
            Self::NotInHarnessList => {
                Some("add an entry that ends in `/` to `allowed_remote_resources` of the harness".to_owned())
            }
            Self::NotInOrgList => Some(
                "ask the owner of the org config to add an entry to `allowed_remote_resources`".to_owned(),
            ),
        }
    }
}
