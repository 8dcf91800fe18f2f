//! Looking after a cache: what is in it, is it intact, what can go.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use fullsend_origin::{Sha256Digest, TreeDigest};

use super::read::{Halt, read_metadata};
use super::{Cache, CacheError, Corruption, EntryId, Lookup, Metadata, files};

/// No writer takes this long; what is older in `tmp/` was left by one that died.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// An entry as found in a listing; its content was not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name and kind.
    pub id: EntryId,
    /// Sum of the sizes of its files, the record not counted.
    pub size: u64,
    /// Its record; `None` when that is missing or damaged.
    pub metadata: Option<Metadata>,
}

/// How many threads a verification may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parallel {
    /// One.
    Single,
    /// One per processor.
    #[default]
    Available,
}

/// What verification says about one entry.
#[derive(Debug)]
#[non_exhaustive]
pub enum Health {
    /// Every byte is as it should be.
    Intact,
    /// The entry is not complete, so it counts as absent.
    Incomplete,
    /// The content is not what the name says.
    Corrupt(Corruption),
    /// The system did not let us look.
    Unreadable(CacheError),
}

/// What verification says about the cache.
#[derive(Debug, Default)]
#[must_use]
pub struct VerifyReport {
    /// All entries with their health, in order of their digests.
    pub entries: Vec<(EntryId, Health)>,
    /// Bytes that were verified as intact.
    pub bytes: u64,
}

impl VerifyReport {
    /// Whether every entry is intact.
    pub fn is_sound(&self) -> bool {
        self.entries.iter().all(|(_, health)| matches!(health, Health::Intact))
    }
}

/// What a collection removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Entries removed.
    pub removed: Vec<EntryId>,
    /// Their size in bytes.
    pub bytes: u64,
    /// Leftovers of dead writers and old quarantined entries removed from `tmp/`.
    pub leftovers: usize,
}

impl Cache {
    /// All entries in order of their digests. Names that are no digest are left out.
    pub fn list(&self) -> Result<Vec<Listed>, CacheError> {
        let Some(parent) = self.entries_dir()? else {
            return Ok(Vec::new());
        };
        let names = files::list(&parent).map_err(CacheError::io("list", &self.entries_path()))?;
        let mut digests: Vec<Sha256Digest> = names.iter().filter_map(|(name, _)| name.parse().ok()).collect();
        digests.sort_unstable();
        digests.into_iter().map(|digest| self.listed(&parent, digest)).collect()
    }

