//! The chain of bases: found, bounded, kept inside the fullsend directory, merged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// The merged harness; its `base` key is set only when the chain ends in a remote base.
    pub harness: Arc<HarnessFile>,
    /// The file that was composed.
    pub file: FileId,
    /// The local files of the chain, the child first.
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
    /// Composes a harness file with its local bases. Problems of the chain go to `problems`; those of each file were
    /// reported when it was loaded. `None` when the file itself cannot be read as a harness.
    pub fn compose(&mut self, path: &Path, problems: &mut Vec<Diagnostic>) -> Option<Composition> {
        let child = self.harness(path, problems)?;
        let mut layers: Vec<Arc<HarnessFile>> = vec![child.harness?];
        let mut chain = vec![path::normalize(path)];
        let mut incomplete = child.damaged;
        while let Some(base) = layers.last().and_then(|layer| layer.base.clone()) {
            let next = self.follow(&base, &chain, problems);
            let Some(Loaded { harness: Some(harness), damaged, .. }) = next else {
                incomplete = true;
                break;
            };
            incomplete |= damaged;
            chain.push(self.base_path(&base, &chain));
            layers.push(harness);
        }
        tracing::debug!(path = %path.display(), layers = layers.len(), incomplete, "composed");
        let (file, damaged) = (child.file, child.damaged);
        Some(Composition { harness: flatten(layers)?, file, chain, incomplete, damaged })
    }

    fn base_path(&self, base: &Located<Resource>, chain: &[PathBuf]) -> PathBuf {
        let including = chain.last().and_then(|file| file.parent()).unwrap_or(Path::new(""));
        path::normalize(&including.join(base.local().unwrap_or_default()))
    }

    /// Loads the next base of a chain, or reports why it cannot be.
    fn follow(
        &mut self,
        base: &Located<Resource>,
        chain: &[PathBuf],
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Loaded> {
        let report = |rule, message: String| Diagnostic::new(rule, base.at, message);
        if base.local().is_none() {
            problems.push(report(&rules::BASE_REMOTE, "the remote base was not checked".to_owned()));
            return None;
        }
        let path = self.base_path(base, chain);
        if path::containment(self.root(), &path) == Containment::Outside {
            problems.push(report(
                &rules::BASE_OUTSIDE,
                format!("the base `{}` lies outside the fullsend directory", base.value),
            ));
            return None;
        }
        if let Some(start) = chain.iter().position(|file| *file == path) {
            let circle = chain.iter().skip(start).chain([&path]).map(|file| file.display().to_string());
            let circle = circle.collect::<Vec<_>>().join(" → ");
            problems.push(report(&rules::BASE_CYCLE, format!("bases lead in a circle: {circle}")));
            return None;
        }
        if chain.len() > MAX_BASES {
            problems.push(report(
                &rules::BASE_DEPTH,
                format!("this is base number {}; at most {MAX_BASES} are followed", chain.len()),
            ));
            return None;
        }
        match self.try_harness(&path, problems) {
            Ok(loaded) => Some(loaded),
            Err(error) => {
                let problem = report(&rules::BASE_MISSING, format!("no base there: {error}"));
                problems.push(problem.with_help(error.help()));
                None
            }
        }
    }
}
