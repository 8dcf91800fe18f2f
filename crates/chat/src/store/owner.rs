//! Which processes use a database, by locks that the kernel drops when a process dies.
//!
//! Every process holds a lock on a file of its own beside the database. A turn says whose it is, so that the next
//! process knows whether anybody still makes it. Process ids are of no use for that: they are given out again, and
//! mean nothing in another container.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use uuid::Uuid;

use super::error::StoreError;

/// This process, as a user of a database.
#[derive(Debug)]
pub(super) struct Owner {
    id: String,
    /// None where the database is private.
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    /// What the names of all such files begin with.
    stem: OsString,
    path: PathBuf,
    /// Locked as long as this lives.
    _lock: File,
}

impl Owner {
    /// The only user of a private database.
    pub(super) fn alone() -> Self {
        Self { id: Uuid::new_v4().to_string(), shown: None }
    }

    /// Shows that this process uses the database `file`, a real path: two names of one database must lead to the same
    /// files. Removes what dead processes have left.
    pub(super) fn beside(file: &Path) -> Result<Self, StoreError> {
        let mut stem = file.as_os_str().to_owned();
        stem.push("-owner-");
        sweep(file, &stem);
        loop {
            let id = Uuid::new_v4().to_string();
            let path = path_of(&stem, &id);
            match lock_new(&path) {
                Ok(Some(lock)) => return Ok(Self { id, shown: Some(Shown { stem, path, _lock: lock }) }),
                // Somebody swept it before it was locked.
                Ok(None) => {}
                Err(source) => return Err(StoreError::Owner { path, source }),
            }
        }
    }

    /// The name under which turns of this process are kept.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether the process of that name may still be there. What cannot be found out counts as living: to declare the turn
    /// of a living process dead would give it two ends.
    pub(super) fn is_alive(&self, id: &str) -> bool {
        if id == self.id {
            return true;
        }
        // The name comes out of a file, and goes into a path.
        let (Some(shown), Ok(id)) = (&self.shown, Uuid::parse_str(id)) else { return false };
        is_held(&path_of(&shown.stem, &id.to_string()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(shown) = &self.shown {
            let _swept_by_the_next = fs::remove_file(&shown.path);
        }
    }
}

fn path_of(stem: &OsString, id: &str) -> PathBuf {
    let mut path = stem.clone();
    path.push(id);
    path.into()
}

/// Makes a file and locks it. None if it was removed in between.
fn lock_new(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok((file.metadata()?.nlink() > 0).then_some(file))
}

/// Whether somebody holds the lock. Those who ask take it as one of many: two who ask at once do not take each other for
/// the owner.
fn is_held(path: &Path) -> bool {
    match open_existing(path) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_err(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn open_existing(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Removes the files of processes that are gone. What cannot be removed is nobody's harm.
fn sweep(file: &Path, stem: &OsString) {
    let Some(entries) = file.parent().and_then(|directory| fs::read_dir(directory).ok()) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if !is_owner_file(&path, stem) {
            continue;
        }
        // Held while the file is removed: one who has just made it waits for the lock, then sees that it is gone.
        let Ok(lock) = open_existing(&path) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
            let _harmless = fs::remove_file(&path);
        }
    }
}

fn is_owner_file(path: &Path, stem: &OsString) -> bool {
    let rest = path.as_os_str().as_encoded_bytes().strip_prefix(stem.as_encoded_bytes());
    rest.is_some_and(|id| Uuid::try_parse_ascii(id).is_ok())
}
