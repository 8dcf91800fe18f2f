//! A harness to the same harness with verified local paths, and the list of what it depends on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_fetch::audit::FetchType;
use fullsend_harness::compose::overlay;
use fullsend_harness::config::Configuration;
use fullsend_harness::resources::{ResourceKind, ResourceUse, Source, resources};
use fullsend_harness::schema::{HarnessFile, SkillEntry};
use fullsend_harness::value::Platform;
use fullsend_harness::{Library, localize};
use fullsend_origin::{ForgeHosts, ForgeUrl, HttpsUrl, PinnedUrl, RawGitHubUrl, Sha256Digest};
use fullsend_yaml::{Diagnostic, Location};

use crate::base::{Files, names_commit};
use crate::closure::{Closure, Edge, same_digest};
use crate::definitions;
use crate::dependency::Dependency;
use crate::error::{DependencyError, ResolveError};
use crate::lock::LockedKind;
use crate::locking::platforms;
use crate::permission::Permissions;
use crate::store::{Got, Shape, Store, Want};

/// How far resolution may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Levels of dependencies below the skills that the harness names; 0 follows none.
    pub max_depth: usize,
    /// Remote resources of one harness.
    pub max_resources: usize,
    /// Downloads at the same time.
    pub concurrency: usize,
}

impl Default for Limits {
    /// Ten levels, fifty resources, eight at a time.
    fn default() -> Self {
        Self { max_depth: 10, max_resources: 50, concurrency: 8 }
    }
}

/// A resolved harness.
#[derive(Debug)]
pub struct Resolution {
    /// The composed harness; every resource is a local path.
    pub harness: HarnessFile,
    /// What it depends on, dependencies before what depends on them.
    pub dependencies: Vec<Dependency>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// The files that were composed, the harness first.
    pub chain: Vec<PathBuf>,
}

/// Resolves harnesses of one fullsend directory.
#[derive(Debug)]
pub struct Resolver {
    pub(crate) store: Arc<Store>,
    pub(crate) limits: Limits,
    locked: HashMap<String, Sha256Digest>,
    first_use: FirstUse,
}

/// Whether content that nothing pins may be accepted as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstUse {
    /// Only from a place that cannot change.
    Refuse,
    /// From anywhere, because it is about to be recorded in the lock file.
    Accept,
}

impl Resolver {
    /// A resolver on a store.
    #[must_use]
    pub fn new(store: Store, limits: Limits) -> Self {
        Self { store: Arc::new(store), limits, locked: HashMap::new(), first_use: FirstUse::Refuse }
    }

    /// The same resolver with the digests that a lock file records, by clean URL.
    #[must_use]
    pub fn with_locked(mut self, locked: HashMap<String, Sha256Digest>) -> Self {
        self.locked = locked;
        self
    }

    /// The same resolver for making a lock file.
    #[must_use]
    pub fn with_first_use(mut self, first_use: FirstUse) -> Self {
        self.first_use = first_use;
        self
    }

    /// The store it resolves from, for what is asked for later.
    #[must_use]
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn locked(&self, url: &str) -> Option<Sha256Digest> {
        self.locked.get(url).copied()
    }

    pub(crate) fn accepts_first_use(&self) -> bool {
        self.first_use == FirstUse::Accept
    }

    /// Resolves a harness file for a platform. What is checked is what resolution needs: that the file and its bases can be
    /// read and composed, and that every remote reference leads to the content it is pinned to. Whether the harness makes
    /// sense, whether it has a role and whether its local files exist, is for linting to say, so that a harness can be
    /// fetched and locked while it is being written. The library and the configuration are those of its fullsend directory;
    /// neither they nor the file are changed.
    ///
    /// # Errors
    /// When the harness cannot be composed, or anything it names cannot be had as it is pinned.
    pub async fn resolve(
        &self,
        library: &mut Library,
        configuration: &Configuration,
        path: &Path,
        platform: Option<Platform>,
    ) -> Result<Resolution, ResolveError> {
        let mut bases = Vec::new();
        let files = Files::Of(platform);
        let composition = self.compose(library, configuration, path, files, &mut bases).await?;
        let composed = composition.harness.as_ref().clone();
        let harness = match platform {
            Some(platform) => overlay(composed, platform).ok_or(ResolveError::NoPlatform { platform })?,
            None => composed,
        };
        let permissions = Permissions::new(&harness, &configuration.allow);
        let direct = Direct::of(&harness, library, &bases, self)?;
        let wants = self.file_wants(&direct, &permissions)?;
        let others = bases.len() + wants.iter().filter(|want| !direct.has_skill(&want.url)).count();
        let mut closure = Closure::beside(others);
        closure.fetch(&self.store, &direct.skills, &permissions, &self.limits).await?;
        let files = self.files(wants, &closure).await?;
        for (want, got) in files.values() {
            definitions::check(&want.field, want.url.url().as_str(), &got.path)?;
        }
        let order = closure.in_order(&direct.skills)?;
        let at = composition.start();
        let assembled = Assembly { direct: &direct, closure: &closure, files: &files, order: &order, at };
        let own = assembled.dependencies();
        let harness = assembled.harness(harness)?;
        let mut warnings = closure.warnings;
        warnings.extend(own.iter().filter_map(|dependency| movable(dependency, self.store.hosts())));
        let dependencies = bases.into_iter().chain(own).collect();
        Ok(Resolution { harness, dependencies, warnings, chain: composition.chain })
    }

