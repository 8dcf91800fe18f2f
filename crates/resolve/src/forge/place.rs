//! Where something is.

use std::fmt;

use fullsend_origin::{ForgeKind, ForgeUrl, RawGitHubUrl};

use super::{CommitId, ListedFile};

/// A repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    kind: ForgeKind,
    host: String,
    owner: String,
    name: String,
}

impl Repository {
    /// The repository of a forge URL.
    pub fn of(url: &ForgeUrl) -> Self {
        Self {
            kind: url.kind(),
            host: url.host().to_owned(),
            owner: url.owner().to_owned(),
            name: url.repo().to_owned(),
        }
    }

    /// The repository of a file on `raw.githubusercontent.com`, which is on github.com.
    pub fn of_raw_github(url: &RawGitHubUrl) -> Self {
        Self {
            kind: ForgeKind::GitHub,
            host: super::hosts::GITHUB.to_owned(),
            owner: url.owner().to_owned(),
            name: url.repo().to_owned(),
        }
    }

    /// Which API its forge speaks.
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }

    /// The host of its forge.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its owner; on GitLab all groups joined with `/`.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Owner and name.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.owner, self.name)
    }
}

/// A path in a repository at a ref, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The repository.
    pub repo: Repository,
    /// Branch, tag or commit.
    pub reference: String,
    /// The path; empty for the top.
    pub path: String,
}

impl Place {
    /// The place that a URL shows.
    pub(super) fn of(url: &ForgeUrl) -> Self {
        Self { repo: Repository::of(url), reference: url.reference().to_owned(), path: url.path_text() }
    }

    /// A listed file, with its path from the top of the repository.
    pub(super) fn of_listed(url: &ForgeUrl, commit: &CommitId, file: &ListedFile) -> Self {
        let segments = url.path().iter().map(String::as_str).chain(file.path.segments());
        let path = segments.collect::<Vec<_>>().join("/");
        Self { repo: Repository::of(url), reference: commit.to_string(), path }
    }

    /// A path at a commit.
    pub(super) fn at(repo: &Repository, commit: &CommitId, path: &str) -> Self {
        Self { repo: repo.clone(), reference: commit.to_string(), path: path.to_owned() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}` in ", self.path.escape_debug())?;
        }
        write!(f, "{} at `{}`", self.repo, self.reference.escape_debug())
    }
}
