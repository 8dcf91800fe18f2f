//! A digest as artifacts write it: the algorithm, a colon, the digits.

use std::fmt;

use fullsend_origin::Sha256Digest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PREFIX: &str = "sha256:";

/// The SHA-256 of a file's bytes, written `sha256:…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentDigest(pub Sha256Digest);

impl ContentDigest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256Digest::of(bytes))
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.0)
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits =
            text.strip_prefix(PREFIX).ok_or_else(|| D::Error::custom("a digest starts with `sha256:`"))?;
        digits.parse().map(Self).map_err(D::Error::custom)
    }
}
