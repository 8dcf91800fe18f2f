//! The chain of bases: found, bounded, kept inside the fullsend directory, merged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_origin::Reference;
use fullsend_yaml::{Diagnostic, FileId, Located, Location};

use crate::compose::merge;
use crate::library::{Library, Loaded};
use crate::path::{self, Containment};
use crate::rules;
use crate::schema::HarnessFile;
use crate::value::Resource;

/// How many bases a chain may have.
pub const MAX_BASES: usize = 5;

/// A harness with its bases merged in.
#[derive(Debug, Clone)]
pub struct Composition {
    /// The merged harness; its `base` key is set only when the chain ends in a remote base that was not provided.
    pub harness: Arc<HarnessFile>,
    /// The file that was composed.
    pub file: FileId,
    /// The files of the chain, the child first; remote ones by their URL.
    pub chain: Vec<PathBuf>,
    /// Whether something of the chain is missing from `harness`: a broken file or a remote base.
    pub incomplete: bool,
    /// Whether the file that was composed has errors itself, so that keys that are never inherited may be missing.
    pub damaged: bool,
}

impl Composition {
    /// The start of the child file, where problems of the whole harness are reported.
    #[must_use]
    pub fn start(&self) -> Location {
        Location::new(self.file, 0..0)
    }
}

/// Merges the layers, the child first; a harness without bases is shared, not copied.
fn flatten(mut layers: Vec<Arc<HarnessFile>>) -> Option<Arc<HarnessFile>> {
    let remote = layers.last().and_then(|layer| layer.base.clone()).filter(|base| base.local().is_none());
    if layers.len() == 1 && remote.is_some() == layers.first().is_some_and(|layer| layer.base.is_some()) {
        return layers.pop();
    }
    let mut harness = layers.into_iter().rev().map(Arc::unwrap_or_clone).reduce(merge)?;
    harness.base = remote;
    Some(Arc::new(harness))
}

impl Library {
    /// Composes a harness file with its bases. Problems of the chain go to `problems`; those of each file were
    /// reported when it was loaded. `None` when the file itself cannot be read as a harness. A remote base is followed
    /// when it was [provided](Library::provide).
    pub fn compose(&mut self, path: &Path, problems: &mut Vec<Diagnostic>) -> Option<Composition> {
        let child = self.harness(path, problems)?;
        let mut layers: Vec<Arc<HarnessFile>> = vec![child.harness?];
        let mut chain = vec![Link::Local(path::normalize(path))];
        let mut incomplete = child.damaged;
        while let Some(base) = layers.last().and_then(|layer| layer.base.clone()) {
            let next = self.follow(&base, &chain, problems);
            let Some((link, Loaded { harness: Some(harness), damaged, .. })) = next else {
                incomplete = true;
                break;
            };
            incomplete |= damaged;
            chain.push(link);
            layers.push(harness);
        }
        tracing::debug!(path = %path.display(), layers = layers.len(), incomplete, "composed");
        let (file, damaged) = (child.file, child.damaged);
        let chain = chain.into_iter().map(Link::into_path).collect::<Vec<_>>();
        Some(Composition { harness: flatten(layers)?, file, chain, incomplete, damaged })
    }

    /// Loads the next base of a chain, or reports why it cannot be.
    fn follow(
        &mut self,
        base: &Located<Resource>,
        chain: &[Link],
        problems: &mut Vec<Diagnostic>,
    ) -> Option<(Link, Loaded)> {
        let link = match self.next_link(base, chain) {
            Ok(link) => link,
            Err(problem) => {
                problems.push(*problem);
                return None;
            }
        };
        let loaded = match (&link, base.value.reference()) {
            (Link::Remote(_), Reference::Remote(url)) => self.provided(url).cloned(),
            (Link::Local(path), _) => self.local_base(path, base, problems),
            (Link::Remote(_), Reference::Local(_)) => None,
        };
        loaded.map(|loaded| (link, loaded))
    }

    /// Where the next base is, when it may be followed.
    fn next_link(&self, base: &Located<Resource>, chain: &[Link]) -> Result<Link, Box<Diagnostic>> {
        let report = |rule, message: String| Err(Box::new(Diagnostic::new(rule, base.at, message)));
        let link = match (base.value.reference(), chain.last()) {
            (Reference::Remote(url), _) if self.provided(url).is_none() => {
                return report(&rules::BASE_REMOTE, "the remote base was not checked".to_owned());
            }
            (Reference::Remote(url), _) => Link::Remote(url.url().as_str().to_owned()),
            (Reference::Local(_), Some(Link::Remote(_))) => {
                let message = format!("the base `{}` of a remote base is not a pinned URL", base.value);
                return report(&rules::BASE_OF_REMOTE, message);
            }
            (Reference::Local(written), including) => {
                let directory = including.and_then(Link::directory).unwrap_or(Path::new(""));
                Link::Local(path::normalize(&directory.join(written.as_path())))
            }
        };
        if let Link::Local(path) = &link
            && path::containment(self.root(), path) == Containment::Outside
        {
            let message = format!("the base `{}` lies outside the fullsend directory", base.value);
            return report(&rules::BASE_OUTSIDE, message);
        }
        if let Some(start) = chain.iter().position(|known| *known == link) {
            let circle: Vec<String> =
                chain.iter().skip(start).chain([&link]).map(ToString::to_string).collect();
            return report(&rules::BASE_CYCLE, format!("bases lead in a circle: {}", circle.join(" → ")));
        }
        if chain.len() > MAX_BASES {
            let message = format!("this is base number {}; at most {MAX_BASES} are followed", chain.len());
            return report(&rules::BASE_DEPTH, message);
        }
        Ok(link)
    }

    fn local_base(
        &mut self,
        path: &Path,
        base: &Located<Resource>,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Loaded> {
        match self.try_harness(path, problems) {
            Ok(loaded) => Some(loaded),
            Err(error) => {
                let message = format!("no base there: {error}");
                problems
                    .push(Diagnostic::new(&rules::BASE_MISSING, base.at, message).with_help(error.help()));
                None
            }
        }
    }
}

/// A file of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Link {
    Local(PathBuf),
    Remote(String),
}

impl Link {
    fn directory(&self) -> Option<&Path> {
        match self {
            Link::Local(path) => path.parent(),
            Link::Remote(_) => None,
        }
    }

    fn into_path(self) -> PathBuf {
        match self {
            Link::Local(path) => path,
            Link::Remote(url) => PathBuf::from(url),
        }
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Link::Local(path) => path.display().fmt(formatter),
            Link::Remote(url) => url.fmt(formatter),
        }
    }
}
