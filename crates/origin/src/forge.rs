//! URLs of directories and files on code forges.
//!
//! A skill is named by the URL a person copies from the browser; owner, repository, ref and path are then sent to the
//! forge's API. Anything that would be silently dropped on the way (a port, a query) or that could act as something
//! else there (`..`, a ref that starts like a command-line option) is refused here, so that the URL that was reviewed
//! and allowed is the place that is read.

mod error;
mod hosts;
mod raw;

use std::fmt;

pub use error::{ForgeHostError, ForgeUrlError};
pub use hosts::{ForgeHosts, ForgeKind};
pub use raw::RawGitHubUrl;

use crate::percent;
use crate::url::{HttpsUrl, refuse_hazard};

/// Whether a URL shows a directory or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathKind {
    /// A directory.
    Tree,
    /// A file.
    Blob,
}

impl PathKind {
    /// The kind that the URL segment names.
    fn from_segment(segment: &str) -> Result<Self, ForgeUrlError> {
        match segment {
            "tree" => Ok(Self::Tree),
            "blob" => Ok(Self::Blob),
            _ => Err(ForgeUrlError::PathKind { found: segment.to_owned() }),
        }
    }

    /// The word in the URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A directory or file in a repository on a known forge, at a ref.
///
/// The ref is one path segment: branches whose names hold a `/` cannot be told from paths and cannot be named.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForgeUrl {
    kind: ForgeKind,
    host: String,
    owner: String,
    repo: String,
    path_kind: PathKind,
    reference: String,
    path: Vec<String>,
}

impl ForgeUrl {
    /// Reads `url` by the grammar of the forge that its host belongs to.
    ///
    /// * GitHub: `/{owner}/{repo}/{tree|blob}/{ref}[/{path}]`
    /// * GitLab: `/{group}[/{subgroup}]/{repo}/-/{tree|blob}/{ref}[/{path}]`
    pub fn parse(url: &HttpsUrl, hosts: &ForgeHosts) -> Result<Self, ForgeUrlError> {
        let kind = hosts
            .kind_of(url.host())
            .ok_or_else(|| ForgeUrlError::UnknownHost { host: url.host().to_owned() })?;
        let segments = readable_segments(url)?;
        let parts = match kind {
            ForgeKind::GitHub => split_github(&segments)?,
            ForgeKind::GitLab => split_gitlab(&segments)?,
        };
        let (repo, groups) = parts.project.split_last().ok_or(ForgeUrlError::too_short(kind))?;
        Ok(Self {
            kind,
            host: url.host().to_owned(),
            owner: checked_owner(groups)?,
            repo: checked_repo(repo)?,
            path_kind: PathKind::from_segment(parts.path_kind)?,
            reference: checked_reference(parts.reference)?,
            path: parts.path.to_vec(),
        })
    }

    /// Which API the forge speaks.
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }

    /// The host in lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The owner; on GitLab all groups joined with `/`.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The repository, without `.git`.
    pub fn repo(&self) -> &str {
        &self.repo
    }

    /// Directory or file.
    pub fn path_kind(&self) -> PathKind {
        self.path_kind
    }

    /// Branch, tag or commit.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Whether the ref is a full commit id, so that it cannot move.
    pub fn names_commit(&self) -> bool {
        is_commit(&self.reference)
    }

    /// The segments of the path inside the repository, decoded; none at the top.
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The path inside the repository, joined with `/`.
    pub fn path_text(&self) -> String {
        self.path.join("/")
    }

    /// Requires a directory below the top of the repository: what a skill or plugin must be.
    pub fn require_tree_directory(&self) -> Result<(), ForgeUrlError> {
        match self.path_kind {
            PathKind::Blob => Err(ForgeUrlError::NotADirectory),
            PathKind::Tree if self.path.is_empty() => Err(ForgeUrlError::RepositoryRoot),
            PathKind::Tree => Ok(()),
        }
    }

    /// The URL that serves the bytes of a file, where the forge has a fixed form for it.
    ///
    /// The page at a `blob` URL is HTML around the file, so its digest never matches. `None` for directories and for
    /// GitHub servers other than github.com.
    pub fn raw_file_url(&self) -> Option<String> {
        if self.path_kind == PathKind::Tree || self.path.is_empty() {
            return None;
        }
        let prefix = match self.kind {
            ForgeKind::GitLab => format!("https://{}/{}/{}/-/raw", self.host, self.owner, self.repo),
            ForgeKind::GitHub if self.host == hosts::GITHUB => {
                format!("https://{}/{}/{}", hosts::RAW_GITHUB, self.owner, self.repo)
            }
            ForgeKind::GitHub => return None,
        };
        let mut url = prefix;
        for segment in std::iter::once(&self.reference).chain(&self.path) {
            url.push('/');
            percent::escape_into(&mut url, segment.as_bytes(), percent::is_plain_in_segment);
        }
        Some(url)
    }
}

