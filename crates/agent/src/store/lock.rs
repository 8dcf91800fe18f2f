//! One process at a time runs a run.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::AsFd;
use std::path::Path;

use fullsend_guard::Clock;
use rustix::fs::OFlags;

use super::error::StoreError;
use super::{files, time};

/// The file that is locked. It stays when the run is over: who removed it would let two in.
pub(super) const LOCK: &str = "run.lock";

/// How much is read of what a holder says of itself.
const LONGEST_HOLDER: u64 = 200;

/// The right to run a run, until it is dropped or the process dies.
#[derive(Debug)]
pub(super) struct RunLock {
    held: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Closing alone is not enough: a child that another thread is just starting may still have the file, too.
        let _the_process_may_be_ending = self.held.unlock();
    }
}

impl RunLock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(directory: impl AsFd, run_dir: &Path, clock: &dyn Clock) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Io { action: "lock", path: run_dir.join(LOCK), source };
        let mut file = files::open_file(directory, LOCK, OFlags::RDWR | OFlags::CREATE).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { run_dir: run_dir.to_owned(), holder: holder(&file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{} since {}", std::process::id(), time::now(clock)));
        // The words are for people; a full disk takes nothing from the lock.
        let _the_lock_is_held = written;
        Ok(Self { held: file })
    }
}

fn holder(file: &File) -> Option<String> {
    let mut words = String::new();
    file.take(LONGEST_HOLDER).read_to_string(&mut words).ok()?;
    let is_plain = words.chars().all(|character| character.is_ascii_graphic() || character == ' ');
    (is_plain && !words.is_empty()).then_some(words)
}
