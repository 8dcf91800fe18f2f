//! A run, put together: its directories, its sandbox, its skills and its tools, and what is on record of them.
//!
//! [`Wanted`] is what a run is asked to be, [`Surroundings`] what it is given, [`Scene`] where it takes place, and
//! [`Prepared`] the run itself before it begins or goes on. Whoever starts runs makes these four and nothing else, so that all
//! runs are made in the same way.

mod error;
mod opening;
mod pictures;
mod prepared;
mod result;
mod sandbox;
mod settings;
mod surroundings;
mod wanted;
mod workbench;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_guard::SystemClock;
use fullsend_skills::Registry;

pub use self::error::SceneError;
pub use self::pictures::Picture;
pub use self::prepared::Prepared;
pub use self::settings::recorded_limits;
pub use self::surroundings::{BackendOrder, Backends, Floor, Surroundings};
pub use self::wanted::{Canaries, ChosenModel, Delivery, NOT_BY_DEFAULT, SidecarDirs, TOOLS, Wanted};
use self::workbench::Workbench;
use crate::budget::{Budget, Limits};
use crate::engine::Opening;
use crate::execution::Execution;
use crate::manifest::RUN_MANIFEST_FILE;
use crate::report::PolicySnapshot;
use crate::sources::Sources;
use crate::store::{Recorded, RecordedSettings, RunStore};
use crate::structured::StructuredResult;
use crate::subagent::{self, Delegate, Parent};
use crate::tool::Tool;
use crate::toolbox::Toolbox;
use crate::tools::{FetchSkill, SkillSet, SubmitResult};
use crate::workspace::{CurrentDir, SandboxPath, Workspace, WorkspacePlan};

/// The schema of the structured result, among the artifacts.
pub const RESULT_SCHEMA: &str = "structured-result-schema.json";

/// Where a run takes place.
#[derive(Debug)]
pub struct Scene {
    artifact_root: PathBuf,
    wanted: Wanted,
    model: ChosenModel,
    surroundings: Surroundings,
    settings: RecordedSettings,
    workspace: Arc<Workspace>,
    sources: Arc<Sources>,
    registry: Option<Registry>,
    resumed: bool,
}

/// What a run works with.
#[derive(Debug)]
struct Started {
    execution: Execution,
    toolbox: Toolbox,
    structured: Option<StructuredResult>,
    current_dir: CurrentDir,
    /// What is said before the prompt.
    opening: Vec<Opening>,
}

impl Scene {
    /// The place of a new run. Relative paths start at `current`.
    pub fn new(
        wanted: Wanted,
        model: ChosenModel,
        limits: &Limits,
        current: &Path,
        surroundings: Surroundings,
    ) -> Result<Self, SceneError> {
        make_artifact_root(&wanted.artifact_root)?;
        Self::build(wanted, model, limits, current, surroundings, None)
    }

    /// The place of a run that goes on: what is on record, or less.
    pub fn resumed(
        wanted: Wanted,
        recorded: &Recorded,
        model: ChosenModel,
        limits: &Limits,
        current: &Path,
        surroundings: Surroundings,
    ) -> Result<Self, SceneError> {
        let mut scene = Self::build(wanted, model, limits, current, surroundings, Some(recorded))?;
        // More time or turns is the operator's to give; it lets the run do nothing else.
        let mut asked = scene.settings.clone();
        asked.limits = recorded.settings.limits;
        let mut narrowed = recorded.settings.narrows(&asked)?;
        narrowed.limits = scene.settings.limits;
        scene.settings = narrowed;
        Ok(scene)
    }

