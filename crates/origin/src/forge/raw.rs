//! URLs of single files as GitHub serves them.

use super::{
    ForgeKind, ForgeUrlError, checked_owner, checked_reference, checked_repo, hosts, is_commit,
    readable_segments,
};
use crate::url::HttpsUrl;

/// A file at `raw.githubusercontent.com/{owner}/{repo}/{ref}/{path}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawGitHubUrl {
    owner: String,
    repo: String,
    reference: String,
    path: Vec<String>,
}

impl RawGitHubUrl {
    /// Reads `url`. The long form of a ref, `refs/heads/{branch}` or `refs/tags/{tag}`, is understood.
    pub fn parse(url: &HttpsUrl) -> Result<Self, ForgeUrlError> {
        if url.host() != hosts::RAW_GITHUB {
            return Err(ForgeUrlError::UnknownHost { host: url.host().to_owned() });
        }
        let segments = readable_segments(url)?;
        let words: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (owner, repo, reference, path) = match words.as_slice() {
            [owner, repo, "refs", "heads" | "tags", reference, path @ ..] => (owner, repo, reference, path),
            // `refs` alone is the start of a long form, never a branch that anyone means.
            [_, _, "refs", ..] | [] | [_] | [_, _] => {
                return Err(ForgeUrlError::too_short(ForgeKind::GitHub));
            }
            [owner, repo, reference, path @ ..] => (owner, repo, reference, path),
        };
        Ok(Self {
            owner: checked_owner(&[(*owner).to_owned()])?,
            repo: checked_repo(repo)?,
            reference: checked_reference(reference)?,
            path: path.iter().map(|segment| (*segment).to_owned()).collect(),
        })
    }

    /// The owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The repository.
    pub fn repo(&self) -> &str {
        &self.repo
    }

    /// Branch, tag or commit.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Whether the ref is a full commit id, so that it cannot move.
    pub fn names_commit(&self) -> bool {
        is_commit(&self.reference)
    }

    /// The segments of the path inside the repository, decoded.
    pub fn path(&self) -> &[String] {
        &self.path
    }
}
