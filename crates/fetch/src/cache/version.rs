//! The version of the layout.
//!
//! Programs of different ages share one cache. Should the layout ever change, an older program must notice instead of
//! reading or sweeping what it does not understand.

use std::fs;
use std::io;

use super::{Cache, CacheError, files};
use crate::unique::unique_name;

/// The file in the cache directory. A cache without it has the first layout.
const FILE: &str = "version";
/// What this program reads and writes.
const CURRENT: &str = "1";
/// No version takes more bytes.
const LIMIT: u64 = 64;

impl Cache {
    /// Refuses a cache of another layout.
    pub(super) fn check_version(&self) -> Result<(), CacheError> {
        let path = self.root.join(FILE);
        match files::read_small(&path, LIMIT) {
            Ok(Some(text)) if text.trim_ascii() == CURRENT.as_bytes() => Ok(()),
            Ok(text) => {
                let found = String::from_utf8_lossy(&text.unwrap_or_default()).trim().to_owned();
                Err(CacheError::Version { found })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(CacheError::io("read", &path)(error)),
        }
    }

    /// Marks a cache with the current layout, if it has no mark.
    pub(super) fn mark_version(&self) -> Result<(), CacheError> {
        let path = self.root.join(FILE);
        if fs::symlink_metadata(&path).is_ok() {
            return self.check_version();
        }
        let fresh = self.ensure_tmp()?.join(unique_name());
        let text = format!("{CURRENT}\n");
        files::write_new(&fresh, text.as_bytes()).map_err(CacheError::io("write", &fresh))?;
        fs::rename(&fresh, &path).map_err(CacheError::io("create", &path))
    }
}
