//! What is on record about where the content of files comes from.

use fullsend_flow::Label;
use serde::{Deserialize, Serialize};

use super::stamp::Moment;

/// Something about where the content of files comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Provenance {
    /// From a moment on, commands of a label may have changed any file. On record before the first of them runs.
    Era {
        /// By the clock of the file system.
        since: Moment,
        /// What the commands were made of, and could read.
        label: Label,
    },
    /// A file is about to be written.
    Pending {
        /// Where, in the sandbox.
        path: String,
        /// What of.
        label: Label,
    },
    /// A file that was about to be written was not.
    Unwritten {
        /// Where, in the sandbox.
        path: String,
    },
    /// A file was written.
    Written {
        /// Where, in the sandbox.
        path: String,
        /// The name of the mount whose file system it is in; else the number of the device.
        device: String,
        /// Its number there.
        inode: u64,
        /// When it was last changed, by the clock of the file system.
        changed: Moment,
        /// What it was made of.
        label: Label,
    },
}
