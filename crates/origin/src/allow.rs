//! Allow-lists: which URLs may be fetched at all.
//!
//! An entry is a URL prefix that ends in `/`. The classic holes are string prefixes (`https://x/org` admits
//! `https://x/org-evil/`), comparison after folding case (`/Org/` admits `/org/`, another owner on a case-sensitive
//! host), and cleaning the URL for the comparison but not for the request. So scheme, host and port are compared as
//! wholes, the path segment by segment after one decode, and a URL that could be read in two ways matches nothing.
//!
//! The harness can only narrow what its organisation allows: [`EffectiveAllowList`] asks both lists every time.

mod error;

use std::fmt;
use std::str::FromStr;

pub use error::{AllowEntryError, AllowListError, DenyReason};

use crate::percent;
use crate::url::{HttpsUrl, hazard, refuse_hazard};

/// An `https` URL prefix that ends in `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllowEntry {
    url: HttpsUrl,
    segments: Vec<Vec<u8>>,
}

impl AllowEntry {
    /// Reads an entry; it must have exactly one meaning.
    pub fn parse(text: &str) -> Result<Self, AllowEntryError> {
        let url = HttpsUrl::parse(text)?;
        if url.fragment().is_some() {
            return Err(AllowEntryError::Fragment);
        }
        if url.query().is_some() {
            return Err(AllowEntryError::Query);
        }
        refuse_hazard(&url)?;
        if !url.raw_path().ends_with('/') {
            return Err(AllowEntryError::NoTrailingSlash { corrected: format!("{text}/") });
        }
        let mut segments = decoded_segments(&url);
        // The empty text after the last slash is not a segment of the prefix.
        segments.pop();
        if segments.iter().any(Vec::is_empty) {
            return Err(AllowEntryError::EmptySegment);
        }
        Ok(Self { url, segments })
    }

    /// The entry as written.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// The host in lower case, without brackets.
    pub fn host(&self) -> &str {
        self.url.host()
    }

    /// The port as written, if any.
    pub fn port_text(&self) -> Option<&str> {
        self.url.port_text()
    }

    /// Whether `url` lies below this entry. A URL with any ambiguity lies below nothing.
    pub fn matches(&self, url: &HttpsUrl) -> bool {
        hazard(url).is_none() && self.same_origin(url) && {
            let segments = decoded_segments(url);
            segments.len() > self.segments.len() && segments.starts_with(&self.segments)
        }
    }

    /// Whether everything that `other` allows, this entry allows too.
    pub fn covers(&self, other: &Self) -> bool {
        self.same_origin(&other.url) && other.segments.starts_with(&self.segments)
    }

    /// Compares host and port. Ports are compared as written: `:443` and no port are different entries, because
    /// credentials and policies may be bound to either spelling.
    fn same_origin(&self, url: &HttpsUrl) -> bool {
        self.url.host() == url.host() && self.url.port_text() == url.port_text()
    }
}

impl fmt::Display for AllowEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl FromStr for AllowEntry {
    type Err = AllowEntryError;

    fn from_str(text: &str) -> Result<Self, AllowEntryError> {
        Self::parse(text)
    }
}

/// The path after its leading slash, split at slashes, each segment decoded once. Empty for an empty path.
fn decoded_segments(url: &HttpsUrl) -> Vec<Vec<u8>> {
    let path = url.raw_path().strip_prefix('/');
    let segments = path.into_iter().flat_map(|path| path.split('/'));
    // The reader has checked every escape, so nothing fails here; the raw text would match nothing decoded.
    segments.map(|raw| percent::decode(raw.as_bytes()).unwrap_or_else(|_| raw.as_bytes().to_vec())).collect()
}

/// Entries in the order in which they are tried. An empty list allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    entries: Vec<AllowEntry>,
}

impl AllowList {
    /// Reads every text as an entry; the error names the first bad one by its position.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self, AllowListError> {
        let parse = |(index, text): (usize, T)| {
            AllowEntry::parse(text.as_ref()).map_err(|source| AllowListError {
                index,
                entry: text.as_ref().to_owned(),
                source,
            })
        };
        texts.into_iter().enumerate().map(parse).collect()
    }

    /// The first entry that `url` lies below.
    pub fn matching(&self, url: &HttpsUrl) -> Option<&AllowEntry> {
        self.entries.iter().find(|entry| entry.matches(url))
    }

    /// Whether a single entry of this list allows everything that `entry` allows. An organisation's list must cover
    /// every entry of a harness's.
    pub fn covers(&self, entry: &AllowEntry) -> bool {
        self.entries.iter().any(|outer| outer.covers(entry))
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &AllowEntry> {
        self.entries.iter()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the list allows nothing at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl FromIterator<AllowEntry> for AllowList {
    fn from_iter<I: IntoIterator<Item = AllowEntry>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

/// What harness and organisation allow together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectiveAllowList {
    harness: AllowList,
    org: AllowList,
}

impl EffectiveAllowList {
    /// Both lists must allow a URL.
    pub fn new(harness: AllowList, org: AllowList) -> Self {
        Self { harness, org }
    }

    /// The list of the harness.
    pub fn harness(&self) -> &AllowList {
        &self.harness
    }

    /// The list of the organisation.
    pub fn org(&self) -> &AllowList {
        &self.org
    }

    /// Decides about `url`.
    pub fn permits(&self, url: &HttpsUrl) -> Verdict<'_> {
        if let Err(error) = refuse_hazard(url) {
            return Verdict::Denied { reason: DenyReason::AmbiguousUrl(error) };
        }
        match (self.harness.matching(url), self.org.matching(url)) {
            (Some(harness), Some(org)) => Verdict::Allowed { harness, org },
            (None, _) => Verdict::Denied { reason: DenyReason::NotInHarnessList },
            (Some(_), None) => Verdict::Denied { reason: DenyReason::NotInOrgList },
        }
    }
}

/// The decision about one URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a URL may only be fetched when the verdict is `Allowed`"]
pub enum Verdict<'a> {
    /// Both lists have an entry for the URL.
    Allowed {
        /// The first matching entry of the harness.
        harness: &'a AllowEntry,
        /// The first matching entry of the organisation.
        org: &'a AllowEntry,
    },
    /// The URL must not be fetched.
    Denied {
        /// Why not.
        reason: DenyReason,
    },
}

impl Verdict<'_> {
    /// Whether the URL may be fetched.
    pub const fn is_allowed(&self) -> bool {
        match self {
            Self::Allowed { .. } => true,
            Self::Denied { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests;
