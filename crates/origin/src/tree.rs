//! One digest for a whole directory.
//!
//! A skill is a directory, and its pin must change when any file is added, removed, renamed or edited. The digest is
//! taken over lines `path:sha256(content)`. A file *name* holding a newline could forge such a line, so that one file
//! passes for two reviewed ones; [`TreePath`] refuses control characters, which makes the lines unambiguous. It also
//! refuses every spelling (`./a`, `a//b`, `a/../b`, `/a`) that a file system would read as another path.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::digest::{DigestError, Sha256Digest, Sha256Hasher};

/// The path of a file inside a directory tree: relative, `/`-separated and with one spelling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(String);

impl TreePath {
    /// Checks `text` and wraps it.
    pub fn parse(text: &str) -> Result<Self, TreeError> {
        if text.is_empty() {
            return Err(TreeError::EmptyPath);
        }
        if let Some((offset, byte)) = text.bytes().enumerate().find(|(_, byte)| byte.is_ascii_control()) {
            return Err(TreeError::ControlByte { byte, offset });
        }
        if text.starts_with('/') {
            return Err(TreeError::AbsolutePath { path: text.to_owned() });
        }
        match text.split('/').find(|segment| matches!(*segment, "" | "." | "..")) {
            None => Ok(Self(text.to_owned())),
            Some(segment) => {
                Err(TreeError::SpecialSegment { path: text.to_owned(), segment: segment.to_owned() })
            }
        }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments from the top of the tree down; none is empty, `.` or `..`.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for TreePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for TreePath {
    type Err = TreeError;

    fn from_str(text: &str) -> Result<Self, TreeError> {
        Self::parse(text)
    }
}

/// The digest of a directory tree: its file paths and file contents, nothing else.
///
/// Modes, times, empty directories and the name of the directory itself do not take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeDigest(Sha256Digest);

impl TreeDigest {
    /// The digest of the given files, in any order. A path that occurs twice is refused.
    pub fn of(files: impl IntoIterator<Item = (TreePath, Sha256Digest)>) -> Result<Self, TreeError> {
        let mut builder = TreeDigestBuilder::new();
        for (path, content) in files {
            builder.add(path, content)?;
        }
        Ok(builder.finish())
    }

    /// The digest in the form that pins carry.
    pub const fn as_sha256(&self) -> Sha256Digest {
        self.0
    }
}

impl fmt::Display for TreeDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TreeDigest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        text.parse().map(Self)
    }
}

impl From<TreeDigest> for Sha256Digest {
    fn from(tree: TreeDigest) -> Self {
        tree.0
    }
}

/// Collects the files of a tree one by one.
#[derive(Clone, Debug, Default)]
pub struct TreeDigestBuilder {
    files: BTreeMap<TreePath, Sha256Digest>,
}

impl TreeDigestBuilder {
    /// A tree without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the file at `path` whose content has the digest `content`.
    pub fn add(&mut self, path: TreePath, content: Sha256Digest) -> Result<(), TreeError> {
        if self.files.contains_key(&path) {
            return Err(TreeError::DuplicatePath { path });
        }
        self.files.insert(path, content);
        Ok(())
    }

    /// Whether no file was added. Such a tree has a digest but is never worth storing.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files by path, in byte order of the path.
    pub fn files(&self) -> impl Iterator<Item = (&TreePath, Sha256Digest)> {
        self.files.iter().map(|(path, content)| (path, *content))
    }

    /// The digest of all files added.
    pub fn finish(&self) -> TreeDigest {
        let mut entries: Vec<String> =
            self.files.iter().map(|(path, content)| format!("{path}:{content}")).collect();
        // Whole entries, not paths: the `:` takes part, so `foo-bar` and `foo/x` sort before `foo`. Pins in the
        // field depend on this order.
        entries.sort_unstable();
        let mut hasher = Sha256Hasher::new();
        hasher.update(entries.join("\n").as_bytes());
        hasher.update(b"\n");
        TreeDigest(hasher.finish())
    }
}

/// Why a set of files is not a tree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The path is empty.
    #[error("the path of a file in a tree is empty")]
    EmptyPath,
    /// The path starts with `/`.
    #[error("`{path}` is absolute; paths in a tree are relative to its top")]
    AbsolutePath {
        /// The path as given.
        path: String,
    },
    /// A segment is empty, `.` or `..`.
    #[error("`{path}` has the segment `{segment}`, so it is a second spelling of another path")]
    SpecialSegment {
        /// The path as given.
        path: String,
        /// The first such segment; empty for `//` and for a `/` at the end.
        segment: String,
    },
    /// The path holds a control character, which could forge an entry of the tree.
    #[error("the path holds the control byte 0x{byte:02x} at offset {offset}")]
    ControlByte {
        /// The first such byte.
        byte: u8,
        /// Its offset.
        offset: usize,
    },
    /// Two files have the same path.
    #[error("`{path}` occurs twice in the tree")]
    DuplicatePath {
        /// The path.
        path: TreePath,
    },
}

impl TreeError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::EmptyPath => "tree-path-empty",
            Self::AbsolutePath { .. } => "tree-path-absolute",
            Self::SpecialSegment { .. } => "tree-path-segment",
            Self::ControlByte { .. } => "tree-path-control-byte",
            Self::DuplicatePath { .. } => "tree-path-duplicate",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::EmptyPath | Self::DuplicatePath { .. } => None,
            Self::AbsolutePath { path } => Some(format!("write `{}`", path.trim_start_matches('/'))),
            Self::SpecialSegment { .. } => {
                Some("write the path without `.`, `..` and empty segments".to_owned())
            }
            Self::ControlByte { .. } => Some("rename the file in its repository".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
