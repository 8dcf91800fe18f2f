//! Ways in which lock file and harness disagree.

use std::fmt;

use fullsend_harness::value::Platform;
use fullsend_origin::{RemoteUrl, Sha256Digest};
use fullsend_yaml::printable;
use thiserror::Error;

use crate::lock::LockedKind;

/// The place that an entry of the lock file fills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The harness.
    pub harness: String,
    /// The key.
    pub field: String,
    /// The platform, when the key differs between platforms.
    pub platform: Option<Platform>,
}

impl Slot {
    pub(super) fn new(harness: &str, field: &str, platform: Option<Platform>) -> Self {
        Self { harness: harness.to_owned(), field: field.to_owned(), platform }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` of harness `{}`", shown(&self.field), shown(&self.harness))?;
        match self.platform {
            Some(platform) => write!(formatter, " on {}", platform.as_str()),
            None => Ok(()),
        }
    }
}

/// Text of a file in a message.
fn shown(text: &str) -> String {
    printable(text.to_owned())
}

/// One disagreement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LockProblem {
    /// The harness has no entry at all.
    #[error("harness `{}` is not locked", shown(harness))]
    NotLocked {
        /// The harness.
        harness: String,
    },
    /// The harness file is not the one that was locked.
    #[error("`{}` has changed since harness `{}` was locked", shown(source_file), shown(harness))]
    HarnessChanged {
        /// The harness.
        harness: String,
        /// Its file, as recorded.
        source_file: String,
    },
    /// Something else that decides what is resolved is not as it was, or was not recorded.
    #[error(
        "the lock entry of harness `{}` was made with other bases, allow-lists or options",
        shown(harness)
    )]
    InputChanged {
        /// The harness.
        harness: String,
    },
    /// A reference has no entry.
    #[error("{slot} is not locked: {url}")]
    Missing {
        /// The reference.
        slot: Slot,
        /// Its URL.
        url: Box<RemoteUrl>,
    },
    /// Several entries fit a reference and differ.
    #[error("{slot} is locked several times with different content: {url}")]
    Ambiguous {
        /// The reference.
        slot: Slot,
        /// Its URL.
        url: Box<RemoteUrl>,
    },
    /// The entry has another digest than the pin.
    #[error("{slot} is pinned to {pin} but locked to {locked}")]
    PinDiffers {
        /// The reference.
        slot: Slot,
        /// The digest in the lock file.
        locked: Sha256Digest,
        /// The digest in the harness.
        pin: Sha256Digest,
    },
    /// The entry is of another URL.
    #[error("{slot} is {expected} but {locked} is locked")]
    UrlChanged {
        /// The reference.
        slot: Slot,
        /// The URL in the lock file.
        locked: Box<RemoteUrl>,
        /// The URL in the harness.
        expected: Box<RemoteUrl>,
    },
    /// The entry is a directory where a file is needed, or the reverse.
    #[error("{slot} takes a {} but a {} is locked", expected.as_str(), locked.as_str())]
    KindDiffers {
        /// The reference.
        slot: Slot,
        /// The type in the lock file.
        locked: LockedKind,
        /// The type that the key takes.
        expected: LockedKind,
    },
    /// The list of files is not the one that the digest stands for.
    #[error("the files listed for {slot} do not add up to its digest: {url}")]
    ManifestDiffers {
        /// The reference.
        slot: Slot,
        /// Its URL.
        url: Box<RemoteUrl>,
    },
    /// Nothing needs the entry.
    #[error("nothing needs the lock entry for {slot}: {url}")]
    Stale {
        /// What it was for.
        slot: Slot,
        /// Its URL.
        url: Box<RemoteUrl>,
    },
}

impl LockProblem {
    /// Stable name of this problem for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotLocked { .. } => "lock-absent",
            Self::HarnessChanged { .. } => "lock-harness-changed",
            Self::InputChanged { .. } => "lock-input-changed",
            Self::Missing { .. } => "lock-missing",
            Self::Ambiguous { .. } => "lock-ambiguous",
            Self::PinDiffers { .. } => "lock-pin-differs",
            Self::UrlChanged { .. } => "lock-url-changed",
            Self::KindDiffers { .. } => "lock-kind-differs",
            Self::ManifestDiffers { .. } => "lock-manifest-differs",
            Self::Stale { .. } => "lock-stale",
        }
    }

    /// The harness it is about.
    pub fn harness(&self) -> &str {
        match self {
            Self::NotLocked { harness }
            | Self::HarnessChanged { harness, .. }
            | Self::InputChanged { harness } => harness,
            Self::Missing { slot, .. }
            | Self::Ambiguous { slot, .. }
            | Self::PinDiffers { slot, .. }
            | Self::UrlChanged { slot, .. }
            | Self::KindDiffers { slot, .. }
            | Self::ManifestDiffers { slot, .. }
            | Self::Stale { slot, .. } => &slot.harness,
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> String {
        let command = format!("run `fullsend lock {}`", argument(self.harness()));
        match self {
            Self::PinDiffers { .. } => {
                format!("the pin is what counts; if it is right, {command}")
            }
            Self::NotLocked { .. }
            | Self::HarnessChanged { .. }
            | Self::InputChanged { .. }
            | Self::Missing { .. }
            | Self::Ambiguous { .. }
            | Self::UrlChanged { .. }
            | Self::KindDiffers { .. }
            | Self::ManifestDiffers { .. }
            | Self::Stale { .. } => command,
        }
    }
}

/// A harness name as one argument of a shell command.
fn argument(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !name.is_empty() && !name.starts_with('-') && name.bytes().all(plain) {
        return name.to_owned();
    }
    format!("-- '{}'", shown(name).replace('\'', r"'\''"))
}
