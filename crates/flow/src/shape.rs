//! What may be told about a value that is not shown: a rough size, never its content.

use serde::{Deserialize, Serialize};

/// How large a hidden value is, roughly: an exact size would be a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SizeClass {
    /// No bytes.
    Empty,
    /// At most 1 KiB.
    Small,
    /// At most 64 KiB.
    Medium,
    /// More than 64 KiB.
    Large,
}

impl SizeClass {
    /// The class of this many bytes.
    #[must_use]
    pub const fn of(bytes: u64) -> Self {
        match bytes {
            0 => Self::Empty,
            1..=1024 => Self::Small,
            1025..=65_536 => Self::Medium,
            _ => Self::Large,
        }
    }
}
