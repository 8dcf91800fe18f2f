//! SHA-256 digests with one spelling each.
//!
//! A digest is compared, used as a directory name and written into lock files. If two spellings of the same digest
//! were accepted, a lock entry and a cache entry could disagree about identity, and a "digest" holding `../` could
//! leave the cache directory. So there is exactly one text form: 64 lower-case hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Number of hexadecimal digits in the text form of a digest.
pub const HEX_LEN: usize = 64;

/// The SHA-256 digest of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

impl Sha256Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Wraps a digest that was computed elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256Digest({self})")
    }
}

impl FromStr for Sha256Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        if let Some((offset, character)) = text.char_indices().find(|(_, c)| !c.is_ascii_hexdigit()) {
            return Err(DigestError::NotHex { character, offset });
        }
        let mut bytes = [0; 32];
        if text.len() != HEX_LEN {
            return Err(DigestError::Length { found: text.len() });
        }
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(DigestError::UpperCase { corrected: text.to_ascii_lowercase() });
        }
        for (slot, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *slot = pair.iter().fold(0, |value, digit| value << 4 | hex_value(*digit));
        }
        Ok(Self(bytes))
    }
}

/// The value of a lower-case hexadecimal digit that is known to be one.
const fn hex_value(digit: u8) -> u8 {
    if digit.is_ascii_digit() { digit - b'0' } else { digit.wrapping_sub(b'a').wrapping_add(10) }
}

/// Computes a digest over bytes that arrive in pieces.
#[derive(Clone, Debug, Default)]
pub struct Sha256Hasher(Sha256);

impl Sha256Hasher {
    /// A hasher that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `bytes` to the hashed content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything appended so far.
    pub fn finish(self) -> Sha256Digest {
        Sha256Digest(self.0.finalize().into())
    }
}

/// Why a text is not a SHA-256 digest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The text has the wrong number of digits.
    #[error("a SHA-256 digest has 64 hexadecimal digits, this one has {found}")]
    Length {
        /// Number of digits found.
        found: usize,
    },
    /// The text holds something that is not a hexadecimal digit.
    #[error("{character:?} at offset {offset} is not a hexadecimal digit")]
    NotHex {
        /// The first offending character.
        character: char,
        /// Its byte offset.
        offset: usize,
    },
    /// The digest is right apart from upper-case digits.
    #[error("a SHA-256 digest is written in lower case")]
    UpperCase {
        /// The same digest, spelled as it must be.
        corrected: String,
    },
}

impl DigestError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "digest-length",
            Self::NotHex { .. } => "digest-not-hex",
            Self::UpperCase { .. } => "digest-upper-case",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Length { .. } | Self::NotHex { .. } => {
                "write the digest as exactly 64 of the digits 0-9 and a-f".to_owned()
            }
            Self::UpperCase { corrected } => format!("write `{corrected}`"),
        })
    }
}

#[cfg(test)]
mod tests;