    fn build(
        mut wanted: Wanted,
        model: ChosenModel,
        limits: &Limits,
        current: &Path,
        surroundings: Surroundings,
        recorded: Option<&Recorded>,
    ) -> Result<Self, SceneError> {
        let lost = |source| SceneError::ArtifactRoot { path: wanted.artifact_root.clone(), source };
        let artifact_root = wanted.artifact_root.canonicalize().map_err(lost)?;
        let reserved = [artifact_root.clone()];
        let workspace = Workspace::open(&WorkspacePlan {
            root: &wanted.workspace,
            target: &wanted.target,
            access: wanted.access,
            mounts: &wanted.mounts,
            relative_to: current,
            reserved: &reserved,
        })?;
        if wanted.runtime.is_some() && wanted.image.is_none() {
            return Err(SceneError::RuntimeWithoutImage);
        }
        wanted.sidecars.keep_out_of(workspace.mounts().iter().map(|mount| mount.host()))?;
        // Links that lead there before the agent makes some are the operator's.
        if let Some((path, _)) = wanted.structured.as_mut().filter(|_| recorded.is_none()) {
            let refused = |source| SceneError::ResultPath { path: path.clone(), source };
            *path = workspace.host_to_sandbox(path).map_err(refused)?.host;
        }
        let registry = settings::registry(&wanted, &workspace)?;
        let settings =
            settings::of(&wanted, &workspace, registry.as_ref(), &model, limits, &surroundings.floor)?;
        let (workspace, policy) = (Arc::new(workspace), Arc::new(settings.flow_policy.clone()));
        let mut sources = Sources::new(policy, workspace.clone()).with_hosts(&wanted.hosts);
        if let Some(canaries) = &wanted.canaries {
            canaries.keep_out_of(workspace.mounts().iter().map(|mount| mount.host()))?;
            sources = sources.with_canaries(canaries.tokens.iter().cloned());
        }
        let facts = recorded.map_or(&[][..], |recorded| &recorded.provenance);
        let sources = Arc::new(sources.recalling(facts));
        let resumed = recorded.is_some();
        Ok(Self {
            artifact_root,
            wanted,
            model,
            surroundings,
            settings,
            workspace,
            sources,
            registry,
            resumed,
        })
    }

    /// What is on record of it.
    pub fn settings(&self) -> &RecordedSettings {
        &self.settings
    }

