//! One way to verified content: allow-list, cache, network, digest, cache, audit log — in this order, for everything.

mod first_use;
mod runtime;

use std::path::PathBuf;
use std::sync::Arc;

use fullsend_fetch::audit::{FetchType, Refusal, Source, Success};
use fullsend_fetch::cache::{CacheError, EntryId, FileHit, Listing, Lookup, TreeFile, TreeHit, content_name};
use fullsend_fetch::get::Mode;
use fullsend_fetch::{Audit, Cache, Fetcher};
use fullsend_origin::{
    ForgeHosts, ForgeUrl, PinnedUrl, RemoteUrl, Sha256Digest, TreeDigest, TreeDigestBuilder, TreePath,
};
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::{DependencyError, PinnedBy, ResolveError};
use crate::file::download_file;
use crate::forge::{DEFAULT_CONCURRENCY, ForgeError, Forges, TreeLimits, download_directory};
use crate::progress::{Progress, Silent};

pub(crate) use first_use::Place;
pub use runtime::{CachedSkill, SkillFault, SkillUrl, skill_dependencies};

/// What is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Want {
    /// Where the harness names it.
    pub(crate) field: String,
    /// The URL and the digest that its content must have.
    pub(crate) url: PinnedUrl,
    /// Whether it is a file or a directory.
    pub(crate) shape: Shape,
    /// The allow-list entry that permits it.
    pub(crate) allowed_by: String,
    /// On whose behalf.
    pub(crate) fetch_type: FetchType,
}

/// Whether something is a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    File,
    Directory,
}

/// What is not given, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused<'r> {
    /// Where the harness names it.
    pub(crate) field: &'r str,
    /// The URL, perhaps not a valid one.
    pub(crate) url: &'r str,
    /// The digest that was asked for.
    pub(crate) digest: Option<Sha256Digest>,
    /// On whose behalf.
    pub(crate) fetch_type: FetchType,
    /// The allow-list entry that would permit it.
    pub(crate) allowed_by: Option<&'r str>,
}

/// What was got.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) path: PathBuf,
    pub(crate) files: Vec<(TreePath, Sha256Digest)>,
    pub(crate) source: Source,
    pub(crate) fetched_at: Timestamp,
}

/// Where verified content comes from and goes to.
#[derive(Debug)]
pub struct Store {
    fetcher: Fetcher,
    cache: Cache,
    audit: Audit,
    forges: Forges,
    hosts: ForgeHosts,
    progress: Arc<dyn Progress>,
}

impl Store {
    /// A store on these parts. The fetcher must allow the hosts of everything that may be wanted.
    #[must_use]
    pub fn new(fetcher: Fetcher, cache: Cache, audit: Audit, forges: Forges, hosts: ForgeHosts) -> Self {
        Self { fetcher, cache, audit, forges, hosts, progress: Arc::new(Silent) }
    }

    /// The same store, with someone who hears of downloads.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Downloads a file.
    async fn download_file(&self, url: &RemoteUrl) -> Result<Vec<u8>, DependencyError> {
        let host = url.as_https().host();
        self.progress.started(host);
        let bytes = download_file(&self.fetcher, &self.forges, &self.hosts, url).await?;
        self.progress.arrived(host, 1, bytes.len() as u64);
        Ok(bytes)
    }

    /// Downloads a directory.
    async fn download_directory(&self, url: &ForgeUrl) -> Result<Vec<TreeFile>, DependencyError> {
        self.progress.started(url.host());
        let files = download(&self.forges, url).await?;
        self.progress.arrived(
            url.host(),
            files.len(),
            files.iter().map(|file| file.bytes.len() as u64).sum(),
        );
        Ok(files)
    }

    /// The cache.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The forges that are known.
    pub(crate) fn hosts(&self) -> &ForgeHosts {
        &self.hosts
    }

    /// Gets many things at once, at most `concurrency` at a time; the answers are in the order of the wishes.
    pub(crate) async fn get_all(
        self: &Arc<Self>,
        wants: Vec<Want>,
        concurrency: usize,
    ) -> Result<Vec<Got>, ResolveError> {
        let gate = Arc::new(Semaphore::new(concurrency.max(1)));
        let mut running = JoinSet::new();
        let count = wants.len();
        for (index, want) in wants.into_iter().enumerate() {
            let (store, gate) = (Arc::clone(self), Arc::clone(&gate));
            running.spawn(async move {
                let _place = gate.acquire_owned().await;
                (index, store.get(&want).await)
            });
        }
        let mut answers: Vec<Option<Result<Got, ResolveError>>> = (0..count).map(|_| None).collect();
        while let Some(joined) = running.join_next().await {
            // An answer that is missing would give every later wish the content of another.
            let (index, answer) = joined.unwrap_or_else(|error| std::panic::resume_unwind(Box::new(error)));
            if let Some(slot) = answers.get_mut(index) {
                *slot = Some(answer);
            }
        }
        answers.into_iter().flatten().collect()
    }

