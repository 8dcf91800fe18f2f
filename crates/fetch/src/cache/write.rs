//! Storing entries: built aside, flushed, renamed into place.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fullsend_origin::{RemoteUrl, Sha256Digest, TreeDigestBuilder, TreePath};

use super::{
    Cache, CacheError, EntryId, FileMode, Listing, Lookup, METADATA, Metadata, Stored, TREE, TreeFile, files,
};
use crate::unique::unique_name;

/// How often an entry is tried to be put in place while others replace it.
const ATTEMPTS: u32 = 16;

/// What stands where an entry belongs.
#[derive(Debug)]
enum Place {
    /// The entry, complete and intact.
    Intact,
    /// Nothing.
    Free,
    /// Something that is not the entry.
    Broken,
    /// An intact entry of the other kind.
    OtherKind,
}

impl Cache {
    /// Stores `bytes` that came from `url`. If they are cached already, only the record is brought up to date.
    pub fn put_file(&self, url: &RemoteUrl, bytes: &[u8]) -> Result<Stored, CacheError> {
        let digest = Sha256Digest::of(bytes);
        let metadata = Metadata::file(url.as_str(), self.clock.now(), digest);
        self.put(EntryId::File(digest), &metadata, |staging| staging.write(super::CONTENT, bytes))
    }

    /// Stores a directory that came from `url`. If it is cached already, only the record is brought up to date.
    pub fn put_tree(
        &self,
        url: &RemoteUrl,
        tree: &[TreeFile],
        listing: Listing,
    ) -> Result<Stored, CacheError> {
        let digests = digest_files(tree)?;
        let executable = tree.iter().filter(|file| file.mode == FileMode::Executable);
        let executable: BTreeSet<String> = executable.map(|file| file.path.to_string()).collect();
        let id = EntryId::Tree(digests.finish());
        let metadata = Metadata::tree(url.as_str(), self.clock.now(), &digests, listing, executable);
        self.put(id, &metadata, |staging| staging.write_tree(tree))
    }

    /// Moves a corrupt or incomplete entry out of the way, so that it can be stored again.
    ///
    /// Gives the place it was moved to, or `None` when there is nothing wrong (any more) at the entry's place. What
    /// was moved aside is kept for inspection until the next [`gc`](Self::gc) finds it old.
    pub fn quarantine(&self, id: EntryId) -> Result<Option<PathBuf>, CacheError> {
        let _guard = self.lock(super::REPAIR_LOCK)?;
        if !matches!(self.place(id)?, Place::Broken) {
            return Ok(None);
        }
        self.take_out(id, "quarantine")
    }

    /// Renames an entry into `tmp/`; `None` when it is gone already.
    pub(super) fn take_out(&self, id: EntryId, why: &str) -> Result<Option<PathBuf>, CacheError> {
        let from = self.entry_path(id);
        let to = self.ensure_tmp()?.join(format!("{why}-{}-{}", id.digest(), unique_name()));
        match fs::rename(&from, &to) {
            Ok(()) => Ok(Some(to)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CacheError::io("move aside", &from)(error)),
        }
    }

    /// Builds an entry unless it is there already, and puts it in place.
    fn put(
        &self,
        id: EntryId,
        metadata: &Metadata,
        fill: impl FnOnce(&Staging) -> Result<(), CacheError>,
    ) -> Result<Stored, CacheError> {
        let stored = Stored { id, path: self.body_path(id) };
        self.ensure_entries_dir()?;
        let text = metadata.to_text()?;
        if matches!(self.place(id)?, Place::Intact) && self.refresh(id, &text)? {
            return Ok(stored);
        }
        let staging = Staging::create(&self.ensure_tmp()?)?;
        fill(&staging)?;
        staging.write(METADATA, text.as_bytes())?;
        staging.sync(Path::new(""))?;
        self.install(id, &staging, &text)?;
        Ok(stored)
    }

    /// Renames a finished entry to its place, or finds that somebody else was faster.
    fn install(&self, id: EntryId, staging: &Staging, text: &str) -> Result<(), CacheError> {
        let target = self.entry_path(id);
        for _ in 0..ATTEMPTS {
            match fs::rename(&staging.path, &target) {
                Ok(()) => {
                    let parent = self.entries_path();
                    return files::sync_dir(&parent).map_err(CacheError::io("flush", &parent));
                }
                Err(error) if is_occupied(&error) => {}
                Err(error) => return Err(CacheError::io("create", &target)(error)),
            }
            match self.place(id)? {
                Place::Intact if self.refresh(id, text)? => return Ok(()),
                Place::Intact | Place::Free => {}
                Place::Broken => drop(self.quarantine(id)?),
                Place::OtherKind => return Err(CacheError::KindConflict { digest: id.digest() }),
            }
        }
        Err(CacheError::Contended { digest: id.digest() })
    }

