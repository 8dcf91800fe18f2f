//! What a harness may write where a resource is expected: a local path or a pinned URL.
//!
//! The dangerous answer is a third one. If everything that is not a good URL counts as a path, a typing error turns a
//! remote resource into a missing file at best and into an unpinned, unlisted one at worst. So a text that looks like a
//! URL of any kind either is a pinned `https` URL or is an error.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use thiserror::Error;

use crate::pin::{PinError, PinnedUrl, PinnedUrlError};
use crate::url::{HttpsUrl, UrlError, has_scheme};

/// A path on this machine, as written. It is not resolved and may not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalPath(String);

impl LocalPath {
    /// Checks that `text` is a possible path and not something that only looks like one.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        if text.is_empty() {
            return Err(ReferenceError::Empty);
        }
        if let Some((offset, character)) = text.char_indices().find(|(_, c)| c.is_control()) {
            return Err(ReferenceError::Control { character, offset });
        }
        refuse_url_lookalike(text)?;
        if has_pin(text) {
            return Err(ReferenceError::PinnedPath);
        }
        Ok(Self(text.to_owned()))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path for file-system calls.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl AsRef<Path> for LocalPath {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl fmt::Display for LocalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a resource comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// A file or directory on this machine.
    Local(LocalPath),
    /// A URL whose content has a known digest.
    Remote(PinnedUrl),
}

impl Reference {
    /// Reads `text` as one or the other, never guessing.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        match HttpsUrl::parse(text) {
            Ok(_) => PinnedUrl::parse(text).map(Self::Remote).map_err(|error| unpinned(text, error)),
            Err(error) if has_scheme(text) => Err(scheme_error(error)),
            Err(_) => LocalPath::parse(text).map(Self::Local),
        }
    }

    /// The last element of the path, without query and pin; `None` when there is no such name (`/`, `..`).
    ///
    /// The name of a URL is percent-decoded. It never holds a `/`.
    pub fn base_name(&self) -> Option<String> {
        match self {
            Self::Remote(pinned) => pinned.url().base_name(),
            Self::Local(path) => {
                let name = path.as_str().trim_end_matches('/').rsplit('/').next()?;
                Some(name).filter(|name| !matches!(*name, "" | "." | "..")).map(str::to_owned)
            }
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.fmt(f),
            Self::Remote(pinned) => pinned.fmt(f),
        }
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        Self::parse(text)
    }
}

/// Refuses texts that are meant as URLs but do not have the form of one.
fn refuse_url_lookalike(text: &str) -> Result<(), ReferenceError> {
    let trimmed = text.trim_start();
    if has_prefix(trimmed, "http:") {
        return Err(ReferenceError::PlainHttp);
    }
    if has_prefix(trimmed, "https:") {
        return match HttpsUrl::parse(text) {
            Ok(_) => Err(ReferenceError::UrlNotPath),
            Err(error) => Err(error.into()),
        };
    }
    // `0://x` has no valid scheme, and is not a path that anyone means either.
    let before = trimmed.split_once("://").map(|(before, _)| before);
    match before.filter(|before| !before.contains('/')) {
        Some(scheme) => Err(ReferenceError::UnsupportedScheme { scheme: scheme.to_ascii_lowercase() }),
        None => Ok(()),
    }
}

/// Whether `text` starts with the ASCII text `prefix`, in any case.
fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether a path ends in what its author takes for a pin.
fn has_pin(text: &str) -> bool {
    text.rsplit_once('#').is_some_and(|(_, fragment)| has_prefix(fragment, "sha256="))
}

/// Gives the two schemes people write most their own errors.
fn scheme_error(error: UrlError) -> ReferenceError {
    if let UrlError::UnsupportedScheme { scheme } = error {
        return match scheme.as_str() {
            "http" => ReferenceError::PlainHttp,
            _ => ReferenceError::UnsupportedScheme { scheme },
        };
    }
    error.into()
}

/// Turns "no pin" into the error that names the URL to pin.
fn unpinned(text: &str, error: PinnedUrlError) -> ReferenceError {
    match error {
        PinnedUrlError::Pin(PinError::Missing) => ReferenceError::Unpinned { url: text.to_owned() },
        PinnedUrlError::Pin(error) => error.into(),
        PinnedUrlError::Url(error) => error.into(),
    }
}

/// Why a text is not a reference.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// There is nothing to read.
    #[error("the reference is empty")]
    Empty,
    /// A path holds a control character.
    #[error("the path holds the control character {character:?} at offset {offset}")]
    Control {
        /// The first such character.
        character: char,
        /// Its byte offset.
        offset: usize,
    },
    /// The URL is `http`: neither a path nor acceptable as a URL.
    #[error("`http` URLs are not accepted")]
    PlainHttp,
    /// The URL has another scheme.
    #[error("`{scheme}://` is neither a path nor an `https` URL")]
    UnsupportedScheme {
        /// What stands before `://`, in lower case.
        scheme: String,
    },
    /// The text is meant as an `https` URL, but is not an acceptable one.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The URL has no pin.
    #[error("the URL has no `#sha256=` pin")]
    Unpinned {
        /// The URL as written.
        url: String,
    },
    /// The URL has a fragment that is not a good pin.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// A URL stands where only a path may.
    #[error("this must be a local path, not a URL")]
    UrlNotPath,
    /// A path carries a pin, which nothing would check.
    #[error("a local path has no `#sha256=` pin")]
    PinnedPath,
}

impl ReferenceError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Empty => "reference-empty",
            Self::Control { .. } => "reference-control-character",
            Self::PlainHttp => "reference-plain-http",
            Self::UnsupportedScheme { .. } => "reference-unsupported-scheme",
            Self::Url(error) => error.code(),
            Self::Unpinned { .. } => "reference-unpinned",
            Self::Pin(error) => error.code(),
            Self::UrlNotPath => "reference-url-not-path",
            Self::PinnedPath => "reference-pinned-path",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Empty => "write a path or a pinned `https` URL".to_owned(),
            Self::Control { .. } => "remove line breaks and other control characters".to_owned(),
            Self::PlainHttp => "use `https://`, with a `#sha256=` pin at the end".to_owned(),
            Self::UnsupportedScheme { .. } => {
                "use an `https://` URL with a `#sha256=` pin, or a path without `://`".to_owned()
            }
            Self::Url(error) => return error.help(),
            // Quoted for the shell; a URL that would end the quotes is not offered for pasting.
            Self::Unpinned { url } if !url.contains('\'') => {
                format!("append `#sha256=` and the digest that `curl -fsS '{url}' | sha256sum` prints")
            }
            Self::Unpinned { .. } => "append `#sha256=` and the SHA-256 of the content".to_owned(),
            Self::Pin(error) => return error.help(),
            Self::UrlNotPath => "download the file and write its path".to_owned(),
            Self::PinnedPath => "remove the `#sha256=` part; local files are trusted as they are".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