    /// Where its values come from.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What the run is judged by.
    fn policy(&self) -> PolicySnapshot<'_> {
        let (settings, manifest) = (&self.settings, self.wanted.manifest.as_ref());
        let sidecars = self.wanted.sidecars.is_wired();
        PolicySnapshot { settings, manifest, resumed: self.resumed, sidecars }
    }

    /// Keeps the manifest of the run and the schema of the result, so that the run can be gone on with.
    fn keep_documents(&self, store: &RunStore) -> Result<(), SceneError> {
        if let Some(manifest) = &self.wanted.manifest {
            store.write_artifact(RUN_MANIFEST_FILE, manifest.document())?;
        }
        if let Some((_, schema)) = &self.wanted.structured {
            store.write_artifact(RESULT_SCHEMA, schema)?;
        }
        Ok(())
    }

    /// Finds what is wrong with what was asked while there is no record of a run yet, and reads the pictures.
    fn check(&self, images: &[PathBuf]) -> Result<Vec<Picture>, SceneError> {
        self.structured()?;
        self.focus()?;
        if let Some(registry) = &self.registry {
            registry.select(&self.wanted.preload)?;
        }
        images.iter().map(|path| self.picture(path)).collect()
    }

    /// Sets everything up but the sandbox itself, which is made when it is needed.
    async fn start(
        &self,
        store: &RunStore,
        recorded: Option<&Recorded>,
        budget: &Budget,
    ) -> Result<Started, SceneError> {
        let start_dir = recorded.map_or(&self.settings.start_dir, |recorded| &recorded.current_dir);
        let current_dir = CurrentDir::new(SandboxPath::absolute(start_dir)?);
        let execution = self.execution(store).await?;
        let structured = self.structured()?;
        let skills = self.skills(store, recorded);
        let opening = self.opening(structured.as_ref(), skills.as_deref())?;
        if let Some(registry) = &self.registry {
            store.write_artifact("skill-registry.json", &registry.record(&store.now()))?;
        }
        let bench = Workbench {
            workspace: self.workspace.clone(),
            execution: execution.clone(),
            sources: self.sources.clone(),
            mode: self.settings.flow_mode,
            lease: self.wanted.lease.clone(),
            extra_roots: self.surroundings.extra_roots.clone(),
            checked: self.surroundings.hooks.is_some(),
        };
        let mut tools = bench.tools(store, &current_dir);
        if self.offers("web_fetch") {
            tools.push(bench.web_fetch(store)?);
        }
        if let Some(skills) = &skills {
            tools.extend(bench.of_skills(store, &current_dir, skills));
            tools.extend(self.fetch_skill(skills));
        }
        tools.extend(self.submit_result()?);
        if self.offers(subagent::NAME) {
            let parent = self.parent(store, budget, &current_dir, bench);
            tools.push(Arc::new(Delegate::new(parent, self.wanted.profiles.clone(), recorded)));
        }
        let toolbox = workbench::offer(tools, |name| self.offers(name))?;
        Ok(Started { execution, toolbox, structured, current_dir, opening })
    }

    fn parent(&self, store: &RunStore, budget: &Budget, current: &CurrentDir, bench: Workbench) -> Parent {
        Parent {
            run_id: store.run_id().clone(),
            artifact_root: self.artifact_root.clone(),
            settings: self.settings.clone(),
            model: self.model.client.clone(),
            search_model: self.wanted.search_model.clone(),
            policy: Arc::new(self.settings.flow_policy.clone()),
            sources: self.sources.clone(),
            workspace: self.workspace.clone(),
            budget: budget.clone(),
            recorder: store.recorder(),
            current_dir: current.clone(),
            outfitter: Arc::new(bench),
            hooks: self.surroundings.hooks.clone(),
        }
    }

    /// The tool that fetches skills, where somebody does that.
    fn fetch_skill(&self, skills: &Arc<SkillSet>) -> Option<Arc<dyn Tool>> {
        let fetcher = self.surroundings.fetcher.clone()?;
        Some(Arc::new(FetchSkill::new(fetcher, skills.clone(), self.workspace.clone())))
    }

    fn skills(&self, store: &RunStore, recorded: Option<&Recorded>) -> Option<Arc<SkillSet>> {
        let active = recorded.into_iter().flat_map(|recorded| &recorded.skill_activations);
        let active: BTreeSet<String> =
            active.filter_map(|entry| entry.get("name")?.as_str().map(str::to_owned)).collect();
        self.registry.as_ref().map(|registry| {
            let (registry, scripts) = (registry.clone(), self.wanted.scripts.clone());
            let run_id = store.run_id().clone();
            let chosen = registry.select(&self.wanted.preload).unwrap_or_default();
            let chosen = chosen.iter().map(|skill| skill.name().to_owned()).collect();
            let set = SkillSet::new(registry, scripts, active, run_id, Arc::new(SystemClock));
            let set = if self.surroundings.fetcher.is_some() { set.growing() } else { set };
            Arc::new(set.vouched_for(self.sources.clone(), chosen))
        })
    }

    fn offers(&self, tool: &str) -> bool {
        // What comes with the run itself needs no permission by name.
        self.settings.tools.contains(tool) || [SubmitResult::NAME, FetchSkill::NAME].contains(&tool)
    }
}

/// Makes the directory of runs, which no version control should pick up.
fn make_artifact_root(root: &Path) -> Result<(), SceneError> {
    use std::os::unix::fs::DirBuilderExt as _;

    if root.is_dir() {
        return Ok(());
    }
    let failed = |source| SceneError::ArtifactRoot { path: root.to_owned(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(failed)?;
    fs::write(root.join(".gitignore"), "*\n").map_err(failed)
}
