//! Whether the lock file still says what the harnesses say.

mod problem;

use fullsend_harness::value::Platform;
use fullsend_origin::{RemoteUrl, Sha256Digest, TreeDigest};

pub use problem::{LockProblem, Slot};

use super::{LockFile, LockedDependency, LockedHarness, LockedKind, agreed};

/// One reference of a composed harness: what the lock file is asked for, and what it must not contradict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The key that holds the reference, such as `skills[0]`.
    pub field: String,
    /// The platform the harness was composed for.
    pub platform: Option<Platform>,
    /// The URL, without its pin.
    pub url: RemoteUrl,
    /// The pin, unless the reference has none of its own, as a file beside a remote base.
    pub pin: Option<Sha256Digest>,
    /// What the key takes.
    pub kind: LockedKind,
}

/// What the expected references cover, which decides what counts as left over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every platform of the harness.
    AllPlatforms,
    /// One platform; entries of others, and those shared by all, may be needed elsewhere.
    Only(Platform),
}

impl LockFile {
    /// The entry that says what `expected` resolves to, after checking that it does not contradict the harness.
    ///
    /// The entry is looked up by its key; a file that lists a URL once for several keys is searched by URL. Where several
    /// entries claim the key, as in files of older tools that did not tell platforms apart, the URL decides.
    ///
    /// # Errors
    /// What is missing or contradicts; the content of such an entry must not be used.
    pub fn find(&self, harness: &str, expected: &Expected) -> Result<&LockedDependency, LockProblem> {
        match self.harnesses.get(harness) {
            Some(locked) => locked.find(harness, expected),
            None => Err(LockProblem::NotLocked { harness: harness.to_owned() }),
        }
    }

    /// Everything in which the lock file and the references of a harness disagree.
    #[must_use]
    pub fn check(&self, harness: &str, expected: &[Expected], scope: Scope) -> Vec<LockProblem> {
        match self.harnesses.get(harness) {
            Some(locked) => locked.check(harness, expected, scope),
            None if expected.is_empty() => Vec::new(),
            None => vec![LockProblem::NotLocked { harness: harness.to_owned() }],
        }
    }

    /// Whether a harness has changed since it was locked, given the digests of its file and of what else decides
    /// ([`LockedHarness::composed_sha256`]). An entry that does not cover the latter counts as out of date.
    #[must_use]
    pub fn changed(
        &self,
        harness: &str,
        sha256: Sha256Digest,
        composed_sha256: Option<Sha256Digest>,
    ) -> Option<LockProblem> {
        let name = harness.to_owned();
        let Some(locked) = self.harnesses.get(harness) else {
            return Some(LockProblem::NotLocked { harness: name });
        };
        if locked.sha256 != sha256 {
            return Some(LockProblem::HarnessChanged { harness: name, source_file: locked.source.clone() });
        }
        (locked.composed_sha256 != composed_sha256).then_some(LockProblem::InputChanged { harness: name })
    }
}

impl LockedHarness {
    fn find(&self, name: &str, expected: &Expected) -> Result<&LockedDependency, LockProblem> {
        let slot = || Slot::new(name, &expected.field, expected.platform);
        let claims = self.slot(&expected.field, expected.platform);
        let candidates = match claims.first() {
            None => self.with_url(&expected.url, expected.platform),
            Some(_) => claims.iter().copied().filter(|entry| entry.url == expected.url).collect(),
        };
        match (candidates.is_empty(), claims.first(), agreed(&candidates)) {
            (true, None, _) => Err(LockProblem::Missing { slot: slot(), url: boxed(&expected.url) }),
            (true, Some(other), _) => Err(LockProblem::UrlChanged {
                slot: slot(),
                locked: boxed(&other.url),
                expected: boxed(&expected.url),
            }),
            (false, _, None) => Err(LockProblem::Ambiguous { slot: slot(), url: boxed(&expected.url) }),
            (false, _, Some(entry)) => verify(entry, expected, slot).map(|()| entry),
        }
    }

    fn check(&self, name: &str, expected: &[Expected], scope: Scope) -> Vec<LockProblem> {
        let mut needed: Vec<&LockedDependency> = Vec::new();
        let mut problems = Vec::new();
        for expected in expected {
            // A claim that failed is reported as what it is, not also as left over.
            needed.extend(self.slot(&expected.field, expected.platform));
            match self.find(name, expected) {
                Ok(entry) => needed.push(entry),
                Err(problem) => problems.push(problem),
            }
        }
        let in_scope = |entry: &&LockedDependency| match scope {
            Scope::AllPlatforms => true,
            Scope::Only(platform) => entry.platform == Some(platform),
        };
        let left_over = |entry: &&LockedDependency| !needed.iter().any(|other| std::ptr::eq(*other, *entry));
        let stale = self.dependencies.iter().filter(in_scope).filter(left_over);
        problems.extend(stale.map(|entry| LockProblem::Stale {
            slot: Slot::new(name, &entry.field, entry.platform),
            url: boxed(&entry.url),
        }));
        problems
    }
}

/// A URL in a problem; boxed, so that the result of every look-up stays small.
fn boxed(url: &RemoteUrl) -> Box<RemoteUrl> {
    Box::new(url.clone())
}

/// Compares an entry with the pin, the type and its own list of files.
fn verify(entry: &LockedDependency, expected: &Expected, slot: impl Fn() -> Slot) -> Result<(), LockProblem> {
    if let Some(pin) = expected.pin.filter(|pin| *pin != entry.sha256) {
        return Err(LockProblem::PinDiffers { slot: slot(), locked: entry.sha256, pin });
    }
    if entry.kind().is_directory() != expected.kind.is_directory() {
        return Err(LockProblem::KindDiffers { slot: slot(), locked: entry.kind(), expected: expected.kind });
    }
    if !manifest_fits(entry) {
        return Err(LockProblem::ManifestDiffers { slot: slot(), url: boxed(&entry.url) });
    }
    Ok(())
}

/// Whether the listed files, if any, are those that the digest stands for.
fn manifest_fits(entry: &LockedDependency) -> bool {
    let files = || entry.files.iter().map(|file| (file.path.clone(), file.sha256));
    entry.files.is_empty()
        || entry.kind().is_directory()
            && TreeDigest::of(files()).is_ok_and(|tree| tree.as_sha256() == entry.sha256)
}
