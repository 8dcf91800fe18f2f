//! Remote bases, and the files that lie beside them.
//!
//! A base is pinned like anything else. The files that it names by relative paths are not: they are fetched from where
//! the base lies, so their content is decided by whoever can change that place. Three rules hold them: the digest that
//! the lock file records is the only one accepted; without a lock the base's URL must name a commit, which cannot move;
//! and what was fetched is recorded, so that locking can pin it.

mod beside;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_fetch::audit::FetchType;
use fullsend_harness::compose::Composition;
use fullsend_harness::config::Configuration;
use fullsend_harness::resources::{Source, resources};
use fullsend_harness::schema::HarnessFile;
use fullsend_harness::{Library, Loaded, localize, rules};
use fullsend_origin::{AllowList, PinnedUrl, Reference, Sha256Digest};
use fullsend_yaml::{Diagnostic, Location};

use crate::dependency::Dependency;
use crate::error::{DependencyError, ResolveError};
use crate::permission::organisation;
use crate::resolver::{Resolver, broken, dependency};
use crate::store::{Shape, Want};
use beside::Beside;

impl Resolver {
    /// Composes a harness, fetching remote bases as they are met.
    pub(crate) async fn compose(
        &self,
        library: &mut Library,
        configuration: &Configuration,
        path: &Path,
        dependencies: &mut Vec<Dependency>,
    ) -> Result<Composition, ResolveError> {
        loop {
            let mut problems = Vec::new();
            let composition = library.compose(path, &mut problems);
            problems.retain(|problem| problem.rule.code != rules::BASE_REMOTE.code);
            if problems.iter().any(Diagnostic::is_error) {
                return Err(broken(library, problems));
            }
            let Some(composition) = composition else { return Err(broken(library, problems)) };
            let Some(base) = composition.harness.base.clone() else {
                return if composition.damaged { Err(broken(library, problems)) } else { Ok(composition) };
            };
            let Reference::Remote(url) = base.value.reference() else {
                return Err(broken(library, problems));
            };
            let loaded = self.remote_base(library, &configuration.allow, url, dependencies).await?;
            library.provide(url, loaded);
        }
    }

    /// Fetches one base and moves what lies beside it into the cache.
    async fn remote_base(
        &self,
        library: &mut Library,
        org: &AllowList,
        url: &PinnedUrl,
        dependencies: &mut Vec<Dependency>,
    ) -> Result<Loaded, ResolveError> {
        let want = Want {
            field: "base".to_owned(),
            url: url.clone(),
            shape: Shape::File,
            allowed_by: String::new(),
            fetch_type: FetchType::Static,
        };
        let allowed_by =
            organisation(org, url.url().as_https()).map_err(|error| self.store.refuse(&want, None, error))?;
        let want = Want { allowed_by, ..want };
        let got = self.store.get(&want).await?;
        dependencies.push(dependency(&want, &got));
        let text = verified_text(&got.path, url).map_err(|error| self.store.refuse(&want, None, error))?;
        let mut problems = Vec::new();
        let loaded = library.read_remote(url, &text, &mut problems);
        if problems.iter().any(Diagnostic::is_error) {
            return Err(broken(library, problems));
        }
        let Some(harness) = loaded.harness.clone() else { return Err(broken(library, problems)) };
        let beside = Beside { resolver: self, base: url, org };
        let places = self.places(&harness, &beside, dependencies).await?;
        let harness = HarnessFile {
            agent_input: None,
            ..localize(harness.as_ref().clone(), &|at| places.get(&at).cloned())
        };
        Ok(Loaded { harness: Some(Arc::new(harness)), ..loaded })
    }

    /// Where the files beside the base are now.
    async fn places(
        &self,
        harness: &HarnessFile,
        beside: &Beside<'_>,
        dependencies: &mut Vec<Dependency>,
    ) -> Result<HashMap<Location, PathBuf>, ResolveError> {
        let mut places = HashMap::new();
        for resource in resources(harness) {
            if let Source::Local(written) = resource.source
                && let Some(found) = beside.fetch(&resource, written).await?
            {
                places.insert(resource.at, found.path.clone());
                if !dependencies.iter().any(|known| known.url == found.dependency.url) {
                    dependencies.push(found.dependency);
                }
            }
        }
        Ok(places)
    }
}

/// The text that was verified, read again only if it is still the same.
fn verified_text(path: &Path, url: &PinnedUrl) -> Result<String, DependencyError> {
    let unreadable = |message: String| DependencyError::Reference { message, help: None };
    let bytes =
        std::fs::read(path).map_err(|error| unreadable(format!("the base cannot be read: {error}")))?;
    let actual = Sha256Digest::of(&bytes);
    if actual != url.digest() {
        return Err(DependencyError::Mismatch {
            expected: url.digest(),
            actual,
            url: url.url().as_str().to_owned(),
        });
    }
    String::from_utf8(bytes).map_err(|_| unreadable("the base is not UTF-8".to_owned()))
}
