//! Making and using lock files: what a resolution found becomes entries, and entries hold the next resolution to it.

use std::collections::HashMap;
use std::path::Path;

use fullsend_harness::Library;
use fullsend_harness::compose::overlay;
use fullsend_harness::config::Configuration;
use fullsend_harness::resources::{ResourceKind, Source, resources};
use fullsend_harness::schema::HarnessFile;
use fullsend_harness::value::Platform;
use fullsend_origin::{RemoteUrl, Sha256Digest, Sha256Hasher};
use jiff::Timestamp;

use crate::dependency::Dependency;
use crate::lock::{Expected, LockFile, LockProblem, LockedDependency, LockedHarness, LockedKind, LockedPath};
use crate::resolver::Limits;

/// What decides what a harness resolves to, as digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// The harness file itself.
    pub harness: Sha256Digest,
    /// Everything else: local bases, the organisation's list, limits.
    pub composed: Sha256Digest,
}

impl Inputs {
    /// The inputs of a harness as they are now.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn of(
        library: &mut Library,
        configuration: &Configuration,
        path: &Path,
        limits: &Limits,
    ) -> std::io::Result<Self> {
        let mut unreported = Vec::new();
        let chain =
            library.compose(path, &mut unreported).map(|composition| composition.chain).unwrap_or_default();
        let harness = Sha256Digest::of(&std::fs::read(path)?);
        let bases: Vec<_> = chain.iter().skip(1).filter(|link| link.is_file()).collect();
        let mut hasher = Sha256Hasher::new();
        for base in bases {
            hasher.update(Sha256Digest::of(&std::fs::read(base)?).as_bytes());
        }
        for entry in configuration.allow.iter() {
            hasher.update(entry.as_str().as_bytes());
            hasher.update(b"\n");
        }
        hasher.update(format!("{} {}\n", limits.max_depth, limits.max_resources).as_bytes());
        Ok(Self { harness, composed: hasher.finish() })
    }
}

/// The platforms that a harness is locked for: none in particular, and those it has an overlay for. An overlay may replace
/// what the harness names, so that what is used without one is not covered by the passes with one.
#[must_use]
pub fn platforms(harness: &HarnessFile) -> Vec<Option<Platform>> {
    let configured = harness.forge.iter().flat_map(|forge| &forge.platforms);
    let mut platforms: Vec<Option<Platform>> =
        configured.filter(|(_, overlay)| overlay.is_some()).map(|(platform, _)| Some(*platform)).collect();
    platforms.sort_by_key(|platform| platform.map(Platform::as_str));
    platforms.insert(0, None);
    platforms
}

/// The entry that records what a harness resolved to on each platform. What is the same everywhere is recorded once.
#[must_use]
pub fn locked_harness(
    source: String,
    inputs: &Inputs,
    now: Timestamp,
    resolved: &[(Option<Platform>, Vec<Dependency>)],
) -> LockedHarness {
    let everywhere = |dependency: &Dependency| {
        resolved.iter().all(|(_, others)| others.iter().any(|other| same(other, dependency)))
    };
    let mut dependencies: Vec<LockedDependency> = Vec::new();
    for (platform, found) in resolved {
        for dependency in found {
            let platform = if everywhere(dependency) { None } else { *platform };
            let Some(entry) = locked_dependency(dependency, platform) else { continue };
            if !dependencies.iter().any(|known| {
                known.field == entry.field && known.url == entry.url && known.platform == entry.platform
            }) {
                dependencies.push(entry);
            }
        }
    }
    LockedHarness {
        source,
        sha256: inputs.harness,
        composed_sha256: Some(inputs.composed),
        resolved_at: now,
        dependencies,
    }
}

/// The same entry when only one platform was resolved: nothing in it is known to hold elsewhere, and what an entry that is
/// still current says about other platforms stays.
#[must_use]
pub fn for_platform(
    mut entry: LockedHarness,
    platform: Platform,
    old: Option<&LockedHarness>,
) -> LockedHarness {
    entry.dependencies.iter_mut().for_each(|dependency| dependency.platform = Some(platform));
    let current =
        old.filter(|old| old.sha256 == entry.sha256 && old.composed_sha256 == entry.composed_sha256);
    let others = current.iter().flat_map(|old| &old.dependencies);
    let mut kept: Vec<LockedDependency> =
        others.filter(|other| other.platform != Some(platform)).cloned().collect();
    // What holds everywhere would contradict newer content of the same URL.
    let newer = |other: &LockedDependency| {
        entry.dependencies.iter().any(|new| new.url == other.url && new.sha256 != other.sha256)
    };
    kept.retain(|other| other.platform.is_some() || !newer(other));
    entry.dependencies.retain(|new| {
        !kept
            .iter()
            .any(|other| other.platform.is_none() && (&other.field, &other.url) == (&new.field, &new.url))
    });
    entry.dependencies.extend(kept);
    entry
}

