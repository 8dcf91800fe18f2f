//! The lock file: what every remote reference of every harness resolved to.
//!
//! It is committed with the harnesses, so that a later run gets the same content or stops. It is a record, not an
//! authority: [`LockFile::find`] compares every entry with the pin and the URL that the harness itself states, so
//! whoever edits the lock file cannot put other content into a harness.
//!
//! Entry points: [`load`] and [`update`] for the file, [`read()`] and [`LockFile::render`] for its text,
//! [`LockFile::check`] for what is out of date.

mod check;
mod error;
mod order;
mod quote;
mod read;
mod render;
pub mod rules;
mod store;
mod value;

use std::collections::BTreeMap;

use fullsend_harness::value::Platform;
use fullsend_origin::{RemoteUrl, Sha256Digest, TreePath};
use jiff::Timestamp;

pub use check::{Expected, LockProblem, Scope, Slot};
pub use error::LockError;
pub use read::{LIMITS, MAX_NESTING, Read, read};
pub use store::{FILE_NAME, Loaded, Outcome, Updated, load, update};

/// The version of the format that is read and written.
pub const VERSION: i64 = 1;

/// The content of a lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    /// When the file was first written; [`update`] sets it once.
    pub generated_at: Option<Timestamp>,
    /// What each harness resolved to, by its name.
    pub harnesses: BTreeMap<String, LockedHarness>,
}

/// What one harness resolved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedHarness {
    /// The harness file, relative to the fullsend directory, or the URL it came from.
    pub source: String,
    /// The digest of the harness file itself.
    pub sha256: Sha256Digest,
    /// The digest of everything else that decides what is resolved: local bases, allow-lists, options. The caller defines
    /// it; `None` when nothing but the harness file decides.
    pub composed_sha256: Option<Sha256Digest>,
    /// When the references were resolved.
    pub resolved_at: Timestamp,
    /// What they resolved to.
    pub dependencies: Vec<LockedDependency>,
}

/// What one reference resolved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedDependency {
    /// The key that holds the reference, such as `agent` or `skills[0]`.
    pub field: String,
    /// The platform whose overlay the reference belongs to; `None` when it is the same on all.
    pub platform: Option<Platform>,
    /// The URL, without a pin.
    pub url: RemoteUrl,
    /// The digest of the content: of the bytes of a file, of the tree of a directory.
    pub sha256: Sha256Digest,
    /// What the content is; older files leave it out for files.
    pub kind: Option<LockedKind>,
    /// The files of a directory.
    pub files: Vec<LockedPath>,
    /// When the content was fetched.
    pub fetched_at: Timestamp,
}

/// One file of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPath {
    /// Where it lies in the directory.
    pub path: TreePath,
    /// The digest of its bytes.
    pub sha256: Sha256Digest,
}

/// What locked content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockedKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A file that is run.
    Script,
    /// A file that belongs to another resource.
    Resource,
}

impl LockedKind {
    /// Every word, in documentation order.
    pub const WORDS: &'static [&'static str] = &["file", "directory", "script", "resource"];

    /// The word that is written in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Script => "script",
            Self::Resource => "resource",
        }
    }

    /// The kind of this word.
    fn from_word(word: &str) -> Option<Self> {
        [Self::File, Self::Directory, Self::Script, Self::Resource]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }

    /// Whether the content is a directory rather than some sort of file.
    #[must_use]
    pub const fn is_directory(self) -> bool {
        matches!(self, Self::Directory)
    }
}

impl LockedDependency {
    /// What the content is; a file when the entry does not say.
    #[must_use]
    pub fn kind(&self) -> LockedKind {
        self.kind.unwrap_or(LockedKind::File)
    }

    /// Whether two entries lock the same content, whoever needs it.
    fn same_content(&self, other: &Self) -> bool {
        self.url == other.url
            && self.sha256 == other.sha256
            && self.kind().is_directory() == other.kind().is_directory()
    }
}

impl LockFile {
    /// The entry of one key of a harness on a platform. `None` when there is none, and also when several entries claim the
    /// key and differ: taking either would be a guess.
    #[must_use]
    pub fn locked(
        &self,
        harness: &str,
        field: &str,
        platform: Option<Platform>,
    ) -> Option<&LockedDependency> {
        agreed(&self.harnesses.get(harness)?.slot(field, platform))
    }

    /// The entry of a URL in a harness on a platform, whichever key holds it; `None` as for [`LockFile::locked`].
    #[must_use]
    pub fn by_url(
        &self,
        harness: &str,
        url: &RemoteUrl,
        platform: Option<Platform>,
    ) -> Option<&LockedDependency> {
        agreed(&self.harnesses.get(harness)?.with_url(url, platform))
    }
}

impl LockedHarness {
    /// The entries that claim a key on a platform. Those of the platform itself go before those of all platforms, and
    /// those of another platform are never among them.
    fn slot(&self, field: &str, platform: Option<Platform>) -> Vec<&LockedDependency> {
        let of = |platform: Option<Platform>| {
            let claims = move |entry: &&LockedDependency| entry.field == field && entry.platform == platform;
            self.dependencies.iter().filter(claims).collect::<Vec<_>>()
        };
        let own = of(platform);
        if own.is_empty() && platform.is_some() { of(None) } else { own }
    }

    /// The entries of a URL that hold on a platform.
    fn with_url(&self, url: &RemoteUrl, platform: Option<Platform>) -> Vec<&LockedDependency> {
        let holds = |entry: &&LockedDependency| {
            entry.url == *url && (entry.platform.is_none() || entry.platform == platform)
        };
        self.dependencies.iter().filter(holds).collect()
    }
}

/// The first of the entries, when all lock the same content.
fn agreed<'l>(entries: &[&'l LockedDependency]) -> Option<&'l LockedDependency> {
    let first = entries.first()?;
    entries.iter().all(|entry| entry.same_content(first)).then_some(*first)
}