    /// Verifies every entry.
    pub fn verify_all(&self, parallel: Parallel) -> Result<VerifyReport, CacheError> {
        let listed = self.list()?;
        let threads = match parallel {
            Parallel::Single => 1,
            Parallel::Available => self.threads,
        };
        // The threads go over entries here, so that each entry takes one.
        let single = Self { threads: 1, ..self.clone() };
        let next = AtomicUsize::new(0);
        let report = Mutex::new(VerifyReport::default());
        let work = || {
            while let Some(entry) = listed.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (health, bytes) = single.health(entry.id);
                let mut report = report.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                report.entries.push((entry.id, health));
                report.bytes += bytes;
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(listed.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut report = report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        report.entries.sort_by_key(|(id, _)| id.digest());
        Ok(report)
    }

    /// Removes entries that are not in `keep` and were stored longer than `older_than` ago, and what dead writers
    /// left behind.
    pub fn gc(&self, keep: &BTreeSet<Sha256Digest>, older_than: Duration) -> Result<GcReport, CacheError> {
        let mut report = GcReport::default();
        for entry in self.list()? {
            if keep.contains(&entry.id.digest()) || !self.is_older(&entry, older_than) {
                continue;
            }
            if let Some(moved) = self.take_out_old(entry.id, older_than)? {
                remove(&moved)?;
                report.removed.push(entry.id);
                report.bytes += entry.size;
            }
        }
        report.leftovers = self.sweep()?;
        Ok(report)
    }

    /// Moves an entry out unless somebody stored it again meanwhile.
    fn take_out_old(&self, id: EntryId, older_than: Duration) -> Result<Option<PathBuf>, CacheError> {
        let _guard = self.lock(super::REPAIR_LOCK)?;
        let Some(parent) = self.entries_dir()? else {
            return Ok(None);
        };
        let entry = self.listed(&parent, id.digest())?;
        if self.is_older(&entry, older_than) { self.take_out(id, "gc") } else { Ok(None) }
    }

    /// The health of one entry and its size if it is intact.
    fn health(&self, id: EntryId) -> (Health, u64) {
        match self.verify(id) {
            Ok(Lookup::Hit(bytes)) => (Health::Intact, bytes),
            Ok(Lookup::Miss) => (Health::Incomplete, 0),
            Ok(Lookup::Corrupt(reason)) => (Health::Corrupt(reason), 0),
            Err(error) => (Health::Unreadable(error), 0),
        }
    }

    /// Describes one entry without verifying it.
    fn listed(&self, parent: &OwnedFd, digest: Sha256Digest) -> Result<Listed, CacheError> {
        let path = self.entries_path().join(digest.to_string());
        let metadata = match files::open_dir(parent, &digest.to_string()) {
            Ok(dir) => match read_metadata(&dir, &path) {
                Ok(metadata) => Some(metadata),
                Err(Halt::Miss | Halt::Corrupt(_)) => None,
                Err(Halt::Failed(error)) => return Err(error),
            },
            // A link, or removed since it was listed; verification says which.
            Err(_) => None,
        };
        let is_tree = match &metadata {
            Some(metadata) => metadata.is_directory(),
            None => path.join(super::TREE).is_dir(),
        };
        let tree: Option<TreeDigest> = digest.to_string().parse().ok().filter(|_| is_tree);
        let id = tree.map_or(EntryId::File(digest), EntryId::Tree);
        Ok(Listed { id, size: size_below(&path.join(id.body())), metadata })
    }

    /// Whether an entry was stored longer than `age` ago; one that does not say goes by its directory.
    fn is_older(&self, entry: &Listed, age: Duration) -> bool {
        let now = SystemTime::from(self.clock.now());
        let stored = match &entry.metadata {
            Some(metadata) => Some(SystemTime::from(metadata.fetch_time())),
            None => modified(&self.entry_path(entry.id)),
        };
        stored.is_some_and(|stored| now.duration_since(stored).is_ok_and(|passed| passed >= age))
    }

    /// Removes what is old in `tmp/`, except locks: a lock that is removed while held locks nobody out.
    fn sweep(&self) -> Result<usize, CacheError> {
        let tmp = self.root.join(super::TMP);
        let names = match fs::read_dir(&tmp) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(CacheError::io("list", &tmp)(error)),
        };
        let now = SystemTime::from(self.clock.now());
        let mut removed = 0;
        for entry in names {
            let path = entry.map_err(CacheError::io("list", &tmp))?.path();
            let is_lock = path.extension().is_some_and(|extension| extension == "lock");
            let age = modified(&path).and_then(|at| now.duration_since(at).ok());
            if !is_lock && age.is_some_and(|age| age >= ABANDONED) {
                remove(&path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// When something was last changed, not following links.
fn modified(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).and_then(|found| found.modified()).ok()
}

/// Removes a file, link or directory; gone already is fine.
fn remove(path: &Path) -> Result<(), CacheError> {
    let is_dir = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CacheError::io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The sum of all file sizes at and below `path`, as far as they can be seen; links are not followed.
fn size_below(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => found.len(),
        Ok(found) if found.is_dir() => {
            let children = fs::read_dir(path).into_iter().flatten().flatten();
            children.map(|child| size_below(&child.path())).sum()
        }
        Ok(_) | Err(_) => 0,
    }
}
