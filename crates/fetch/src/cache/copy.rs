//! Copies of cached directories for consumers that need their own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fullsend_origin::TreeDigest;

use super::read::{Halt, Opened, Step};
use super::{Cache, CacheError, Corruption, EntryId, FileMode, Lookup, TreeHit, files, tree, write};

/// For programs, in a copy that belongs to one consumer.
const PROGRAM_MODE: u32 = 0o700;

impl Cache {
    /// Copies a directory to `target`, which must not exist, and verifies every byte as it is copied.
    ///
    /// Files that were programs at their source are executable in the copy. When the entry turns out to be corrupt,
    /// `target` is removed again.
    pub fn copy_tree(&self, digest: &TreeDigest, target: &Path) -> Result<Lookup<TreeHit>, CacheError> {
        let found = match self.get_tree(digest)? {
            Lookup::Hit(hit) => hit,
            other @ (Lookup::Miss | Lookup::Corrupt(_)) => return Ok(other),
        };
        fs::create_dir(target).map_err(CacheError::io("create", target))?;
        let copied = self.read_stable(EntryId::Tree(*digest), |opened| copy_files(&opened, &found, target));
        if !matches!(copied, Ok(Lookup::Hit(()))) {
            // Best effort: the caller learns below that the copy must not be used.
            let _ = fs::remove_dir_all(target);
        }
        Ok(copied?.map(|()| TreeHit { dir: target.to_owned(), ..found }))
    }
}

/// Copies the files that were verified, comparing each with its digest.
fn copy_files(opened: &Opened, found: &TreeHit, target: &Path) -> Step<()> {
    let root = tree::open_tree(opened, &found.dir)?;
    // A second attempt starts over.
    fs::remove_dir_all(target).map_err(CacheError::io("empty", target))?;
    files::ensure_dir(target).map_err(CacheError::io("create", target))?;
    for file in &found.files {
        for directory in write::ancestors(&file.path) {
            let path = target.join(directory);
            files::ensure_dir(&path).map_err(CacheError::io("create", &path))?;
        }
        let source = found.dir.join(file.path.as_str());
        let damaged = || Halt::from(Corruption::NotRegular { path: file.path.to_string() });
        let opened = files::open_below(&root, &file.path).map_err(CacheError::io("open", &source))?;
        let mut opened = opened.ok_or_else(damaged)?;
        let (bytes, digest) = files::read_hashed(&mut opened).map_err(CacheError::io("read", &source))?;
        if digest != file.digest {
            return Err(Corruption::Content { found: digest }.into());
        }
        let path = target.join(file.path.as_str());
        files::write_new(&path, &bytes).map_err(CacheError::io("write", &path))?;
        if file.mode == FileMode::Executable {
            let program = Permissions::from_mode(PROGRAM_MODE);
            fs::set_permissions(&path, program).map_err(CacheError::io("set the mode of", &path))?;
        }
    }
    Ok(())
}
