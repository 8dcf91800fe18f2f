//! Names that no other thread or process picks at the same time.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the names given out by this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file name of process id, counter and random digits.
///
/// Whoever uses it still creates the file exclusively; the random part only makes clashes rare when process ids are
/// reused or belong to different process id namespaces.
pub(crate) fn unique_name() -> String {
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}-{:016x}", std::process::id(), random_u64())
}

/// A random number; not for secrets.
pub(crate) fn random_u64() -> u64 {
    RandomState::new().hash_one(NEXT.load(Ordering::Relaxed))
}