/// The parts of a path by the grammar of a forge, before they are checked.
struct Parts<'a> {
    /// Owner or groups, then the repository.
    project: &'a [String],
    path_kind: &'a str,
    reference: &'a str,
    path: &'a [String],
}

/// Splits `/{owner}/{repo}/{kind}/{ref}[/{path}]`.
fn split_github(segments: &[String]) -> Result<Parts<'_>, ForgeUrlError> {
    match segments {
        [_, _, path_kind, reference, path @ ..] => {
            let project = segments.get(..2).unwrap_or_default();
            Ok(Parts { project, path_kind, reference, path })
        }
        _ => Err(ForgeUrlError::too_short(ForgeKind::GitHub)),
    }
}

/// Splits `/{groups}/{repo}/-/{kind}/{ref}[/{path}]` at the first `-`, which no group or project may be called.
fn split_gitlab(segments: &[String]) -> Result<Parts<'_>, ForgeUrlError> {
    let mark = segments.iter().position(|segment| segment == "-").ok_or(ForgeUrlError::NoSeparator)?;
    let (project, rest) = segments.split_at(mark);
    match (project, rest) {
        ([_, _, ..], [_, path_kind, reference, path @ ..]) => {
            Ok(Parts { project, path_kind, reference, path })
        }
        _ => Err(ForgeUrlError::too_short(ForgeKind::GitLab)),
    }
}

/// The non-empty path segments, decoded once, of a URL that carries nothing else.
fn readable_segments(url: &HttpsUrl) -> Result<Vec<String>, ForgeUrlError> {
    refuse_hazard(url)?;
    if url.port_text().is_some() {
        return Err(ForgeUrlError::Port);
    }
    if url.query().is_some() {
        return Err(ForgeUrlError::Query);
    }
    if url.fragment().is_some() {
        return Err(ForgeUrlError::Fragment);
    }
    let segments = url.raw_path().split('/').filter(|segment| !segment.is_empty());
    segments.map(|raw| decode_segment(raw).ok_or(ForgeUrlError::NotUtf8)).collect()
}

/// One segment as text.
fn decode_segment(raw: &str) -> Option<String> {
    String::from_utf8(percent::decode(raw.as_bytes()).ok()?).ok()
}

/// Whether `name` can be part of an owner or the name of a repository.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// The owner with all its groups.
fn checked_owner(groups: &[String]) -> Result<String, ForgeUrlError> {
    match groups.iter().find(|group| !is_name(group)) {
        Some(group) => Err(ForgeUrlError::Name { name: group.clone() }),
        None => Ok(groups.join("/")),
    }
}

/// The repository without the `.git` of clone URLs, which would otherwise be appended twice.
fn checked_repo(text: &str) -> Result<String, ForgeUrlError> {
    let repo = text.strip_suffix(".git").unwrap_or(text);
    if is_name(repo) { Ok(repo.to_owned()) } else { Err(ForgeUrlError::Name { name: text.to_owned() }) }
}

/// A ref that no tool can take for an option; git itself forbids such names.
fn checked_reference(text: &str) -> Result<String, ForgeUrlError> {
    if text.starts_with('-') {
        return Err(ForgeUrlError::Reference { reference: text.to_owned() });
    }
    Ok(text.to_owned())
}

/// Whether `reference` is a full commit id.
fn is_commit(reference: &str) -> bool {
    reference.len() == 40 && reference.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;
