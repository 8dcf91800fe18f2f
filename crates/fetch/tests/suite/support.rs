//! What several tests need.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use fullsend_fetch::Clock;
use fullsend_fetch::cache::{Cache, EntryId, Listing, Lookup, Stored, TreeFile};
use fullsend_origin::{RemoteUrl, TreeDigest, TreePath};
use jiff::Timestamp;

/// A clock that tests set, in seconds.
#[derive(Debug)]
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn set(&self, second: i64) {
        self.0.store(second, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::new(self.0.load(Ordering::SeqCst), 120_000_000).unwrap()
    }
}

/// A cache in a directory of its own, at half past midnight.
pub(crate) struct Scratch {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) cache: Cache,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock(AtomicI64::new(1_800)));
        let shared: Arc<dyn Clock> = Arc::<TestClock>::clone(&clock);
        let cache = Cache::with_clock(directory.path(), shared).unwrap();
        Self { directory, clock, cache }
    }

    pub(crate) fn put(&self, bytes: &str) -> Stored {
        self.cache.put_file(&url("https://example.com/a"), bytes.as_bytes()).unwrap()
    }

    pub(crate) fn put_tree(&self, files: &[(&str, &str)]) -> Stored {
        self.cache.put_tree(&url("https://example.com/t"), &tree(files), Listing::Unstated).unwrap()
    }

    /// The directory of an entry.
    pub(crate) fn entry(&self, stored: &Stored) -> PathBuf {
        self.cache.entry_path(stored.id)
    }

    /// The code of what is wrong with an entry, `hit` or `miss`.
    pub(crate) fn state(&self, stored: &Stored) -> String {
        let answer = match stored.id {
            EntryId::File(digest) => self.cache.get_file(&digest).unwrap().map_to_unit(),
            EntryId::Tree(digest) => self.cache.get_tree(&digest).unwrap().map_to_unit(),
        };
        assert_eq!(describe(&self.cache.verify(stored.id).unwrap()), describe(&answer));
        describe(&answer)
    }
}

trait MapToUnit {
    fn map_to_unit(self) -> Lookup<()>;
}

impl<T> MapToUnit for Lookup<T> {
    fn map_to_unit(self) -> Lookup<()> {
        match self {
            Self::Hit(_) => Lookup::Hit(()),
            Self::Miss => Lookup::Miss,
            Self::Corrupt(reason) => Lookup::Corrupt(reason),
        }
    }
}

fn describe<T>(answer: &Lookup<T>) -> String {
    match answer {
        Lookup::Hit(_) => "hit".to_owned(),
        Lookup::Miss => "miss".to_owned(),
        Lookup::Corrupt(reason) => reason.code().to_owned(),
    }
}

pub(crate) fn url(text: &str) -> RemoteUrl {
    RemoteUrl::parse(text).unwrap()
}

pub(crate) fn path(text: &str) -> TreePath {
    TreePath::parse(text).unwrap()
}

pub(crate) fn tree(files: &[(&str, &str)]) -> Vec<TreeFile> {
    files.iter().map(|(name, text)| TreeFile::new(path(name), text.as_bytes())).collect()
}

pub(crate) fn tree_digest(stored: &Stored) -> TreeDigest {
    match stored.id {
        EntryId::Tree(digest) => digest,
        EntryId::File(digest) => panic!("{digest} is a file"),
    }
}

/// Every path below `root` with its mode in octal, links with their targets.
pub(crate) fn snapshot(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if found.is_symlink() {
                lines.push(format!("{name} -> {}", fs::read_link(&path).unwrap().display()));
                continue;
            }
            lines.push(format!("{name} {:o}", found.permissions().mode() & 0o7777));
            if found.is_dir() {
                pending.push(path);
            }
        }
    }
    lines.sort();
    lines
}
