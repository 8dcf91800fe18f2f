//! Human names for cached content.
//!
//! Some consumers go by file names: parsers chosen by extension, skills named after their directory. The content
//! keeps its fixed name, and a relative link beside it carries the other one.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use fullsend_origin::RemoteUrl;

use super::{CONTENT, Cache, CacheError, EntryId, METADATA, TREE};
use crate::unique::unique_name;

/// A name for a file entry that keeps the extension of the URL: `content.md`. `None` without an extension.
pub fn content_name(url: &RemoteUrl) -> Option<String> {
    let name = url.base_name()?;
    let extension = Path::new(&name).extension()?.to_str()?;
    let plain = extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| format!("{CONTENT}.{extension}"))
}

impl Cache {
    /// The path of the entry's content under the name `name`, through a link that is created if need be.
    ///
    /// Names that cannot or need not be linked (empty, `.`, `..`, and the names an entry uses itself) give the plain
    /// path. A wrong link or a file of that name is replaced atomically, so that many callers may ask at once.
    pub fn named_path(&self, id: EntryId, name: &str) -> Result<PathBuf, CacheError> {
        let plain = self.body_path(id);
        if matches!(name, "" | "." | ".." | METADATA | CONTENT | TREE) {
            return Ok(plain);
        }
        if name.contains(['/', '\\']) || name.chars().any(char::is_control) {
            return Err(CacheError::LinkName { name: name.to_owned() });
        }
        self.refuse_missing(id)?;
        let link = self.entry_path(id).join(name);
        match fs::symlink_metadata(&link) {
            Ok(found) if found.is_dir() => return Err(CacheError::LinkBlocked { path: link }),
            Ok(_) | Err(_) => {}
        }
        if fs::read_link(&link).is_ok_and(|target| target == Path::new(id.body())) {
            return Ok(link);
        }
        self.replace_link(id, &link)?;
        Ok(link)
    }

    /// Fails when the entry is not a directory of its own.
    fn refuse_missing(&self, id: EntryId) -> Result<(), CacheError> {
        match fs::symlink_metadata(self.entry_path(id)) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(CacheError::Escapes { path: self.entry_path(id) }),
            Err(_) => Err(CacheError::NoEntry { digest: id.digest() }),
        }
    }

    /// Puts a new link in place of whatever has the name.
    fn replace_link(&self, id: EntryId, link: &Path) -> Result<(), CacheError> {
        let fresh = self.ensure_tmp()?.join(unique_name());
        symlink(id.body(), &fresh).map_err(CacheError::io("create", &fresh))?;
        fs::rename(&fresh, link).map_err(|error| {
            // Best effort: a leftover is swept by the next collection.
            let _ = fs::remove_file(&fresh);
            if error.kind() == io::ErrorKind::IsADirectory {
                CacheError::LinkBlocked { path: link.to_owned() }
            } else {
                CacheError::io("replace", link)(error)
            }
        })
    }
}