    /// Gets one thing and records it, or records why not.
    pub(crate) async fn get(self: &Arc<Self>, want: &Want) -> Result<Got, ResolveError> {
        self.get_from(want, Source::Cache).await
    }

    /// As [`Store::get`], for something that was put into the cache from `source` a moment ago.
    pub(crate) async fn get_from(self: &Arc<Self>, want: &Want, source: Source) -> Result<Got, ResolveError> {
        let got = match want.shape {
            Shape::File => self.file(want).await,
            Shape::Directory => self.directory(want).await,
        };
        match got {
            Ok(mut got) => {
                if source == Source::Network {
                    got.source = source;
                }
                self.audit.success(&Success {
                    url: want.url.url().as_str(),
                    digest: want.url.digest(),
                    fetch_type: want.fetch_type,
                    allowed_by: &want.allowed_by,
                    source: got.source,
                })?;
                Ok(got)
            }
            Err(error) => Err(self.refuse(want, Some(&want.allowed_by), error)),
        }
    }

    /// Records a refusal and makes it an error of the whole resolution.
    pub(crate) fn refuse(
        &self,
        want: &Want,
        allowed_by: Option<&str>,
        error: DependencyError,
    ) -> ResolveError {
        let digest = Some(want.url.digest());
        let refused = Refused {
            field: &want.field,
            url: want.url.url().as_str(),
            digest,
            fetch_type: want.fetch_type,
            allowed_by,
        };
        self.refuse_unpinned(&refused, error)
    }

    /// As [`Store::refuse`], for something whose URL or digest is not known.
    pub(crate) fn refuse_unpinned(&self, refused: &Refused<'_>, error: DependencyError) -> ResolveError {
        // A query may hold a secret, and what is no path beside a base may hold anything.
        let url = refused.url.split(['?', '#']).next().unwrap_or_default();
        let recorded = self.audit.refusal(&Refusal {
            url,
            digest: refused.digest,
            fetch_type: refused.fetch_type,
            allowed_by: refused.allowed_by,
            code: error.code(),
            reason: &whole_reason(&error),
        });
        match recorded {
            Ok(()) => ResolveError::Dependency {
                field: refused.field.to_owned(),
                url: url.to_owned(),
                source: Box::new(error),
            },
            Err(error) => error.into(),
        }
    }

    async fn file(self: &Arc<Self>, want: &Want) -> Result<Got, DependencyError> {
        let digest = want.url.digest();
        let id = EntryId::File(digest);
        if let Some(hit) = self.cached(id, move |cache| cache.get_file(&digest)).await?
            && self.stands_for(want, hit.metadata.url()).await?
        {
            return self.found_file(want, &hit, Source::Cache);
        }
        let bytes = self.download_file(want.url.url()).await?;
        verify(want, Sha256Digest::of(&bytes))?;
        self.saw(want).await?;
        let url = want.url.url().clone();
        let kept = self.on_cache(move |cache| {
            cache.put_file(&url, &bytes)?;
            cache.get_file(&digest)
        });
        match kept.await? {
            Lookup::Hit(hit) => self.found_file(want, &hit, Source::Network),
            Lookup::Miss => Err(DependencyError::Offline),
            Lookup::Corrupt(reason) => Err(DependencyError::CorruptOffline(reason)),
        }
    }

    fn found_file(&self, want: &Want, hit: &FileHit, source: Source) -> Result<Got, DependencyError> {
        let id = EntryId::File(want.url.digest());
        let path = match content_name(want.url.url()) {
            Some(name) => self.cache.named_path(id, &name)?,
            None => hit.path.clone(),
        };
        Ok(Got { path: absolute(path), files: Vec::new(), source, fetched_at: hit.metadata.fetch_time() })
    }

