//! Directories and files of repositories, over the REST APIs of the forges that keep them.
//!
//! A skill is a directory at a commit. To clone for it would run a large program with the configuration of the user
//! and of the repository (hooks, filters, URL rewriting), fetch what nobody asked for, and yield bytes that depend on
//! all of that. A listing and one request per file yield exactly the blobs, and every step can be checked:
//!
//! * Names come from someone else's repository, or from a server that says so: each must be a
//!   [`TreePath`], and only plain files are accepted. Links and submodules are refused by name rather than left out,
//!   because a directory with holes is another directory.
//! * Every file is compared with the id that the listing gave for it, so that a file that changes between the two
//!   requests, or that a cache in between mixed up, is an error and not a surprise.
//! * Content is that of the blob. `.gitattributes` (line ends, `ident`, encodings, filters) describes what git does on
//!   checkout; there is none, so it changes nothing here and the same commit has the same digest everywhere. Files
//!   that Git LFS keeps elsewhere are refused, since their blobs are only notes about them.
//!
//! # Layout
//!
//! * [`GitHub`], [`GitLab`]: one client per host
//! * [`Forges`]: the clients of all hosts
//! * [`download_directory`]: listing and files, all or nothing
//! * `api`: one request, with token, patience and explanations
//! * `listing`: what a listing may hold

mod api;
mod download;
mod error;
mod github;
mod gitlab;
mod hosts;
mod id;
mod limits;
mod listing;
mod page;
mod place;
mod rate;
mod verify;

use std::fmt;
use std::pin::Pin;

use fullsend_fetch::cache::{FileMode, TreeFile};
use fullsend_origin::{ForgeUrl, TreePath};

pub use api::ForgeOptions;
pub use download::{DEFAULT_CONCURRENCY, DownloadedTree, download_directory};
pub use error::{EntryKind, ForgeError, ListingFault, TokenUse};
pub use github::GitHub;
pub use gitlab::GitLab;
pub use hosts::{ForgeToken, Forges, allowed_hosts, token_variables};
pub use id::{BlobId, CommitId, ObjectIdError};
pub use limits::TreeLimits;
pub use place::{Place, Repository};

/// An answer of a forge that is under way.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ForgeError>> + Send + 'a>>;

/// A server that keeps repositories.
pub trait Forge: fmt::Debug + Send + Sync {
    /// The commit that the ref of `url` names now. A full commit id names itself and is not asked about.
    fn resolve_commit<'a>(&'a self, url: &'a ForgeUrl) -> Answer<'a, CommitId>;

    /// All files below the directory of `url` at `commit`, in byte order of their paths.
    ///
    /// Fails if there is anything that is not a plain file, if there are more files or bytes than `limits` allow, or
    /// if there is nothing at all.
    fn list_directory<'a>(
        &'a self,
        url: &'a ForgeUrl,
        commit: &'a CommitId,
        limits: &'a TreeLimits,
    ) -> Answer<'a, Vec<ListedFile>>;

    /// The bytes of a file that [`list_directory`](Self::list_directory) listed, compared with its id.
    fn get_listed_file<'a>(
        &'a self,
        url: &'a ForgeUrl,
        commit: &'a CommitId,
        file: &'a ListedFile,
    ) -> Answer<'a, Vec<u8>>;

    /// The plain file at `path` of `repo` at `commit`, compared with its id.
    fn get_file_at_ref<'a>(
        &'a self,
        repo: &'a Repository,
        commit: &'a CommitId,
        path: &'a TreePath,
    ) -> Answer<'a, TreeFile>;
}

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path below the directory that was listed.
    pub path: TreePath,
    /// Whether it is executable.
    pub mode: FileMode,
    /// Its size in bytes, where the forge tells.
    pub size: Option<u64>,
    /// The id of its content.
    pub blob: BlobId,
}