    /// Looks at an entry's place, verifying what is there.
    fn place(&self, id: EntryId) -> Result<Place, CacheError> {
        match self.verify(id)? {
            Lookup::Hit(_) => return Ok(Place::Intact),
            Lookup::Corrupt(_) => return Ok(Place::Broken),
            Lookup::Miss => {}
        }
        let path = self.entry_path(id);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::Free),
            Err(error) => return Err(CacheError::io("look at", &path)(error)),
            Ok(_) => {}
        }
        let other = match id {
            EntryId::File(digest) => digest.to_string().parse().map(EntryId::Tree),
            EntryId::Tree(digest) => Ok(EntryId::File(digest.as_sha256())),
        };
        match other.map(|other| self.verify(other)) {
            Ok(Ok(Lookup::Hit(_))) => Ok(Place::OtherKind),
            Ok(Err(error)) => Err(error),
            Ok(Ok(Lookup::Miss | Lookup::Corrupt(_))) | Err(_) => Ok(Place::Broken),
        }
    }

    /// Replaces the record of an intact entry; `false` when the entry went away meanwhile.
    fn refresh(&self, id: EntryId, text: &str) -> Result<bool, CacheError> {
        let fresh = self.ensure_tmp()?.join(unique_name());
        files::write_new(&fresh, text.as_bytes()).map_err(CacheError::io("write", &fresh))?;
        let target = self.entry_path(id).join(METADATA);
        match fs::rename(&fresh, &target) {
            Ok(()) => Ok(true),
            Err(error) => {
                // Best effort: a leftover is swept by the next collection.
                let _ = fs::remove_file(&fresh);
                if error.kind() == io::ErrorKind::NotFound {
                    Ok(false)
                } else {
                    Err(CacheError::io("replace", &target)(error))
                }
            }
        }
    }
}

/// Whether something stands where a directory was to be renamed to.
fn is_occupied(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let codes = [Errno::EXIST, Errno::NOTEMPTY, Errno::NOTDIR];
    codes.iter().any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}

/// The digests of all files, refusing sets that are not a directory.
fn digest_files(tree: &[TreeFile]) -> Result<TreeDigestBuilder, CacheError> {
    let mut digests = TreeDigestBuilder::new();
    for file in tree {
        digests.add(file.path.clone(), Sha256Digest::of(&file.bytes))?;
    }
    if digests.is_empty() {
        return Err(CacheError::EmptyTree);
    }
    let paths: BTreeSet<&str> = tree.iter().map(|file| file.path.as_str()).collect();
    let clash = tree.iter().flat_map(|file| ancestors(&file.path)).find(|parent| paths.contains(parent));
    match clash {
        Some(path) => Err(CacheError::PathClash { path: path.to_owned() }),
        None => Ok(digests),
    }
}

/// Every directory above a path, inside the tree.
pub(super) fn ancestors(path: &TreePath) -> impl Iterator<Item = &str> {
    let text = path.as_str();
    text.match_indices('/').filter_map(|(at, _)| text.get(..at))
}

/// An entry under construction; removed when dropped before it was renamed away.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
}

impl Staging {
    /// A new directory in `tmp`.
    pub(super) fn create(tmp: &Path) -> Result<Self, CacheError> {
        let path = tmp.join(unique_name());
        files::ensure_dir(&path).map_err(CacheError::io("create", &path))?;
        Ok(Self { path })
    }

    /// Writes one file.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), CacheError> {
        let path = self.path.join(name);
        files::write_new(&path, bytes).map_err(CacheError::io("write", &path))
    }

    /// Writes all files of a directory entry.
    fn write_tree(&self, tree: &[TreeFile]) -> Result<(), CacheError> {
        let directories: BTreeSet<&str> = tree.iter().flat_map(|file| ancestors(&file.path)).collect();
        // In byte order a directory comes before what is inside it.
        for directory in std::iter::once("").chain(directories.iter().copied()) {
            let path = self.path.join(TREE).join(directory);
            files::ensure_dir(&path).map_err(CacheError::io("create", &path))?;
        }
        for file in tree {
            self.write(&format!("{TREE}/{}", file.path), &file.bytes)?;
        }
        for directory in std::iter::once("").chain(directories) {
            self.sync(&Path::new(TREE).join(directory))?;
        }
        Ok(())
    }

    /// Flushes the names in a directory.
    fn sync(&self, directory: &Path) -> Result<(), CacheError> {
        let path = self.path.join(directory);
        files::sync_dir(&path).map_err(CacheError::io("flush", &path))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a successful rename there is nothing here; otherwise a leftover is swept by the next collection.
        let _ = fs::remove_dir_all(&self.path);
    }
}
