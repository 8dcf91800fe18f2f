//! Dependencies of skills that lie in the fullsend directory.
//!
//! A reference without scheme means a path beside the skill, as it would for a skill on a forge; it stays inside the
//! fullsend directory and needs no pin, because what lies there is trusted as it is.

use std::path::{Path, PathBuf};

use fullsend_fetch::audit::FetchType;
use fullsend_harness::path;
use fullsend_harness::schema::{HarnessFile, SkillEntry};
use fullsend_origin::{HttpsUrl, PinnedUrl, has_scheme};
use fullsend_yaml::Location;

use crate::closure::{Edge, read_manifest};
use crate::dependency::Dependency;
use crate::error::{DependencyError, ResolveError};
use crate::relative::resolve_reference;
use crate::resolver::Resolver;
use crate::store::{Refused, Store};

/// What local skills depend on.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    /// Local skills that the harness does not name itself.
    pub(crate) skills: Vec<SkillEntry>,
    /// Remote ones.
    pub(crate) remote: Vec<Edge>,
}

/// Follows the dependencies of the harness's local skills.
pub(crate) fn follow(
    harness: &HarnessFile,
    root: &Path,
    fetched: &[Dependency],
    resolver: &Resolver,
) -> Result<Followed, ResolveError> {
    let mut walk = Walk {
        root,
        fetched,
        store: &resolver.store,
        limit: resolver.limits.max_depth,
        open: Vec::new(),
        done: Vec::new(),
        found: Followed::default(),
    };
    if walk.limit == 0 {
        return Ok(walk.found);
    }
    let named: Vec<(PathBuf, Location)> = harness
        .skills
        .iter()
        .flatten()
        .filter_map(|skill| Some((path::resolve(root, skill.source.local()?)?, skill.source.at)))
        .collect();
    for (directory, at) in &named {
        walk.visit(directory, *at)?;
    }
    let at = named.first().map(|(_, at)| *at);
    let extra = walk.done.iter().filter(|done| !named.iter().any(|(directory, _)| directory == *done));
    walk.found.skills = extra.filter_map(|directory| SkillEntry::at_path(directory, at?)).collect();
    Ok(walk.found)
}

struct Walk<'r> {
    root: &'r Path,
    /// What was fetched from beside remote bases. A skill among it is not local, although it lies in the cache: its
    /// references start at its URL and are pinned.
    fetched: &'r [Dependency],
    store: &'r Store,
    limit: usize,
    open: Vec<PathBuf>,
    done: Vec<PathBuf>,
    found: Followed,
}

impl Walk<'_> {
    fn visit(&mut self, directory: &Path, at: Location) -> Result<(), ResolveError> {
        if self.done.iter().any(|done| done == directory) {
            return Ok(());
        }
        if let Some(start) = self.open.iter().position(|open| open == directory) {
            let circle = self.open.iter().skip(start).map(PathBuf::as_path).chain([directory]);
            return Err(ResolveError::Circle {
                circle: circle.map(|path| path.display().to_string()).collect(),
            });
        }
        let manifest = read_manifest(directory).map_err(|error| self.failed(directory, error))?;
        if !manifest.dependencies.is_empty() && self.open.len() + 1 > self.limit {
            let url = directory.display().to_string();
            return Err(ResolveError::TooDeep { url, depth: self.open.len(), limit: self.limit });
        }
        self.open.push(directory.to_owned());
        let origin = self.fetched.iter().find(|dependency| dependency.path == directory);
        for (index, reference) in manifest.dependencies.iter().enumerate() {
            match origin {
                Some(skill) => self.beside_base(skill, index, reference)?,
                None => self.reference(directory, index, reference, at)?,
            }
        }
        self.open.pop();
        self.done.push(directory.to_owned());
        Ok(())
    }

    fn reference(
        &mut self,
        directory: &Path,
        index: usize,
        reference: &str,
        at: Location,
    ) -> Result<(), ResolveError> {
        let invalid = |message: String, help: Option<String>| DependencyError::Reference { message, help };
        if has_scheme(reference) {
            let url = PinnedUrl::parse(reference).map_err(|error| {
                let message = format!("the dependency `{reference}` is not a usable reference: {error}");
                self.failed(directory, invalid(message, error.help()))
            })?;
            let field = format!("skills[{}:dep{index}]", directory.display());
            self.found.remote.push(Edge { field, url, level: self.open.len(), parent: None });
            return Ok(());
        }
        let beside = path::normalize(&directory.parent().unwrap_or(self.root).join(reference));
        if path::containment(self.root, &beside) == path::Containment::Outside || !beside.is_dir() {
            let message =
                format!("the dependency `{reference}` is no directory inside the fullsend directory");
            return Err(self.failed(directory, invalid(message, Some("correct the path".to_owned()))));
        }
        self.visit(&beside, at)
    }

    /// A reference in a skill that lies beside a remote base.
    fn beside_base(&mut self, skill: &Dependency, index: usize, reference: &str) -> Result<(), ResolveError> {
        let refused = Refused {
            field: &skill.field,
            url: &skill.url,
            digest: Some(skill.sha256),
            fetch_type: FetchType::BaseSkill,
            allowed_by: None,
        };
        let url = HttpsUrl::parse(&skill.url)
            .map_err(|error| DependencyError::Reference { message: error.to_string(), help: None })
            .and_then(|parent| resolve_reference(&parent, reference))
            .map_err(|error| self.store.refuse_unpinned(&refused, error))?;
        let field = format!("skills[{}:dep{index}]", skill.url);
        self.found.remote.push(Edge { field, url, level: self.open.len(), parent: Some(skill.url.clone()) });
        Ok(())
    }

    fn failed(&self, directory: &Path, error: DependencyError) -> ResolveError {
        let url = directory.display().to_string();
        ResolveError::Dependency { field: "skills".to_owned(), url, source: Box::new(error) }
    }
}
