//! What can go wrong with the cache.

use std::io;
use std::path::{Path, PathBuf};

use fullsend_origin::{Sha256Digest, TreeDigest, TreeError};
use thiserror::Error;

/// Why the cache could not do what was asked.
///
/// An entry with wrong content is not an error of the cache but an answer: see [`Corruption`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The system refused an operation.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory of the cache is a symbolic link or not a directory, so writes could land anywhere.
    #[error("`{}` must be a directory, not a link or file", path.display())]
    Escapes {
        /// The place that should be a directory.
        path: PathBuf,
    },
    /// The cache was laid out by a newer program.
    #[error("the cache has the layout version {found:?}, which this program does not know")]
    Version {
        /// The version found; empty when there is no telling.
        found: String,
    },
    /// The files given do not form a tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A tree without files.
    #[error("a directory without files cannot be cached")]
    EmptyTree,
    /// One path of a tree is both a file and a directory.
    #[error("`{path}` is both a file and a directory")]
    PathClash {
        /// The path of the file.
        path: String,
    },
    /// The digest belongs to an entry of the other kind: the bytes of a file spell the listing of a tree.
    #[error("`{digest}` is cached as the other kind, file or directory")]
    KindConflict {
        /// The digest of both.
        digest: Sha256Digest,
    },
    /// Other processes kept replacing the entry.
    #[error("entry `{digest}` kept changing while it was used")]
    Contended {
        /// The digest of the entry.
        digest: Sha256Digest,
    },
    /// The name for a link is not one path segment.
    #[error("the name {name:?} must be a single path segment without control characters")]
    LinkName {
        /// The name as given.
        name: String,
    },
    /// Something that cannot be replaced has the name of the link.
    #[error("`{}` is a directory and cannot become a link", path.display())]
    LinkBlocked {
        /// Where the link should be.
        path: PathBuf,
    },
    /// The entry that should get a name is not in the cache.
    #[error("entry `{digest}` is not in the cache")]
    NoEntry {
        /// The digest of the entry.
        digest: Sha256Digest,
    },
    /// A record could not be turned into JSON.
    #[error("cannot write the record as JSON")]
    Json(#[source] serde_json::Error),
}

impl CacheError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "cache-io",
            Self::Escapes { .. } => "cache-escapes",
            Self::Version { .. } => "cache-version",
            Self::Tree(error) => error.code(),
            Self::EmptyTree => "cache-empty-tree",
            Self::PathClash { .. } => "cache-path-clash",
            Self::KindConflict { .. } => "cache-kind-conflict",
            Self::Contended { .. } => "cache-contended",
            Self::LinkName { .. } => "cache-link-name",
            Self::LinkBlocked { .. } => "cache-link-blocked",
            Self::NoEntry { .. } => "cache-no-entry",
            Self::Json(_) => "cache-json",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Io { .. } => "check the permissions and the free space of the cache directory",
            Self::Escapes { .. } => "remove it; to keep the cache elsewhere, mount that place here",
            Self::Version { .. } => "use the newer program, or remove the cache; it can be fetched again",
            Self::Tree(error) => return error.help(),
            Self::EmptyTree => "point the reference at a directory that has files",
            Self::KindConflict { .. } => "pin only one of the two resources",
            Self::Contended { .. } => "try again",
            Self::LinkName { .. } => "use a name without `/`",
            Self::LinkBlocked { .. } => "remove the directory",
            Self::PathClash { .. } | Self::NoEntry { .. } | Self::Json(_) => return None,
        };
        Some(help.to_owned())
    }

    /// Wraps an error of the system; made for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}

/// How an entry differs from what it must be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Corruption {
    /// The entry is a symbolic link or a file, so its content could be anywhere.
    #[error("the entry is not a directory")]
    NotADirectory,
    /// `metadata.json` cannot be read as what it must be.
    #[error("metadata.json is damaged: {reason}")]
    Metadata {
        /// What the reader said.
        reason: String,
    },
    /// `metadata.json` belongs to another entry.
    #[error("metadata.json is about `{found}`")]
    MetadataDigest {
        /// The digest it names.
        found: String,
    },
    /// The bytes of the file are not the ones asked for.
    #[error("the content has the digest {found}")]
    Content {
        /// The digest of the bytes found.
        found: Sha256Digest,
    },
    /// The files of the directory are not the ones asked for.
    #[error("the files have the tree digest {found}")]
    Tree {
        /// The digest of the files found.
        found: TreeDigest,
    },
    /// The listing in `metadata.json` and the files differ.
    #[error("`{path}` differs from the listing in metadata.json")]
    Listing {
        /// The first file that differs.
        path: String,
    },
    /// A file, directory or link that does not belong to the entry.
    #[error("`{path}` does not belong to the entry")]
    Unexpected {
        /// Its path below the entry.
        path: String,
    },
    /// A file of the listing is gone.
    #[error("`{path}` is missing")]
    Missing {
        /// Its path below the entry.
        path: String,
    },
    /// A symbolic link, device, pipe or socket where a file must be.
    #[error("`{path}` is not a regular file")]
    NotRegular {
        /// Its path below the entry.
        path: String,
    },
}

impl Corruption {
    /// Stable name of this finding for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotADirectory => "corrupt-not-a-directory",
            Self::Metadata { .. } => "corrupt-metadata",
            Self::MetadataDigest { .. } => "corrupt-metadata-digest",
            Self::Content { .. } => "corrupt-content",
            Self::Tree { .. } => "corrupt-tree",
            Self::Listing { .. } => "corrupt-listing",
            Self::Unexpected { .. } => "corrupt-unexpected",
            Self::Missing { .. } => "corrupt-missing",
            Self::NotRegular { .. } => "corrupt-not-regular",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some("move the entry aside and fetch it again while online".to_owned())
    }
}