fn same(one: &Dependency, other: &Dependency) -> bool {
    one.field == other.field && one.url == other.url && one.sha256 == other.sha256
}

fn locked_dependency(dependency: &Dependency, platform: Option<Platform>) -> Option<LockedDependency> {
    let files =
        dependency.files.iter().map(|(path, sha256)| LockedPath { path: path.clone(), sha256: *sha256 });
    Some(LockedDependency {
        field: dependency.field.clone(),
        platform,
        url: RemoteUrl::parse(&dependency.url).ok()?,
        sha256: dependency.sha256,
        kind: Some(dependency.kind),
        files: files.collect(),
        fetched_at: dependency.fetched_at,
    })
}

/// The digests that the lock file records for a harness on a platform, by clean URL. Entries of other platforms are left
/// out.
#[must_use]
pub fn locked_digests(
    lock: &LockFile,
    harness: &str,
    platform: Option<Platform>,
) -> HashMap<String, Sha256Digest> {
    let entries =
        lock.harnesses.get(harness).map(|locked| locked.dependencies.as_slice()).unwrap_or_default();
    entries
        .iter()
        .filter(|entry| entry.platform.is_none() || entry.platform == platform)
        .map(|entry| (entry.url.as_str().to_owned(), entry.sha256))
        .collect()
}

/// What is wrong with the lock file's entry of a harness, as far as the files of the fullsend directory tell; nothing is
/// fetched. What a remote base contributes is therefore not looked at, and because it moves the positions of what the
/// harness adds to a list, references are then looked up by their URL.
#[must_use]
pub fn problems(
    lock: &LockFile,
    name: &str,
    harness: &HarnessFile,
    inputs: &Inputs,
    wanted: &[Option<Platform>],
) -> Vec<LockProblem> {
    // Without a current entry every reference would say the same.
    if let Some(problem) = lock.changed(name, inputs.harness, Some(inputs.composed)) {
        return vec![problem];
    }
    let references = wanted.iter().flat_map(|platform| expected(harness, *platform));
    references
        .filter_map(|mut reference| {
            if harness.base.is_some()
                && let Some(entry) = lock.by_url(name, &reference.url, reference.platform)
            {
                reference.field.clone_from(&entry.field);
            }
            lock.find(name, &reference).err()
        })
        .collect()
}

/// Whether the lock file has what a harness was resolved to on a platform.
///
/// # Errors
/// The first dependency that it does not have, or has with another digest.
pub fn agrees(
    lock: &LockFile,
    name: &str,
    platform: Option<Platform>,
    dependencies: &[Dependency],
) -> Result<(), LockProblem> {
    for dependency in dependencies {
        let Ok(url) = RemoteUrl::parse(&dependency.url) else { continue };
        let field = lock.by_url(name, &url, platform).map(|entry| entry.field.clone());
        lock.find(
            name,
            &Expected {
                field: field.unwrap_or_else(|| dependency.field.clone()),
                platform,
                url,
                pin: Some(dependency.sha256),
                kind: dependency.kind,
            },
        )?;
    }
    Ok(())
}

/// The references that a composed harness itself makes on a platform; the lock file must not contradict them.
#[must_use]
pub fn expected(harness: &HarnessFile, platform: Option<Platform>) -> Vec<Expected> {
    let harness = match platform {
        Some(platform) => overlay(harness.clone(), platform).unwrap_or_else(|| harness.clone()),
        None => harness.clone(),
    };
    let mut expected = Vec::new();
    for resource in resources(&harness) {
        let Source::Remote(url) = resource.source else { continue };
        let directory = matches!(resource.kind, ResourceKind::Skill | ResourceKind::Plugin);
        expected.push(Expected {
            field: resource.label(),
            platform,
            url: url.url().clone(),
            pin: Some(url.digest()),
            kind: if directory { LockedKind::Directory } else { LockedKind::File },
        });
    }
    expected
}
