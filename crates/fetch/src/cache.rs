//! The content-addressed cache: what was verified once is found again by its digest.
//!
//! ```text
//! <workspace>/.fullsend-cache/                 0700
//! ├── url-index.json                           0600   digests by URL, see `UrlIndex`
//! ├── version                                  0600   of this layout
//! ├── tmp/                                     0700   entries being built or moved aside, and locks
//! └── resources/sha256/<digest>/               0700
//!     ├── content                              0600   a file …
//!     ├── tree/                                0700   … or a directory
//!     ├── metadata.json                        0600
//!     └── <name> -> content | tree                    see `Cache::named_path`
//! ```
//!
//! An entry is built as a whole in `tmp/`, flushed to disk and renamed into place. A process that dies at any moment
//! leaves either no entry or a complete one, and temporary files never lie where entries are verified. Any number of
//! processes may use one cache.
//!
//! Files in the cache never become executable or get other names: what two users share, neither may change. The
//! record of a directory notes which files were programs at their source, [`Cache::copy_tree`] applies that to a
//! copy.
//!
//! All calls block on the file system; async callers use a blocking thread.

mod copy;
mod entry;
mod error;
pub(crate) mod files;
mod metadata;
mod named;
mod read;
mod tree;
mod upkeep;
mod url_index;
mod version;
mod write;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use entry::{EntryId, FileHit, FileMode, Listing, Lookup, Stored, TreeFile, TreeFileInfo, TreeHit};
pub use error::{CacheError, Corruption};
pub use metadata::{FileRecord, Metadata};
pub use named::content_name;
pub use upkeep::{GcReport, Health, Listed, Parallel, VerifyReport};
pub use url_index::{IndexState, UrlIndex};

use crate::clock::{Clock, SystemClock};

/// The name of the cache in its workspace.
pub const CACHE_DIR: &str = ".fullsend-cache";
/// The bytes of a file entry.
const CONTENT: &str = "content";
/// The files of a directory entry.
const TREE: &str = "tree";
/// The record of an entry.
const METADATA: &str = "metadata.json";
/// Directories from the cache down to the entries.
const TO_ENTRIES: [&str; 2] = ["resources", "sha256"];
/// Where entries are built.
const TMP: &str = "tmp";
/// Held while an entry is judged and taken out, so that a freshly stored one is not taken for the old one.
const REPAIR_LOCK: &str = "repair.lock";

/// A cache of verified content.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    clock: Arc<dyn Clock>,
    threads: usize,
}

impl Cache {
    /// The cache of `workspace`, at `<workspace>/.fullsend-cache`. Nothing is created before something is stored.
    pub fn open(workspace: &Path) -> Result<Self, CacheError> {
        Self::with_clock(workspace, Arc::new(SystemClock))
    }

    /// Like [`open`](Self::open), with another clock for fetch times and ages.
    pub fn with_clock(workspace: &Path, clock: Arc<dyn Clock>) -> Result<Self, CacheError> {
        let workspace = std::path::absolute(workspace).map_err(CacheError::io("find", workspace))?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let cache = Self { root: workspace.join(CACHE_DIR), clock, threads };
        cache.entries_dir()?;
        cache.check_version()?;
        Ok(cache)
    }

    /// The directory of the cache, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the entry is or would be.
    pub fn entry_path(&self, id: EntryId) -> PathBuf {
        self.entries_path().join(id.digest().to_string())
    }

    /// Where the content of the entry is or would be.
    pub fn body_path(&self, id: EntryId) -> PathBuf {
        self.entry_path(id).join(id.body())
    }

    /// The directory of all entries.
    fn entries_path(&self) -> PathBuf {
        TO_ENTRIES.iter().fold(self.root.clone(), |path, name| path.join(name))
    }

    /// Opens the directory of all entries, if there is one, refusing links on the way.
    fn entries_dir(&self) -> Result<Option<OwnedFd>, CacheError> {
        let mut path = self.root.clone();
        let mut directory = match optional(files::open_root(&path), &path)? {
            Some(directory) => directory,
            None => return Ok(None),
        };
        for name in TO_ENTRIES {
            path.push(name);
            directory = match optional(files::open_dir(&directory, name), &path)? {
                Some(directory) => directory,
                None => return Ok(None),
            };
        }
        Ok(Some(directory))
    }

    /// Like [`entries_dir`](Self::entries_dir), creating it.
    fn ensure_entries_dir(&self) -> Result<OwnedFd, CacheError> {
        let mut path = self.root.clone();
        ensure_real_dir(&path)?;
        for name in TO_ENTRIES {
            path.push(name);
            ensure_real_dir(&path)?;
        }
        self.mark_version()?;
        self.entries_dir()?.ok_or(CacheError::Escapes { path })
    }

    /// The directory for temporary files, created if need be.
    fn ensure_tmp(&self) -> Result<PathBuf, CacheError> {
        let path = self.root.join(TMP);
        ensure_real_dir(&self.root)?;
        ensure_real_dir(&path)?;
        Ok(path)
    }

    /// Holds a lock of the cache until the file is dropped.
    fn lock(&self, name: &str) -> Result<std::fs::File, CacheError> {
        let path = self.ensure_tmp()?.join(name);
        let file = files::open_append(&path).map_err(CacheError::io("open", &path))?;
        file.lock().map_err(CacheError::io("lock", &path))?;
        Ok(file)
    }
}

/// Creates a directory with its parents above the cache, and refuses a link in its place.
pub(crate) fn ensure_real_dir(path: &Path) -> Result<(), CacheError> {
    let created = match files::ensure_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().unwrap_or(path);
            std::fs::create_dir_all(parent).and_then(|()| files::ensure_dir(path))
        }
        result => result,
    };
    created.map_err(CacheError::io("create", path))?;
    optional(files::open_root(path), path).map(drop)
}

/// Turns "not there" into `None` and "a link or file" into its own error.
fn optional(opened: io::Result<OwnedFd>, path: &Path) -> Result<Option<OwnedFd>, CacheError> {
    match opened {
        Ok(directory) => Ok(Some(directory)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if read::is_not_a_directory(&error) => Err(CacheError::Escapes { path: path.to_owned() }),
        Err(error) => Err(CacheError::io("open", path)(error)),
    }
}
