//! What the cache gives out.

use std::path::PathBuf;

use fullsend_origin::{Sha256Digest, TreeDigest, TreePath};

use super::{Corruption, Metadata};

/// Names an entry and says of which kind it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryId {
    /// One file, by the digest of its bytes.
    File(Sha256Digest),
    /// A directory, by its tree digest.
    Tree(TreeDigest),
}

impl EntryId {
    /// The digest that is also the name of the entry's directory.
    pub const fn digest(&self) -> Sha256Digest {
        match self {
            Self::File(digest) => *digest,
            Self::Tree(digest) => digest.as_sha256(),
        }
    }

    /// The name of the content inside the entry.
    pub const fn body(&self) -> &'static str {
        match self {
            Self::File(_) => super::CONTENT,
            Self::Tree(_) => super::TREE,
        }
    }
}

/// The answer to a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a corrupt entry must be refused or replaced"]
pub enum Lookup<T> {
    /// The entry is there and every byte was verified just now.
    Hit(T),
    /// There is no complete entry.
    Miss,
    /// There is an entry, but not with the content asked for.
    Corrupt(Corruption),
}

impl<T> Lookup<T> {
    /// The entry, if it was found intact.
    pub fn hit(self) -> Option<T> {
        match self {
            Self::Hit(entry) => Some(entry),
            Self::Miss | Self::Corrupt(_) => None,
        }
    }

    /// The same answer with another view of a found entry.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Lookup<U> {
        match self {
            Self::Hit(entry) => Lookup::Hit(change(entry)),
            Self::Miss => Lookup::Miss,
            Self::Corrupt(reason) => Lookup::Corrupt(reason),
        }
    }
}

/// A verified file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHit {
    /// The bytes, exactly those that were verified.
    pub bytes: Vec<u8>,
    /// Where the file is. Others may write there; prefer [`bytes`](Self::bytes).
    pub path: PathBuf,
    /// Where it came from.
    pub metadata: Metadata,
}

/// A verified directory.
///
/// The files were intact when they were looked at. Whoever hands them to something that must not see later changes
/// copies them with [`Cache::copy_tree`](super::Cache::copy_tree), which verifies what it copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHit {
    /// Where the files are.
    pub dir: PathBuf,
    /// The files in byte order of their paths.
    pub files: Vec<TreeFileInfo>,
    /// Where they came from.
    pub metadata: Metadata,
}

/// One verified file of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFileInfo {
    /// Its path below the directory.
    pub path: TreePath,
    /// The digest of its bytes.
    pub digest: Sha256Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it was executable where it came from.
    pub mode: FileMode,
}

/// Whether a file is a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileMode {
    /// Data.
    #[default]
    Regular,
    /// A program or script. Recorded only: files in the cache never carry the bit themselves.
    Executable,
}

/// One file to be stored as part of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Its path below the directory.
    pub path: TreePath,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is executable where it comes from.
    pub mode: FileMode,
}

impl TreeFile {
    /// A file that is not executable.
    pub fn new(path: TreePath, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path, bytes: bytes.into(), mode: FileMode::Regular }
    }

    /// The same file, executable.
    #[must_use]
    pub fn executable(mut self) -> Self {
        self.mode = FileMode::Executable;
        self
    }
}

/// Whether the files of a directory are known to be all there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// Nothing is recorded.
    #[default]
    Unstated,
    /// The metadata records that the listing is complete.
    Full,
}

/// An entry that is in the cache now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name and kind.
    pub id: EntryId,
    /// The file, or the directory with the files.
    pub path: PathBuf,
}