    /// The platforms that a harness is to be locked for. Its bases are fetched, because they may bring overlays; what
    /// they and the harness name is not.
    ///
    /// # Errors
    /// When the harness cannot be composed.
    pub async fn platforms(
        &self,
        library: &mut Library,
        configuration: &Configuration,
        path: &Path,
    ) -> Result<Vec<Option<Platform>>, ResolveError> {
        let mut bases = Vec::new();
        let composition = self.compose(library, configuration, path, Files::None, &mut bases).await?;
        Ok(platforms(&composition.harness))
    }

    /// Everything that is not a skill: files, and plugins. All of it must be permitted before anything is fetched.
    fn file_wants(&self, direct: &Direct, permissions: &Permissions) -> Result<Vec<Want>, ResolveError> {
        let mut wants: Vec<Want> = Vec::new();
        for (use_of, url) in &direct.others {
            let clean = url.url().as_str();
            if let Some(queued) = wants.iter().find(|want| want.url.url().as_str() == clean) {
                same_digest(clean, queued.url.digest(), url.digest())?;
                if queued.shape != use_of.shape {
                    return Err(self.store.refuse(queued, None, both_shapes(&use_of.label)));
                }
                continue;
            }
            let mut want = Want {
                field: use_of.label.clone(),
                url: url.clone(),
                shape: use_of.shape,
                allowed_by: String::new(),
                fetch_type: FetchType::Static,
            };
            want.allowed_by = permissions
                .harness(url.url().as_https())
                .map_err(|error| self.store.refuse(&want, None, error))?;
            wants.push(want);
        }
        let files = wants.iter().filter(|want| !direct.has_skill(&want.url)).count();
        if files + direct.skills.len() > self.limits.max_resources {
            return Err(ResolveError::TooMany { limit: self.limits.max_resources });
        }
        Ok(wants)
    }

    /// Fetches what was not fetched as a skill already.
    async fn files(
        &self,
        wants: Vec<Want>,
        closure: &Closure,
    ) -> Result<HashMap<String, (Want, Got)>, ResolveError> {
        let mut missing = Vec::new();
        for want in wants {
            match closure.node(want.url.url().as_str()) {
                Some(node) if want.shape == Shape::File => {
                    return Err(self.store.refuse(&want, None, both_shapes(&node.want.field)));
                }
                Some(node) => {
                    same_digest(want.url.url().as_str(), node.want.url.digest(), want.url.digest())?
                }
                None => missing.push(want),
            }
        }
        let answers = self.store.get_all(missing.clone(), self.limits.concurrency).await?;
        let keyed = missing.into_iter().zip(answers);
        Ok(keyed.map(|(want, got)| (want.url.url().as_str().to_owned(), (want, got))).collect())
    }
}

/// Where and as what a resource is used.
#[derive(Debug, Clone)]
struct Use {
    label: String,
    at: Location,
    shape: Shape,
}

/// The remote resources that the harness itself names.
#[derive(Debug)]
struct Direct {
    skills: Vec<Edge>,
    skill_places: Vec<(Location, String)>,
    local_skills: Vec<SkillEntry>,
    others: Vec<(Use, PinnedUrl)>,
}

impl Direct {
    fn of(
        harness: &HarnessFile,
        library: &Library,
        fetched: &[Dependency],
        resolver: &Resolver,
    ) -> Result<Self, ResolveError> {
        let local = crate::local_skills::follow(harness, library.root(), fetched, resolver)?;
        let mut direct = Self {
            skills: Vec::new(),
            skill_places: Vec::new(),
            local_skills: local.skills,
            others: Vec::new(),
        };
        for resource in resources(harness) {
            let Source::Remote(url) = resource.source else { continue };
            direct.add(&resource, url);
        }
        direct.skills.extend(local.remote);
        Ok(direct)
    }

    fn has_skill(&self, url: &PinnedUrl) -> bool {
        self.skills.iter().any(|skill| skill.url.url() == url.url())
    }

    fn add(&mut self, resource: &ResourceUse<'_>, url: &PinnedUrl) {
        let label = resource.label();
        match resource.kind {
            ResourceKind::Skill => {
                self.skill_places.push((resource.at, url.url().as_str().to_owned()));
                self.skills.push(Edge { field: label, url: url.clone(), level: 0, parent: None });
            }
            ResourceKind::Plugin => {
                self.others.push((Use { label, at: resource.at, shape: Shape::Directory }, url.clone()));
            }
            ResourceKind::Agent
            | ResourceKind::File
            | ResourceKind::Profile
            | ResourceKind::Script
            | ResourceKind::Directory
            | ResourceKind::OptionalFile => {
                self.others.push((Use { label, at: resource.at, shape: Shape::File }, url.clone()));
            }
        }
    }
}