    async fn directory(self: &Arc<Self>, want: &Want) -> Result<Got, DependencyError> {
        let url = ForgeUrl::parse(want.url.url().as_https(), &self.hosts)?;
        url.require_tree_directory()?;
        let digest = tree_digest(want.url.digest())?;
        let name = url.path().last().cloned().unwrap_or_default();
        let id = EntryId::Tree(digest);
        if let Some(hit) = self.cached(id, move |cache| cache.get_tree(&digest)).await?
            && self.stands_for(want, hit.metadata.url()).await?
        {
            return self.found_tree(id, &name, &hit, Source::Cache);
        }
        let files = self.download_directory(&url).await?;
        verify(want, digest_of(&files)?)?;
        self.saw(want).await?;
        let url = want.url.url().clone();
        let kept = self.on_cache(move |cache| {
            cache.put_tree(&url, &files, Listing::Full)?;
            cache.get_tree(&digest)
        });
        match kept.await? {
            Lookup::Hit(hit) => self.found_tree(id, &name, &hit, Source::Network),
            Lookup::Miss => Err(DependencyError::Offline),
            Lookup::Corrupt(reason) => Err(DependencyError::CorruptOffline(reason)),
        }
    }

    fn found_tree(
        &self,
        id: EntryId,
        name: &str,
        hit: &TreeHit,
        source: Source,
    ) -> Result<Got, DependencyError> {
        let path = absolute(self.cache.named_path(id, name)?);
        let files = hit.files.iter().map(|file| (file.path.clone(), file.digest)).collect();
        Ok(Got { path, files, source, fetched_at: hit.metadata.fetch_time() })
    }

    /// Uses the cache without holding up other work.
    async fn on_cache<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Cache) -> Result<T, CacheError> + Send + 'static,
    ) -> Result<T, DependencyError> {
        let store = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&store.cache)).await;
        Ok(done.unwrap_or_else(|error| std::panic::resume_unwind(Box::new(error)))?)
    }

    /// Looks an entry up without holding up other work. A damaged one is moved aside, so that it is fetched again; where
    /// nothing can be fetched, it is refused.
    async fn cached<T: Send + 'static>(
        self: &Arc<Self>,
        id: EntryId,
        look: impl FnOnce(&Cache) -> Result<Lookup<T>, CacheError> + Send + 'static,
    ) -> Result<Option<T>, DependencyError> {
        let found = self.on_cache(look).await?;
        let offline = self.fetcher.rules().mode == Mode::Offline;
        match found {
            Lookup::Hit(hit) => Ok(Some(hit)),
            Lookup::Miss if offline => Err(DependencyError::Offline),
            Lookup::Miss => Ok(None),
            Lookup::Corrupt(reason) if offline => Err(DependencyError::CorruptOffline(reason)),
            Lookup::Corrupt(reason) => {
                tracing::warn!(digest = %id.digest(), %reason, "replacing a damaged cache entry");
                self.cache.quarantine(id)?;
                Ok(None)
            }
        }
    }
}

/// The harness's own relative paths start at the fullsend directory; a path into the cache must not be taken for one.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// The message of an error and of all that caused it: the log has no other place for them.
fn whole_reason(error: &DependencyError) -> String {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let text = next.to_string();
        if !reason.ends_with(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = next.source();
    }
    reason
}

/// Where the digest of what is wanted is written.
fn pinned_by(want: &Want) -> PinnedBy {
    match want.fetch_type {
        FetchType::BaseResource | FetchType::BaseScript | FetchType::BaseSkill | FetchType::BasePlugin => {
            PinnedBy::Lock
        }
        FetchType::Static | FetchType::Runtime | _ => PinnedBy::Reference,
    }
}

fn verify(want: &Want, actual: Sha256Digest) -> Result<(), DependencyError> {
    let expected = want.url.digest();
    if expected == actual {
        return Ok(());
    }
    Err(DependencyError::Mismatch {
        expected,
        actual,
        url: want.url.url().as_str().to_owned(),
        pinned_by: pinned_by(want),
    })
}

/// The digest of a pin read as that of a tree.
fn tree_digest(digest: Sha256Digest) -> Result<TreeDigest, DependencyError> {
    digest
        .to_string()
        .parse()
        .map_err(|_| DependencyError::Reference { message: "the pin is not a digest".to_owned(), help: None })
}

pub(crate) fn digest_of(files: &[TreeFile]) -> Result<Sha256Digest, DependencyError> {
    let mut builder = TreeDigestBuilder::new();
    for file in files {
        builder.add(file.path.clone(), Sha256Digest::of(&file.bytes)).map_err(|error| {
            DependencyError::Reference {
                message: format!("the directory cannot be hashed: {error}"),
                help: error.help(),
            }
        })?;
    }
    Ok(builder.finish().as_sha256())
}

/// The files of a forge directory.
pub(crate) async fn download(forges: &Forges, url: &ForgeUrl) -> Result<Vec<TreeFile>, ForgeError> {
    let forge = forges.at(url.host())?;
    let tree = download_directory(forge.as_ref(), url, &TreeLimits::default(), DEFAULT_CONCURRENCY).await?;
    Ok(tree.files)
}
