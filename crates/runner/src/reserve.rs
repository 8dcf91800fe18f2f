//! Room on the disk for the end of a record: a run that fills its disk still says how it ended.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Enough for the last report, the end of the findings log and the last spans.
const BYTES: u64 = 128 * 1024;

/// Room that nothing else can take. It has no name, so a run that is killed leaves none of it.
#[derive(Debug)]
pub(crate) struct Reserve {
    room: Option<File>,
}

impl Reserve {
    /// Takes room in the file system of `directory`. One that cannot do that has none to give; one that is full is an error.
    pub(crate) fn make(directory: &Path) -> io::Result<Self> {
        let room = tempfile::tempfile_in(directory)?;
        match fallocate(&room, FallocateFlags::empty(), 0, BYTES) {
            Ok(()) => Ok(Self { room: Some(room) }),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Self { room: None }),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the room back.
    pub(crate) fn give(&mut self) {
        self.room = None;
    }
}
