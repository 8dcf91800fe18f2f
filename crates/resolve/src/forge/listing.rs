//! What a listing may hold.
//!
//! A listing is written by whoever controls the repository or the server. Its paths become paths of files here, so
//! every one is read as a [`TreePath`], which has no `..`, no root, no control characters; and anything that is not
//! plainly a file or a directory ends the matter.

use std::collections::{BTreeMap, BTreeSet};

use fullsend_fetch::cache::FileMode;
use fullsend_origin::{TreeError, TreePath};
use serde::Deserialize;

use super::{BlobId, EntryKind, ForgeError, ListedFile, ListingFault, TreeLimits};

/// Stands where bytes were that are not UTF-8.
const REPLACEMENT: char = '\u{fffd}';

/// An entry as both forges write it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entry {
    /// Its path: with GitHub below the tree that was asked for, with GitLab from the top of the repository.
    pub(super) path: String,
    /// Six octal digits.
    pub(super) mode: String,
    /// `blob`, `tree` or `commit`.
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The id of its object.
    #[serde(alias = "sha")]
    pub(super) id: String,
    /// The size of a file, from GitHub.
    #[serde(default)]
    pub(super) size: Option<u64>,
}

/// What an entry turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// A plain file.
    File(ListedFile),
    /// A directory, with its path and its object id.
    Directory(TreePath, String),
}

impl Entry {
    /// Checks everything about the entry alone. `path` is its path below the directory.
    pub(super) fn check(self, path: String) -> Result<Checked, ForgeError> {
        let tree_path = match checked_path(&path) {
            Ok(tree_path) => tree_path,
            Err(source) => return Err(ForgeError::Listing { path, source }),
        };
        let kind = match (self.kind.as_str(), self.mode.as_str()) {
            // 100664 was written by early versions of git.
            ("blob", "100644" | "100664") => Ok(Some(FileMode::Regular)),
            ("blob", "100755") => Ok(Some(FileMode::Executable)),
            ("tree", "040000") => Ok(None),
            ("blob", "120000") => Err(EntryKind::Symlink),
            ("commit", "160000") => Err(EntryKind::Submodule),
            (_, _) => Err(EntryKind::Special { mode: self.mode }),
        };
        let blob = match BlobId::parse(&self.id) {
            Ok(blob) => blob,
            Err(_) => return Err(ForgeError::Listing { path, source: ListingFault::Id }),
        };
        match kind {
            Ok(Some(mode)) => Ok(Checked::File(ListedFile { path: tree_path, mode, size: self.size, blob })),
            Ok(None) => Ok(Checked::Directory(tree_path, self.id)),
            Err(kind) => Err(ForgeError::Entry { path, kind }),
        }
    }
}

/// Reads the path of an entry.
fn checked_path(path: &str) -> Result<TreePath, ListingFault> {
    let tree_path = TreePath::parse(path)?;
    if path.contains(REPLACEMENT) {
        return Err(ListingFault::NotUtf8);
    }
    // Git itself never stores such a path: whoever works in the directory would run the hooks in there.
    if tree_path.segments().any(|segment| segment.eq_ignore_ascii_case(".git")) {
        return Err(ListingFault::Git);
    }
    Ok(tree_path)
}

/// The files of a directory, as the listing goes on.
#[derive(Debug)]
pub(super) struct Listing<'a> {
    limits: &'a TreeLimits,
    files: BTreeMap<TreePath, ListedFile>,
    directories: BTreeSet<TreePath>,
    bytes: u64,
}

impl<'a> Listing<'a> {
    /// Nothing yet.
    pub(super) fn new(limits: &'a TreeLimits) -> Self {
        Self { limits, files: BTreeMap::new(), directories: BTreeSet::new(), bytes: 0 }
    }

    /// Adds a file. Limits are checked at once, so that an endless listing ends here.
    pub(super) fn add(&mut self, file: ListedFile) -> Result<(), ForgeError> {
        if self.files.len() >= self.limits.max_files {
            return Err(ForgeError::TooManyFiles { limit: self.limits.max_files });
        }
        self.bytes = self.bytes.saturating_add(file.size.unwrap_or(0));
        if self.bytes > self.limits.max_bytes {
            return Err(ForgeError::TooManyBytes { limit: self.limits.max_bytes });
        }
        let path = file.path.clone();
        match self.files.insert(path.clone(), file) {
            None => Ok(()),
            Some(_) => {
                let source = TreeError::DuplicatePath { path: path.clone() }.into();
                Err(ForgeError::Listing { path: path.to_string(), source })
            }
        }
    }

    /// Adds a directory.
    pub(super) fn add_directory(&mut self, path: TreePath) {
        self.directories.insert(path);
    }

    /// All files in order.
    ///
    /// No file may stand where another needs a directory, and every directory must have files: git keeps no others, so
    /// a directory without any means that the listing is not complete.
    pub(super) fn finish(self) -> Result<Vec<ListedFile>, ForgeError> {
        let mut missing = self.directories;
        for path in self.files.keys() {
            for parent in parents(path) {
                if self.files.contains_key(&parent) {
                    let path = parent.to_string();
                    return Err(ForgeError::Listing { path, source: ListingFault::FileAndDirectory });
                }
                missing.remove(&parent);
            }
        }
        match missing.pop_first() {
            Some(path) => {
                Err(ForgeError::Listing { path: path.to_string(), source: ListingFault::Incomplete })
            }
            None => Ok(self.files.into_values().collect()),
        }
    }
}

/// The directories around a file, from the top down.
fn parents(path: &TreePath) -> impl Iterator<Item = TreePath> {
    let text = path.as_str();
    text.match_indices('/').filter_map(move |(at, _)| TreePath::parse(text.get(..at)?).ok())
}

#[cfg(test)]
mod tests;
