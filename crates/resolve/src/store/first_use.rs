//! Content that nothing pins: what was seen first is what it is.

use std::sync::Arc;

use fullsend_fetch::audit::Source;
use fullsend_fetch::cache::{IndexState, Listing, UrlIndex};
use fullsend_fetch::get::Mode;
use fullsend_origin::{ForgeUrl, RemoteUrl, Sha256Digest};

use super::{Shape, Store, Want, digest_of, pinned_by};
use crate::error::{DependencyError, PinnedBy};

/// Whether what lies at a place can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The URL names a commit.
    Fixed,
    /// A branch, a tag, or a host that is no forge.
    Mutable,
}

impl Store {
    /// The digest of content that nothing pins: the one seen first. What lies at a place that cannot change is looked up
    /// in the index; what may have changed since is only looked up there when nobody can be asked.
    pub(crate) async fn first_use(
        self: &Arc<Self>,
        url: &RemoteUrl,
        shape: Shape,
        place: Place,
    ) -> Result<(Sha256Digest, Source), DependencyError> {
        let offline = self.fetcher.rules().mode == Mode::Offline;
        if offline || place == Place::Fixed {
            let key = url.as_str().to_owned();
            if let Some(digest) = self.on_cache(move |cache| UrlIndex::new(cache).get(&key)).await? {
                return Ok((digest, Source::Cache));
            }
        }
        if offline {
            return Err(DependencyError::Offline);
        }
        let digest = self.first_fetch(url, shape).await?;
        self.record(url, digest).await?;
        Ok((digest, Source::Network))
    }

    /// Remembers what was seen at a URL.
    async fn record(self: &Arc<Self>, url: &RemoteUrl, digest: Sha256Digest) -> Result<(), DependencyError> {
        let key = url.as_str().to_owned();
        let recorded = self.on_cache(move |cache| UrlIndex::new(cache).record([(key, digest)])).await?;
        if let IndexState::Damaged { reason } = recorded {
            tracing::warn!(%reason, "the URL index was damaged and is written anew");
        }
        Ok(())
    }

    /// Whether a cached copy that came from the URL `from` may stand for what is wanted. A pin that the reference states
    /// may be satisfied from anywhere. The lock file is no such authority: whoever edits it could put one cached script
    /// in the place of another, so its digest counts only for content that was seen at this very URL.
    pub(super) async fn stands_for(
        self: &Arc<Self>,
        want: &Want,
        from: &str,
    ) -> Result<bool, DependencyError> {
        let url = want.url.url().as_str();
        if pinned_by(want) == PinnedBy::Reference || from == url {
            return Ok(true);
        }
        let key = url.to_owned();
        let seen = self.on_cache(move |cache| UrlIndex::new(cache).get(&key)).await?;
        let here = seen == Some(want.url.digest());
        if !here && self.fetcher.rules().mode == Mode::Offline {
            return Err(DependencyError::Offline);
        }
        Ok(here)
    }

    /// Remembers where verified content was seen, when that matters.
    pub(super) async fn saw(self: &Arc<Self>, want: &Want) -> Result<(), DependencyError> {
        match pinned_by(want) {
            PinnedBy::Reference => Ok(()),
            PinnedBy::Lock => self.record(want.url.url(), want.url.digest()).await,
        }
    }

    /// Fetches what nothing pins into the cache.
    async fn first_fetch(
        self: &Arc<Self>,
        url: &RemoteUrl,
        shape: Shape,
    ) -> Result<Sha256Digest, DependencyError> {
        let kept = url.clone();
        match shape {
            Shape::File => {
                let bytes = self.download_file(url).await?;
                let digest = Sha256Digest::of(&bytes);
                self.on_cache(move |cache| cache.put_file(&kept, &bytes)).await?;
                Ok(digest)
            }
            Shape::Directory => {
                let forge_url = ForgeUrl::parse(url.as_https(), &self.hosts)?;
                let files = self.download_directory(&forge_url).await?;
                let digest = digest_of(&files)?;
                self.on_cache(move |cache| cache.put_tree(&kept, &files, Listing::Full)).await?;
                Ok(digest)
            }
        }
    }
}
