//! The lock file on disk.
//!
//! Two processes that lock different harnesses must both find their entries in the end, so a change is always made to
//! what is in the file at that moment, by one process at a time.

use std::path::Path;

use fullsend_yaml::{Diagnostic, Location, SourceMap, rules as yaml_rules};
use jiff::Timestamp;

use super::read::{LIMITS, read};
use super::{LockError, LockFile};
use crate::durable::{FileError, Held, create_directory, parent_of, read_regular};

/// The name of the lock file in the fullsend directory.
pub const FILE_NAME: &str = "lock.yaml";

/// It is committed and read by everyone who builds the repository.
const MODE: u32 = 0o644;

/// A lock file that can be used.
#[derive(Debug)]
pub struct Loaded {
    /// Its content; empty when there is no file.
    pub lock: LockFile,
    /// What is odd about it.
    pub warnings: Vec<Diagnostic>,
}

/// What an update did to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The change changed nothing; the file was not touched.
    Unchanged,
    /// The file has the new content.
    Written,
}

/// What came of an update.
#[derive(Debug)]
pub struct Updated<T> {
    /// What the change returned.
    pub value: T,
    /// What happened to the file.
    pub outcome: Outcome,
    /// What was odd about the file before.
    pub warnings: Vec<Diagnostic>,
}

/// Reads the lock file at `path` into `sources`. A missing file is an empty lock file.
///
/// # Errors
/// When the file cannot be read, or what it says cannot be used.
pub fn load(path: &Path, sources: &mut SourceMap) -> Result<Loaded, LockError> {
    let Some(bytes) = read_regular(path, LIMITS.bytes as u64)? else {
        return Ok(Loaded { lock: LockFile::default(), warnings: Vec::new() });
    };
    let read = match String::from_utf8(bytes) {
        Ok(text) => {
            let file = sources.add(path, text);
            read(sources, file)
        }
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            let file = sources.add(path, String::from_utf8_lossy(error.as_bytes()));
            let message = format!("the byte at offset {offset} is not UTF-8");
            let problem =
                Diagnostic::new(&yaml_rules::ENCODING, Location::new(file, offset..offset), message);
            return Err(LockError::invalid(path.to_owned(), sources, vec![problem]));
        }
    };
    match read.lock {
        Some(lock) => Ok(Loaded { lock, warnings: read.problems }),
        None => Err(LockError::invalid(path.to_owned(), sources, read.problems)),
    }
}

/// Changes the lock file at `path`: waits for other writers, reads what is there, applies `change` and replaces the file.
///
/// Directories that are missing are made. `change` should only move values, since other writers wait for it; `now`
/// becomes the date of a new file.
///
/// # Errors
/// When the file cannot be read, used or replaced; it then is as it was.
pub fn update<T>(
    path: &Path,
    now: Timestamp,
    sources: &mut SourceMap,
    change: impl FnOnce(&mut LockFile) -> T,
) -> Result<Updated<T>, LockError> {
    create_directory(parent_of(path))?;
    let held = Held::lock(path)?;
    let Loaded { lock: before, warnings } = load(held.path(), sources)?;
    let mut lock = before.clone();
    let value = change(&mut lock);
    if lock == before {
        return Ok(Updated { value, outcome: Outcome::Unchanged, warnings });
    }
    lock.generated_at.get_or_insert(now);
    held.replace(verified_text(&lock, path)?.as_bytes(), MODE)?;
    Ok(Updated { value, outcome: Outcome::Written, warnings })
}

/// The text of `lock`, once it is certain that it reads as `lock` again.
fn verified_text(lock: &LockFile, path: &Path) -> Result<String, LockError> {
    let text = lock.render();
    if text.len() > LIMITS.bytes {
        return Err(FileError::TooLarge { path: path.to_owned(), limit: LIMITS.bytes as u64 }.into());
    }
    let mut sources = SourceMap::new();
    let file = sources.add(path, text.clone());
    match read(&sources, file).lock {
        Some(again) if again == *lock => Ok(text),
        Some(_) | None => Err(LockError::Inexpressible { path: path.to_owned() }),
    }
}