/// What was fetched, on its way into the result.
struct Assembly<'a> {
    direct: &'a Direct,
    closure: &'a Closure,
    files: &'a HashMap<String, (Want, Got)>,
    order: &'a [String],
    /// Where skills that nobody wrote into the harness are said to be written.
    at: Location,
}

impl Assembly<'_> {
    fn dependencies(&self) -> Vec<Dependency> {
        let skills =
            self.order.iter().filter_map(|url| self.closure.node(url)).map(|node| (&node.want, &node.got));
        let mut others: Vec<(&Want, &Got)> = Vec::new();
        for (_, url) in &self.direct.others {
            if let Some((want, got)) = self.files.get(url.url().as_str())
                && !others.iter().any(|(known, _)| known.url == want.url)
            {
                others.push((want, got));
            }
        }
        let (first, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(want, _)| matches!(want.field.as_str(), "agent" | "policy"));
        first.into_iter().chain(skills).chain(rest).map(|(want, got)| dependency(want, got)).collect()
    }

    fn path_of(&self, url: &str) -> Option<PathBuf> {
        let skill = self.closure.node(url).map(|node| node.got.path.clone());
        skill.or_else(|| self.files.get(url).map(|(_, got)| got.path.clone()))
    }

    fn harness(&self, harness: HarnessFile) -> Result<HarnessFile, ResolveError> {
        let places: HashMap<Location, PathBuf> = self
            .direct
            .skill_places
            .iter()
            .map(|(at, url)| (*at, url.as_str()))
            .chain(self.direct.others.iter().map(|(use_of, url)| (use_of.at, url.url().as_str())))
            .filter_map(|(at, url)| self.path_of(url).map(|path| (at, path)))
            .collect();
        let mut harness = localize(harness, &|at| places.get(&at).cloned());
        let named: Vec<&str> = self.direct.skill_places.iter().map(|(_, url)| url.as_str()).collect();
        let transitive = self.order.iter().filter(|url| !named.contains(&url.as_str()));
        let added = transitive.filter_map(|url| SkillEntry::at_path(&self.path_of(url)?, self.at));
        let mut skills = harness.skills.take().unwrap_or_default();
        skills.extend(self.direct.local_skills.iter().cloned());
        skills.extend(added);
        distinct_names(&skills)?;
        harness.skills = if skills.is_empty() { None } else { Some(skills) };
        Ok(harness)
    }
}

/// Says that a reference may lead elsewhere tomorrow: the pin then refuses what it finds.
fn movable(dependency: &Dependency, hosts: &ForgeHosts) -> Option<String> {
    let url = HttpsUrl::parse(&dependency.url).ok()?;
    let forge = ForgeUrl::parse(&url, hosts).is_ok() || RawGitHubUrl::parse(&url).is_ok();
    (forge && !names_commit(&url, hosts)).then(|| {
        format!(
            "`{}` names a branch or tag: `{}` stops resolving when that moves; name a commit instead",
            dependency.field, dependency.url
        )
    })
}

/// One URL cannot be a file here and a directory there.
fn both_shapes(other: &str) -> DependencyError {
    DependencyError::Reference {
        message: format!("the URL is needed as a file and, by `{other}`, as a directory"),
        help: Some("name the file itself where a file is needed".to_owned()),
    }
}

/// Skills are installed by the last element of their path.
fn distinct_names(skills: &[SkillEntry]) -> Result<(), ResolveError> {
    let mut seen: HashMap<String, String> = HashMap::new();
    for skill in skills {
        let (name, source) = (skill.source.base_name(), skill.source.value.to_string());
        match seen.get(&name) {
            Some(first) if *first != source => {
                return Err(ResolveError::Collision { name, first: first.clone(), second: source });
            }
            _ => {
                seen.insert(name, source);
            }
        }
    }
    Ok(())
}

pub(crate) fn dependency(want: &Want, got: &Got) -> Dependency {
    Dependency {
        field: want.field.clone(),
        url: want.url.url().as_str().to_owned(),
        sha256: want.url.digest(),
        kind: match want.shape {
            Shape::File => LockedKind::File,
            Shape::Directory => LockedKind::Directory,
        },
        path: got.path.clone(),
        files: got.files.clone(),
        source: got.source,
        fetched_at: got.fetched_at,
        platform: None,
    }
}

/// Problems that stop resolution, with what they refer to.
pub(crate) fn broken(library: &Library, problems: Vec<Diagnostic>) -> ResolveError {
    ResolveError::Broken { sources: Box::new(library.sources().clone()), problems }
}
