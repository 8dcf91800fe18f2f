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
use fullsend_harness::resources::{ResourceUse, overlay_resources, resources};
use fullsend_harness::schema::{ForgeOverlay, HarnessFile};
use fullsend_harness::value::Platform;
use fullsend_harness::{Library, Loaded, localize, rules};
use fullsend_origin::{AllowList, PinnedUrl, Reference, Sha256Digest};
use fullsend_yaml::{Diagnostic, Location};

use crate::dependency::Dependency;
use crate::error::{DependencyError, PinnedBy, ResolveError};
use crate::permission::organisation;
use crate::resolver::{Resolver, broken, dependency};
use crate::store::{Shape, Want};
use beside::Beside;
pub(crate) use beside::names_commit;

impl Resolver {
    /// Composes a harness, fetching remote bases as they are met. Bases that were provided for another harness or
    /// platform are not used: what they name was fetched for that one, and is recorded there.
    pub(crate) async fn compose(
        &self,
        library: &mut Library,
        configuration: &Configuration,
        path: &Path,
        files: Files,
        dependencies: &mut Vec<Dependency>,
    ) -> Result<Composition, ResolveError> {
        library.withdraw();
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
            let loaded = self.remote_base(library, &configuration.allow, url, files, dependencies).await?;
            library.provide(url, loaded);
        }
    }

    /// Fetches one base and moves what lies beside it into the cache.
    async fn remote_base(
        &self,
        library: &mut Library,
        org: &AllowList,
        url: &PinnedUrl,
        files: Files,
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
        let Files::Of(platform) = files else { return Ok(loaded) };
        let beside = Beside { resolver: self, base: url, org };
        let active = only_active(harness.as_ref().clone(), platform);
        let places = self.places(&active, platform, &beside, dependencies).await?;
        let harness = localize(active, &|at| places.get(&at).cloned());
        Ok(Loaded { harness: Some(Arc::new(harness)), ..loaded })
    }

    /// Where the files beside the base are now.
    async fn places(
        &self,
        harness: &HarnessFile,
        platform: Option<Platform>,
        beside: &Beside<'_>,
        dependencies: &mut Vec<Dependency>,
    ) -> Result<HashMap<Location, PathBuf>, ResolveError> {
        let named = resources(harness).into_iter().map(|resource| (resource.label(), resource));
        let overlay = platform.and_then(|platform| Some((platform, active_overlay(harness, platform)?)));
        let overlaid = overlay.into_iter().flat_map(|(platform, overlay)| {
            let prefix = format!("forge.{}.", platform.as_str());
            let label = move |resource: &ResourceUse<'_>| format!("{prefix}{}", resource.label());
            overlay_resources(overlay).into_iter().map(move |resource| (label(&resource), resource))
        });
        let mut places = HashMap::new();
        for (label, resource) in named.chain(overlaid) {
            let Some(found) = beside.fetch(&label, &resource).await? else { continue };
            places.insert(resource.at, found.path.clone());
            if !dependencies.iter().any(|known| known.url == found.dependency.url) {
                dependencies.push(found.dependency);
            }
            if dependencies.len() > self.limits.max_resources {
                return Err(ResolveError::TooMany { limit: self.limits.max_resources });
            }
        }
        Ok(places)
    }
}

/// Which of the files beside remote bases are fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Files {
    /// None of them: only what the bases say is of interest.
    None,
    /// Those that a platform uses; overlays of others are not looked at.
    Of(Option<Platform>),
}

fn active_overlay(harness: &HarnessFile, platform: Platform) -> Option<&ForgeOverlay> {
    harness.forge.as_ref()?.platforms.get(&platform)?.as_ref()
}

/// A remote harness as far as it may be used here: without the input directory, which lies on another machine, and with
/// nothing in the overlays of other platforms, whose paths were not fetched and would name files of this machine.
fn only_active(mut harness: HarnessFile, platform: Option<Platform>) -> HarnessFile {
    harness.agent_input = None;
    let overlays = harness.forge.iter_mut().flat_map(|forge| &mut forge.platforms);
    for (_, overlay) in overlays.filter(|(other, _)| Some(**other) != platform) {
        *overlay = overlay.take().map(|_| ForgeOverlay::default());
    }
    harness
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
            pinned_by: PinnedBy::Reference,
        });
    }
    String::from_utf8(bytes).map_err(|_| unreadable("the base is not UTF-8".to_owned()))
}
