//! Skills that are asked for while an agent runs: the same way to content, one skill at a time.
//!
//! Whoever asks is not trusted, and is told less than the audit log: so each step that can fail has a fault of its own,
//! and recording is left to the caller, who knows what became of the skill afterwards.

use std::path::Path;
use std::sync::Arc;

use fullsend_fetch::Audit;
use fullsend_fetch::audit::Source;
use fullsend_fetch::cache::{EntryId, Listing, Lookup};
use fullsend_origin::{ForgeUrl, PinnedUrl, Sha256Digest, TreeDigest, TreePath};
use thiserror::Error;

use super::{Store, digest_of, tree_digest, whole_reason};
use crate::closure::read_manifest;
use crate::error::DependencyError;
use crate::forge::ForgeError;
use crate::relative::resolve_reference;

/// A pinned URL that names the directory of a skill on a known forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillUrl {
    url: PinnedUrl,
    forge: ForgeUrl,
    digest: TreeDigest,
}

impl SkillUrl {
    /// The URL and its pin.
    #[must_use]
    pub fn url(&self) -> &PinnedUrl {
        &self.url
    }

    /// The digest that the directory must have.
    #[must_use]
    pub fn digest(&self) -> TreeDigest {
        self.digest
    }

    /// The last part of the path, by which a skill is known.
    #[must_use]
    pub fn name(&self) -> &str {
        self.forge.path().last().map(String::as_str).unwrap_or_default()
    }
}

/// A skill that is in the cache, verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedSkill {
    /// Its files.
    pub files: Vec<TreePath>,
    /// Where it came from this time.
    pub source: Source,
}

/// Why a skill could not be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SkillFault {
    /// The cache could not be asked, or its copy is damaged and cannot be replaced.
    #[error("the cache cannot be used: {0}")]
    Lookup(#[source] DependencyError),
    /// It is not in the cache, and the network may not be used.
    #[error("it is not in the cache, and the network may not be used")]
    Offline,
    /// The forge did not deliver it.
    #[error("it could not be fetched: {0}")]
    Fetch(#[source] DependencyError),
    /// The directory has no files.
    #[error("the directory has no files")]
    Empty,
    /// The content is not what was pinned.
    #[error("the content is not what was pinned: expected {expected}, got {actual}")]
    Mismatch {
        /// The pin.
        expected: Sha256Digest,
        /// The digest of what came.
        actual: Sha256Digest,
    },
    /// It could not be kept.
    #[error("it could not be kept in the cache: {0}")]
    Keep(#[source] DependencyError),
}

impl SkillFault {
    /// The stable name of the reason, as the audit log records it.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Lookup(error) | Self::Fetch(error) | Self::Keep(error) => error.code(),
            Self::Offline => "offline",
            Self::Empty => "forge-empty-directory",
            Self::Mismatch { .. } => "integrity-mismatch",
        }
    }

    /// The whole story, for the audit log.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Lookup(error) | Self::Fetch(error) | Self::Keep(error) => whole_reason(error),
            Self::Offline | Self::Empty | Self::Mismatch { .. } => self.to_string(),
        }
    }
}

impl Store {
    /// Where fetches and refusals are recorded.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Reads a URL as that of a skill.
    ///
    /// # Errors
    /// When its host is no known forge, or it names no directory below the top of a repository.
    pub fn skill_url(&self, url: &PinnedUrl) -> Result<SkillUrl, DependencyError> {
        let forge = ForgeUrl::parse(url.url().as_https(), &self.hosts)?;
        forge.require_tree_directory()?;
        Ok(SkillUrl { url: url.clone(), forge, digest: tree_digest(url.digest())? })
    }

    /// Gets a skill into the cache: from there if it is there, else from its forge. Nothing is recorded, and whether the
    /// URL may be fetched is not asked here.
    ///
    /// # Errors
    /// When it cannot be had as it is pinned.
    pub async fn skill(self: &Arc<Self>, skill: &SkillUrl) -> Result<CachedSkill, SkillFault> {
        let digest = skill.digest;
        let id = EntryId::Tree(digest);
        if let Some(hit) = self.cached(id, move |cache| cache.get_tree(&digest)).await.map_err(looking)? {
            let files = hit.files.into_iter().map(|file| file.path).collect();
            return Ok(CachedSkill { files, source: Source::Cache });
        }
        let files = self.download_directory(&skill.forge).await.map_err(fetching)?;
        let actual = digest_of(&files).map_err(SkillFault::Fetch)?;
        let expected = digest.as_sha256();
        if actual != expected {
            return Err(SkillFault::Mismatch { expected, actual });
        }
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let url = skill.url.url().clone();
        self.on_cache(move |cache| cache.put_tree(&url, &files, Listing::Full))
            .await
            .map_err(SkillFault::Keep)?;
        Ok(CachedSkill { files: paths, source: Source::Network })
    }

    /// Copies a cached skill to `target`, which must not exist; every byte is verified on the way.
    ///
    /// # Errors
    /// When the copy in the cache is gone or damaged, or `target` cannot be written.
    pub async fn copy_skill(self: &Arc<Self>, skill: &SkillUrl, target: &Path) -> Result<(), SkillFault> {
        self.copy(skill.digest, target).await
    }

    /// The same for any directory in the cache, by the digest that it is pinned to.
    ///
    /// # Errors
    /// When the copy in the cache is gone or damaged, or `target` cannot be written.
    pub async fn copy_directory(
        self: &Arc<Self>,
        digest: Sha256Digest,
        target: &Path,
    ) -> Result<(), SkillFault> {
        self.copy(tree_digest(digest).map_err(SkillFault::Lookup)?, target).await
    }

    async fn copy(self: &Arc<Self>, digest: TreeDigest, target: &Path) -> Result<(), SkillFault> {
        let target = target.to_owned();
        match self.on_cache(move |cache| cache.copy_tree(&digest, &target)).await {
            Ok(Lookup::Hit(_)) => Ok(()),
            Ok(Lookup::Miss) => Err(SkillFault::Lookup(DependencyError::Offline)),
            Ok(Lookup::Corrupt(reason)) => Err(SkillFault::Lookup(DependencyError::CorruptOffline(reason))),
            Err(error) => Err(SkillFault::Keep(error)),
        }
    }
}

/// The skills that the skill in `directory`, which came from `url`, says it needs.
///
/// # Errors
/// When its front matter cannot be read, or a reference is not a pinned URL.
pub fn skill_dependencies(url: &SkillUrl, directory: &Path) -> Result<Vec<PinnedUrl>, DependencyError> {
    let manifest = read_manifest(directory)?;
    let parent = url.url.url().as_https();
    manifest.dependencies.iter().map(|reference| resolve_reference(parent, reference)).collect()
}

fn looking(error: DependencyError) -> SkillFault {
    if matches!(error, DependencyError::Offline) { SkillFault::Offline } else { SkillFault::Lookup(error) }
}

fn fetching(error: DependencyError) -> SkillFault {
    if matches!(error, DependencyError::FromForge(ForgeError::Empty { .. })) {
        return SkillFault::Empty;
    }
    SkillFault::Fetch(error)
}
