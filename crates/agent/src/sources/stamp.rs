//! Which file it is, and when it was last changed, by the clock of its file system.

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// Some file systems keep times to two seconds only.
const COARSEST: i64 = 2;

/// A time of a file system. Only ever compared with others of the same machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Since 1970.
    pub seconds: i64,
    /// The rest.
    pub nanoseconds: u32,
}

impl Moment {
    /// Before every file.
    pub const BEGINNING: Self = Self { seconds: i64::MIN, nanoseconds: 0 };

    /// When the inode was last changed: content, name, links or owner. No process can set it.
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { seconds: stat.st_ctime, nanoseconds: u32::try_from(stat.st_ctime_nsec).unwrap_or(0) }
    }

    /// So much later that no coarser clock would say less.
    pub(crate) fn rounded_up(self) -> Self {
        Self { seconds: self.seconds.saturating_add(COARSEST), ..self }
    }
}

/// A file as it was at some moment: any change gives another stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) changed: Moment,
    /// Whether it has more than one name.
    pub(crate) shared: bool,
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino, changed: Moment::of(stat), shared: stat.st_nlink > 1 }
    }

    /// The file, whatever became of it.
    pub(crate) fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}
