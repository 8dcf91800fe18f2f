//! A whole directory, or nothing.

use std::num::NonZeroUsize;

use fullsend_fetch::cache::TreeFile;
use fullsend_origin::{ForgeUrl, ForgeUrlError, PathKind, Sha256Digest, TreeDigest};
use futures_util::stream::{self, StreamExt as _};

use super::{CommitId, Forge, ForgeError, ListedFile, ListingFault, Place, Repository, TreeLimits};

/// How many files are under way at once: enough that latency does not matter, few enough not to be taken for an attack.
pub const DEFAULT_CONCURRENCY: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);

/// A directory of a repository, complete and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadedTree {
    /// The files in byte order of their paths.
    pub files: Vec<TreeFile>,
    /// The digest of the whole.
    pub digest: TreeDigest,
    /// Where it is from.
    pub commit: CommitId,
}

/// Downloads the directory of `url`, with at most `concurrency` files under way at once.
///
/// Each file is compared with the listing. The first problem ends everything; nothing is kept of a directory that is
/// not complete.
pub async fn download_directory(
    forge: &dyn Forge,
    url: &ForgeUrl,
    limits: &TreeLimits,
    concurrency: NonZeroUsize,
) -> Result<DownloadedTree, ForgeError> {
    if url.path_kind() == PathKind::Blob {
        return Err(ForgeUrlError::NotADirectory.into());
    }
    let commit = forge.resolve_commit(url).await?;
    let listed = forge.list_directory(url, &commit, limits).await?;
    check_listing(&listed, url, &commit, limits)?;
    let downloads = listed.iter().map(|file| download(forge, url, &commit, file));
    let downloads: Vec<_> = downloads.collect();
    let mut arriving = stream::iter(downloads).buffer_unordered(concurrency.get());
    let mut files = Vec::with_capacity(listed.len());
    let mut bytes: u64 = 0;
    while let Some(file) = arriving.next().await {
        let file = file?;
        bytes = bytes.saturating_add(file.bytes.len() as u64);
        if bytes > limits.max_bytes {
            return Err(ForgeError::TooManyBytes { limit: limits.max_bytes });
        }
        files.push(file);
    }
    drop(arriving);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let digest = digest_of(&files)?;
    Ok(DownloadedTree { files, digest, commit })
}

/// Checks what must hold for every forge, whoever wrote its client.
fn check_listing(
    listed: &[ListedFile],
    url: &ForgeUrl,
    commit: &CommitId,
    limits: &TreeLimits,
) -> Result<(), ForgeError> {
    if listed.is_empty() {
        let place = Place::at(&Repository::of(url), commit, &url.path_text());
        return Err(ForgeError::Empty { place: Box::new(place) });
    }
    if listed.len() > limits.max_files {
        return Err(ForgeError::TooManyFiles { limit: limits.max_files });
    }
    let known = listed.iter().filter_map(|file| file.size).fold(0, u64::saturating_add);
    if known > limits.max_bytes {
        return Err(ForgeError::TooManyBytes { limit: limits.max_bytes });
    }
    Ok(())
}

/// Downloads one file; its client compares it with the listing.
async fn download(
    forge: &dyn Forge,
    url: &ForgeUrl,
    commit: &CommitId,
    file: &ListedFile,
) -> Result<TreeFile, ForgeError> {
    let bytes = forge.get_listed_file(url, commit, file).await?;
    Ok(TreeFile { path: file.path.clone(), bytes, mode: file.mode })
}

/// The digest of all files; a path that occurs twice is refused.
fn digest_of(files: &[TreeFile]) -> Result<TreeDigest, ForgeError> {
    let pairs = files.iter().map(|file| (file.path.clone(), Sha256Digest::of(&file.bytes)));
    TreeDigest::of(pairs)
        .map_err(|error| ForgeError::Listing { path: String::new(), source: ListingFault::Path(error) })
}
