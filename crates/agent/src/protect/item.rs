//! Something that may not be changed, as it was when it was looked at.

use std::io::Read as _;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fullsend_flow::Trust;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Larger files are compared by their times, and cannot be put back.
const LARGEST_COPY: i64 = 1 << 20;

/// What was changed a moment ago can change again without another time: clocks of file systems are coarse.
const MOMENT: Duration = Duration::from_secs(2);

/// Which file it is, and when it was last changed. No process can set the time of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) file: (u64, u64),
    changed: (i64, u64),
    size: i64,
    /// Whether any later change has another time.
    pub(super) settled: bool,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Self {
        let changed = (stat.st_ctime, stat.st_ctime_nsec);
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(changed.0).unwrap_or(0));
        let settled = SystemTime::now().duration_since(since).is_ok_and(|age| age > MOMENT);
        Self { file: (stat.st_dev, stat.st_ino), changed, size: stat.st_size, settled }
    }

    /// The same of something that is to be looked at again in any case.
    pub(super) fn unsettled(self) -> Self {
        Self { settled: false, ..self }
    }

    /// Whether what is there now is certainly what was there then.
    pub(super) fn is_still(&self, stat: &Stat) -> bool {
        self.settled
            && self.file == (stat.st_dev, stat.st_ino)
            && self.changed == (stat.st_ctime, stat.st_ctime_nsec)
            && self.size == stat.st_size
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Directory,
    File {
        mode: u32,
        copy: Arc<[u8]>,
    },
    /// A file that is too large to be kept.
    Large((u64, u64), (i64, u64), i64),
    Link(Vec<u8>),
    /// A pipe, a socket, a device, or something that cannot be read.
    Other,
}

/// Something that may not be changed.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) stamp: Stamp,
    pub(super) needs: Trust,
    pub(super) what: What,
}

impl Item {
    /// Looks at `name` in a directory; `room` is how many bytes may be kept of it.
    pub(super) fn look(
        parent: BorrowedFd<'_>,
        name: &[u8],
        needs: Trust,
        room: &mut usize,
    ) -> Result<Self, Errno> {
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let stamp = Stamp::of(&stat);
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => What::Directory,
            FileType::Symlink => What::Link(rustix::fs::readlinkat(parent, name, Vec::new())?.into_bytes()),
            FileType::RegularFile => {
                let mode = stat.st_mode & 0o7777;
                let fits = stat.st_size <= LARGEST_COPY
                    && usize::try_from(stat.st_size).is_ok_and(|size| size <= *room);
                let read = if fits { read(parent, name) } else { None };
                match read {
                    Some(copy) => {
                        *room = room.saturating_sub(copy.len());
                        What::File { mode, copy: copy.into() }
                    }
                    None => What::Large(stamp.file, stamp.changed, stamp.size),
                }
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => What::Other,
        };
        Ok(Self { stamp, needs, what })
    }

    /// How many bytes are kept of it.
    pub(super) fn weight(&self) -> usize {
        if let What::File { copy, .. } = &self.what { copy.len() } else { 0 }
    }
}

fn read(parent: BorrowedFd<'_>, name: &[u8]) -> Option<Vec<u8>> {
    // Whatever takes the name meanwhile must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::empty()).ok()?;
    let limit = u64::try_from(LARGEST_COPY).unwrap_or(0);
    let mut copy = Vec::new();
    std::fs::File::from(file).take(limit.saturating_add(1)).read_to_end(&mut copy).ok()?;
    (copy.len() as u64 <= limit).then_some(copy)
}
