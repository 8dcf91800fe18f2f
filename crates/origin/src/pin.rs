//! Integrity pins: `#sha256=` and 64 lower-case hexadecimal digits at the end of a URL.
//!
//! The pin is what makes a remote resource as trustworthy as the file that names it. A pin that is almost right must
//! therefore never be read as "no pin", nor as part of the URL: `#b#sha256=…` has two fragments and is refused, and so
//! is upper case, because a digest is also a cache key and a lock entry and those have one spelling.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::digest::{DigestError, HEX_LEN, Sha256Digest};
use crate::url::{HttpsUrl, RemoteUrl, UrlError, refuse_hazard};

/// What a pin starts with, after the `#`.
const MARK: &str = "sha256=";

/// Separates a text from the pin at its end.
///
/// Works on any text, so that a caller can also recognise a pin where none belongs.
pub fn split_integrity(text: &str) -> Result<(&str, Sha256Digest), PinError> {
    let (clean, fragment) = text.split_once('#').ok_or(PinError::Missing)?;
    if fragment.contains('#') {
        return Err(PinError::ExtraFragment);
    }
    let Some(hex) = fragment.strip_prefix(MARK) else {
        return Err(unknown_fragment(fragment));
    };
    match hex.parse() {
        Ok(digest) => Ok((clean, digest)),
        Err(DigestError::UpperCase { corrected }) => {
            Err(PinError::UpperCase { corrected: format!("#{MARK}{corrected}") })
        }
        Err(source @ (DigestError::Length { .. } | DigestError::NotHex { .. })) => {
            Err(PinError::Digest { source })
        }
    }
}

/// Names the fault of a fragment that does not start like a pin.
fn unknown_fragment(fragment: &str) -> PinError {
    let is_name = |name: &str| name.eq_ignore_ascii_case("sha256");
    let Some((_, after)) = fragment.split_at_checked(6).filter(|(name, _)| is_name(name)) else {
        return PinError::NotAPin { corrected: None };
    };
    let hex = ["=", ":", "-", "%3D", "%3d"].iter().find_map(|separator| after.strip_prefix(separator));
    let corrected = hex
        .filter(|hex| hex.len() == HEX_LEN && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(|hex| format!("#{MARK}{}", hex.to_ascii_lowercase()));
    match corrected {
        Some(corrected) if after.starts_with('=') => PinError::UpperCase { corrected },
        corrected @ (Some(_) | None) => PinError::NotAPin { corrected },
    }
}

/// A URL and the digest that its content must have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PinnedUrl {
    url: RemoteUrl,
    digest: Sha256Digest,
}

impl PinnedUrl {
    /// Joins a URL and the digest of its content.
    pub fn new(url: RemoteUrl, digest: Sha256Digest) -> Self {
        Self { url, digest }
    }

    /// Reads `text` as URL and pin.
    pub fn parse(text: &str) -> Result<Self, PinnedUrlError> {
        // Checked with its fragment, so that a corrected spelling in the error still carries the pin.
        refuse_hazard(&HttpsUrl::parse(text)?)?;
        let (clean, digest) = split_integrity(text)?;
        Ok(Self { url: RemoteUrl::parse(clean)?, digest })
    }

    /// The URL without the pin: what is requested and what allow-lists see.
    pub fn url(&self) -> &RemoteUrl {
        &self.url
    }

    /// The digest that the content must have.
    pub fn digest(&self) -> Sha256Digest {
        self.digest
    }
}

impl fmt::Display for PinnedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{MARK}{}", self.url, self.digest)
    }
}

impl FromStr for PinnedUrl {
    type Err = PinnedUrlError;

    fn from_str(text: &str) -> Result<Self, PinnedUrlError> {
        Self::parse(text)
    }
}

/// Why a text does not end in a pin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PinError {
    /// There is no fragment.
    #[error("the `#sha256=` pin is missing")]
    Missing,
    /// The fragment is something else.
    #[error("the fragment is not a `#sha256=` pin")]
    NotAPin {
        /// The pin that was probably meant.
        corrected: Option<String>,
    },
    /// There is more than one `#`.
    #[error("there is more than one `#`")]
    ExtraFragment,
    /// The pin is right apart from upper-case letters.
    #[error("the pin has upper-case letters")]
    UpperCase {
        /// The pin as it must be written, from the `#` on.
        corrected: String,
    },
    /// What follows `#sha256=` is not a digest.
    #[error("the pin is not a digest")]
    Digest {
        /// What is wrong with it.
        source: DigestError,
    },
}

impl PinError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing => "pin-missing",
            Self::NotAPin { .. } => "pin-not-a-pin",
            Self::ExtraFragment => "pin-extra-fragment",
            Self::UpperCase { .. } => "pin-upper-case",
            Self::Digest { .. } => "pin-digest",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Missing => "append `#sha256=` and the SHA-256 of the content in 64 hex digits".to_owned(),
            Self::NotAPin { corrected: Some(corrected) } | Self::UpperCase { corrected } => {
                format!("write `{corrected}`")
            }
            Self::NotAPin { corrected: None } | Self::Digest { .. } => {
                "end the URL in `#sha256=` and 64 of the digits 0-9 and a-f".to_owned()
            }
            Self::ExtraFragment => "keep only the `#` of the pin".to_owned(),
        })
    }
}

/// Why a text is not a pinned URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PinnedUrlError {
    /// The URL is not acceptable.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The URL is fine, its pin is not.
    #[error(transparent)]
    Pin(#[from] PinError),
}

impl PinnedUrlError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Url(error) => error.code(),
            Self::Pin(error) => error.code(),
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Url(error) => error.help(),
            Self::Pin(error) => error.help(),
        }
    }
}

#[cfg(test)]
mod tests;
