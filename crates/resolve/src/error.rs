//! Why a harness cannot be resolved.

use fullsend_fetch::FetchError;
use fullsend_fetch::audit::AuditError;
use fullsend_fetch::cache::{CacheError, Corruption};
use fullsend_harness::value::Platform;
use fullsend_origin::{ForgeUrlError, Sha256Digest};
use fullsend_yaml::{Diagnostic, SourceMap};
use thiserror::Error;

use crate::forge::ForgeError;

/// Why a harness cannot be resolved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The harness or one of its bases has errors.
    #[error("the harness or something it names has errors")]
    Broken {
        /// The files, for showing places.
        sources: Box<SourceMap>,
        /// The problems.
        problems: Vec<Diagnostic>,
    },
    /// One dependency could not be had.
    #[error("`{field}`: {url}")]
    Dependency {
        /// Where the harness names it.
        field: String,
        /// The URL without its pin.
        url: String,
        /// Why.
        source: Box<DependencyError>,
    },
    /// Dependencies lead back to themselves.
    #[error("skills depend on each other in a circle: {}", circle.join(" → "))]
    Circle {
        /// The URLs of the circle, the first one repeated at the end.
        circle: Vec<String>,
    },
    /// A chain of dependencies is too long.
    #[error(
        "`{url}` declares dependencies, but lies {depth} levels deep already; at most {limit} are followed"
    )]
    TooDeep {
        /// The skill.
        url: String,
        /// Its level.
        depth: usize,
        /// The limit.
        limit: usize,
    },
    /// There are too many dependencies.
    #[error("the harness has more than {limit} remote resources")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// One URL with two digests.
    #[error("`{url}` is pinned to two digests: {first} and {second}")]
    Conflict {
        /// The URL without its pin.
        url: String,
        /// One digest.
        first: Sha256Digest,
        /// The other.
        second: Sha256Digest,
    },
    /// Two skills that would overwrite each other.
    #[error("two skills are named `{name}`: `{first}` and `{second}`")]
    Collision {
        /// The name.
        name: String,
        /// One source.
        first: String,
        /// The other.
        second: String,
    },
    /// There are overlays, but none for the platform.
    #[error("the harness has no `forge.{}`", platform.as_str())]
    NoPlatform {
        /// The platform that was asked for.
        platform: Platform,
    },
    /// The audit log cannot be written; what cannot be recorded is not done.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl ResolveError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Broken { .. } => Some("correct the problems above".to_owned()),
            Self::Dependency { source, .. } => source.help(),
            Self::Circle { .. } => Some("remove one of the `dependencies`".to_owned()),
            Self::TooDeep { .. } => Some("raise `--max-depth`, or depend on fewer levels".to_owned()),
            Self::TooMany { .. } => Some("raise `--max-resources`, or name fewer resources".to_owned()),
            Self::Conflict { .. } => Some("pin the URL to one digest everywhere".to_owned()),
            Self::Collision { .. } => Some("rename one of the directories, or remove the entry".to_owned()),
            Self::NoPlatform { .. } => {
                Some("add the overlay (`{}` changes nothing), or name another platform".to_owned())
            }
            Self::Audit(error) => error.help(),
        }
    }
}

/// Where an expected digest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinnedBy {
    /// In the reference itself.
    Reference,
    /// In the lock file, because a path beside a base has no pin.
    Lock,
}

/// Why one dependency could not be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DependencyError {
    /// No allow-list entry permits it.
    #[error("no entry of {list} permits this URL")]
    NotAllowed {
        /// Which list.
        list: &'static str,
    },
    /// The content is not what was pinned.
    #[error("the content is not what was pinned: expected {expected}, got {actual}")]
    Mismatch {
        /// The pin.
        expected: Sha256Digest,
        /// The digest of what came.
        actual: Sha256Digest,
        /// The URL without its pin, for the command that accepts the new content.
        url: String,
        /// Where the expected digest is written.
        pinned_by: PinnedBy,
    },
    /// It is not in the cache, and the network may not be used.
    #[error("it is not in the cache, and the network may not be used")]
    Offline,
    /// The cached copy is damaged, and the network may not be used.
    #[error("the cached copy is damaged ({0}), and the network may not be used")]
    CorruptOffline(Corruption),
    /// What lies beside a base may change, and nothing says what it should be.
    #[error("it lies beside a base whose URL does not name a commit, and no lock file records its digest")]
    MutableBase,
    /// A URL of a directory where a file is needed, or the other way round.
    #[error("{0}")]
    Forge(#[from] ForgeUrlError),
    /// The reference is not usable.
    #[error("{message}")]
    Reference {
        /// What is wrong with it.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// It could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The forge said no.
    #[error(transparent)]
    FromForge(#[from] ForgeError),
    /// The cache could not be read or written.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl DependencyError {
    /// The stable name of the reason, as the audit log records it.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::NotAllowed { .. } => "not-allowed",
            Self::Mismatch { .. } => "integrity-mismatch",
            Self::Offline => "offline",
            Self::CorruptOffline(_) => "cache-corrupt",
            Self::MutableBase => "mutable-base",
            Self::Forge(error) => error.code(),
            Self::Reference { .. } => "invalid-reference",
            Self::Fetch(error) => error.code(),
            Self::FromForge(error) => error.code(),
            Self::Cache(error) => error.code(),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::NotAllowed { list } => Some(format!("add its prefix to {list}")),
            Self::Mismatch { pinned_by: PinnedBy::Lock, .. } => {
                Some("if you trust the new content, accept it with `fullsend lock NAME --update`".to_owned())
            }
            Self::Mismatch { url, .. } => Some(format!(
                "if you trust the new content, accept it with `fullsend pin --write FILE '{url}'`"
            )),
            Self::Offline => Some("run `fullsend fetch` with a network first".to_owned()),
            Self::CorruptOffline(_) => Some("run again with a network; the copy is then replaced".to_owned()),
            Self::MutableBase => {
                Some("name the base by a commit, or record its files with `fullsend lock`".to_owned())
            }
            Self::Forge(error) => error.help(),
            Self::Reference { help, .. } => help.clone(),
            Self::Fetch(error) => error.help(),
            Self::FromForge(error) => error.help(),
            Self::Cache(error) => error.help(),
        }
    }
}
