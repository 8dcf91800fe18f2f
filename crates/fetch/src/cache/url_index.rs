//! Which digest a URL had when it was first seen: `url-index.json`.
//!
//! Files that a pinned file refers to by relative path have no pin of their own. Their digests are remembered here
//! between runs. The index is only a hint: what it names is verified when it is read from the cache.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fullsend_origin::Sha256Digest;

use super::{Cache, CacheError, files};
use crate::json;
use crate::unique::unique_name;

/// The file in the cache directory.
const FILE: &str = "url-index.json";
/// A hundred thousand URLs take less.
const LIMIT: u64 = 64 * 1024 * 1024;
/// Held while the index is read, changed and replaced.
const LOCK: &str = "url-index.lock";

/// What was found when the index was read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a damaged index should be reported"]
pub enum IndexState {
    /// The index, or an empty one because there was none.
    Sound(BTreeMap<String, Sha256Digest>),
    /// The file cannot be used and counts as empty; it is replaced by the next change.
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
}

impl IndexState {
    /// The entries; none for a damaged index.
    pub fn entries(self) -> BTreeMap<String, Sha256Digest> {
        match self {
            Self::Sound(entries) => entries,
            Self::Damaged { .. } => BTreeMap::new(),
        }
    }
}

/// Digests by URL.
#[derive(Clone, Debug)]
pub struct UrlIndex {
    cache: Cache,
}

impl UrlIndex {
    /// The index of `cache`.
    pub fn new(cache: &Cache) -> Self {
        Self { cache: cache.clone() }
    }

    /// Reads the whole index.
    pub fn read(&self) -> Result<IndexState, CacheError> {
        let path = self.path();
        match files::read_small(&path, LIMIT) {
            Ok(Some(text)) => Ok(parse(&text)),
            Ok(None) => {
                Ok(IndexState::Damaged { reason: "it is too large or not a regular file".to_owned() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(IndexState::Sound(BTreeMap::new())),
            Err(error) => Err(CacheError::io("read", &path)(error)),
        }
    }

    /// The digest recorded under `key`: a URL, or a URL with one of the prefixes that callers agree on.
    pub fn get(&self, key: &str) -> Result<Option<Sha256Digest>, CacheError> {
        Ok(self.read()?.entries().remove(key))
    }

    /// Records digests, keeping all other entries. Gives the state that the index was in before.
    pub fn record(
        &self,
        digests: impl IntoIterator<Item = (String, Sha256Digest)>,
    ) -> Result<IndexState, CacheError> {
        let _guard = self.cache.lock(LOCK)?;
        let before = self.read()?;
        let mut entries = before.clone().entries();
        entries.extend(digests);
        self.replace(&entries)?;
        Ok(before)
    }

    /// Writes the index anew.
    fn replace(&self, entries: &BTreeMap<String, Sha256Digest>) -> Result<(), CacheError> {
        let texts: BTreeMap<&str, String> =
            entries.iter().map(|(key, digest)| (key.as_str(), digest.to_string())).collect();
        let text = json::pretty(&texts).map_err(CacheError::Json)?;
        let fresh = self.cache.ensure_tmp()?.join(unique_name());
        files::write_new(&fresh, text.as_bytes()).map_err(CacheError::io("write", &fresh))?;
        let path = self.path();
        fs::rename(&fresh, &path).map_err(CacheError::io("replace", &path))?;
        files::sync_dir(self.cache.root()).map_err(CacheError::io("flush", self.cache.root()))
    }

    /// Where the index is.
    fn path(&self) -> PathBuf {
        Path::new(self.cache.root()).join(FILE)
    }
}

/// Reads the text of an index; one bad digest makes all of it suspect.
fn parse(text: &[u8]) -> IndexState {
    let texts: BTreeMap<String, String> = match serde_json::from_slice(text) {
        Ok(texts) => texts,
        Err(error) => return IndexState::Damaged { reason: error.to_string() },
    };
    let parsed = texts.into_iter().map(|(key, digest)| Ok((key, digest.parse()?)));
    match parsed.collect::<Result<_, fullsend_origin::DigestError>>() {
        Ok(entries) => IndexState::Sound(entries),
        Err(error) => IndexState::Damaged { reason: error.to_string() },
    }
}
