//! Where a run takes place: its directories, its sandbox, its skills and its tools, and what is on record of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use fullsend_agent::budget::{Budget, Limits};
use fullsend_agent::engine::Opening;
use fullsend_agent::execution::{Execution, MountPoint, SessionPlan};
use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::manifest::RUN_MANIFEST_FILE;
use fullsend_agent::prompt::{PromptParts, system_prompt};
use fullsend_agent::report::PolicySnapshot;
use fullsend_agent::sidecar::{RunFacts, Sidecars};
use fullsend_agent::sources::Sources;
use fullsend_agent::store::{
    ImageAttachment, KeptMessage, MountAccess, Recorded, RecordedGateway, RecordedLimits, RecordedMount,
    RecordedResult, RecordedRoot, RecordedSandbox, RecordedSettings, RunStore,
};
use fullsend_agent::structured::StructuredResult;
use fullsend_agent::subagent::{self, Delegate, Parent};
use fullsend_agent::toolbox::Toolbox;
use fullsend_agent::tools::SkillSet;
use fullsend_agent::workspace::{Access, CurrentDir, SandboxPath, Workspace, WorkspacePlan};
use fullsend_flow::Label;
use fullsend_guard::SystemClock;
use fullsend_origin::Sha256Digest;
use fullsend_sandbox::{ContainerHook, DockerBackend, DockerConfig, NetworkPolicy, SandboxBackend};
use fullsend_skills::record::ActivationSource;
use fullsend_skills::{Registry, SkillRoot, preload_message};

use super::canary;
use super::model::ChosenModel;
use super::wanted::{SCHEMA, Wanted};
use super::workbench::{self, Workbench};
use crate::command::sandbox::backend;
use crate::output::Advice;

/// Tools that make no sense without skills.
const OF_SKILLS: [&str; 3] = ["load_skill", "read_skill_resource", "run_skill_script"];

/// Where a run takes place.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) artifact_root: PathBuf,
    wanted: Wanted,
    settings: RecordedSettings,
    workspace: Arc<Workspace>,
    sources: Arc<Sources>,
    registry: Option<Registry>,
    resumed: bool,
}

/// A picture that was read.
#[derive(Debug)]
pub(super) struct Picture {
    host: PathBuf,
    label: Label,
    media_type: &'static str,
    bytes: Vec<u8>,
}

/// What a run works with.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) execution: Execution,
    pub(super) toolbox: Toolbox,
    pub(super) structured: Option<StructuredResult>,
    pub(super) current_dir: CurrentDir,
    pub(super) sources: Arc<Sources>,
    /// What is said before the prompt.
    pub(super) opening: Vec<Opening>,
}

impl Scene {
    /// The place of a new run.
    pub(super) fn new(wanted: Wanted, model: &ChosenModel, limits: &Limits, current: &Path) -> Result<Self> {
        make_artifact_root(&wanted.artifact_root)?;
        Self::build(wanted, model, limits, current, None)
    }

    /// The place of a run that goes on: what is on record, or less.
    pub(super) fn resumed(
        wanted: Wanted,
        recorded: &Recorded,
        model: &ChosenModel,
        limits: &Limits,
        current: &Path,
    ) -> Result<Self> {
        let mut scene = Self::build(wanted, model, limits, current, Some(recorded))?;
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
        model: &ChosenModel,
        limits: &Limits,
        current: &Path,
        recorded: Option<&Recorded>,
    ) -> Result<Self> {
        let artifact_root = wanted.artifact_root.canonicalize()?;
        let reserved = [artifact_root.clone()];
        let workspace = Workspace::open(&WorkspacePlan {
            root: &wanted.workspace,
            access: Access::Writable,
            mounts: &wanted.mounts,
            relative_to: current,
            reserved: &reserved,
        })?;
        ensure!(
            wanted.runtime.is_none() || wanted.image.is_some(),
            Advice::new("a runtime of containers needs an image", "name one with `--sandbox-image`")
        );
        wanted.sidecars.keep_out_of(workspace.mounts().iter().map(|mount| mount.host()))?;
        // Links that lead there before the agent makes some are the operator's.
        if let Some((path, _)) = wanted.structured.as_mut().filter(|_| recorded.is_none()) {
            let told = || format!("the structured result `{}` cannot be used", path.display());
            *path = workspace.host_to_sandbox(path).with_context(told)?.host;
        }
        let registry = registry_of(&wanted, &workspace)?;
        let settings = settings_of(&wanted, &workspace, registry.as_ref(), model, limits)?;
        let (workspace, policy) = (Arc::new(workspace), Arc::new(settings.flow_policy.clone()));
        let mut sources = Sources::new(policy, workspace.clone()).with_hosts(&wanted.hosts);
        if let Some(file) = &wanted.canary_file {
            sources = sources.with_canaries(canary::planted(file, &workspace)?);
        }
        let facts = recorded.map_or(&[][..], |recorded| &recorded.provenance);
        let sources = Arc::new(sources.recalling(facts));
        let resumed = recorded.is_some();
        Ok(Self { artifact_root, wanted, settings, workspace, sources, registry, resumed })
    }

    /// What is on record of it.
    pub(super) fn settings(&self) -> &RecordedSettings {
        &self.settings
    }

    /// Its directories.
    pub(super) fn workspace(&self) -> Arc<Workspace> {
        self.workspace.clone()
    }

    /// What the run is judged by.
    pub(super) fn policy(&self) -> PolicySnapshot<'_> {
        let (settings, manifest) = (&self.settings, self.wanted.manifest.as_ref());
        let sidecars = self.wanted.sidecars.is_wired();
        PolicySnapshot { settings, manifest, resumed: self.resumed, sidecars }
    }

    /// Keeps the manifest of the run and the schema of the result, so that the run can be gone on with.
    pub(super) fn keep_documents(&self, store: &RunStore) -> Result<()> {
        if let Some(manifest) = &self.wanted.manifest {
            store.write_artifact(RUN_MANIFEST_FILE, manifest.document())?;
        }
        if let Some((_, schema)) = &self.wanted.structured {
            store.write_artifact(SCHEMA, schema)?;
        }
        Ok(())
    }

    /// Finds what is wrong with what was asked while there is no record of a run yet, and reads the pictures.
    pub(super) fn check(&self, images: &[PathBuf]) -> Result<Vec<Picture>> {
        self.structured()?;
        self.focus()?;
        if let Some(registry) = &self.registry {
            registry.select(&self.wanted.preload)?;
        }
        images.iter().map(|path| self.picture(path)).collect()
    }

    /// The label of the prompt, and of pictures that come with it.
    pub(super) fn prompt_label(&self, pictures: &[Picture]) -> Label {
        let prompt = self.sources.prompt(self.settings.prompt_role);
        pictures.iter().fold(prompt, |all, picture| all.join(&picture.label))
    }

    /// Keeps pictures for the prompt among the artifacts.
    pub(super) fn keep(&self, store: &RunStore, pictures: Vec<Picture>) -> Result<Vec<ImageAttachment>> {
        let keep = |picture: Picture| {
            let snapshot = store.keep_image(&picture.bytes, picture.media_type)?;
            Ok(ImageAttachment {
                host_path: picture.host,
                media_type: picture.media_type.to_owned(),
                bytes: picture.bytes.len() as u64,
                digest: format!("sha256:{}", Sha256Digest::of(&picture.bytes)),
                snapshot_path: Some(store.artifacts().relative(&snapshot)),
            })
        };
        pictures.into_iter().map(keep).collect()
    }

    fn picture(&self, path: &Path) -> Result<Picture> {
        ensure!(!path.as_os_str().is_empty(), "`--image` names no file");
        let told = || format!("the picture `{}` cannot be used", path.display());
        let contained =
            self.workspace.host_to_sandbox(&self.wanted.workspace.join(path)).with_context(told)?;
        let opened = self.workspace.open_file(&contained.sandbox).with_context(told)?;
        let bytes = opened.read_all(fullsend_agent::files::LARGEST_IMAGE).with_context(told)?;
        let media_type = fullsend_agent::files::media_type(&bytes)
            .with_context(|| format!("`{}` is no PNG, JPEG, GIF or WebP picture", path.display()))?;
        let label = self.sources.file(&contained.sandbox);
        Ok(Picture { host: contained.host, label, media_type, bytes })
    }

    /// Where the agent is told to look first, as it names it.
    fn focus(&self) -> Result<Option<String>> {
        let Some(focus) = &self.wanted.focus else { return Ok(None) };
        let told = || format!("`--focus-root {}` cannot be used", focus.display());
        let contained =
            self.workspace.host_to_sandbox(&self.wanted.workspace.join(focus)).with_context(told)?;
        Ok(Some(contained.sandbox.as_str().to_owned()))
    }

    /// Sets everything up but the sandbox itself, which is made when it is needed.
    pub(super) async fn start(
        &self,
        store: &RunStore,
        recorded: Option<&Recorded>,
        model: &ChosenModel,
        budget: &Budget,
    ) -> Result<Started> {
        let start_dir = recorded.map_or(&self.settings.start_dir, |recorded| &recorded.current_dir);
        let current_dir = CurrentDir::new(SandboxPath::absolute(start_dir)?);
        let sidecars = self.sidecars(store)?;
        let backend = self.backend(sidecars.clone()).await?;
        // Whoever switches the rules off means all of them.
        let covered = (self.settings.flow_mode != FlowMode::Disabled)
            .then(|| (self.sources.clone(), self.artifact_root.clone()));
        let execution = Execution::covering(backend, self.session(), covered, sidecars);
        let structured = self.structured()?;
        let active = recorded.into_iter().flat_map(|recorded| &recorded.skill_activations);
        let active: BTreeSet<String> =
            active.filter_map(|entry| entry.get("name")?.as_str().map(str::to_owned)).collect();
        let skills = self.registry.as_ref().map(|registry| {
            let (registry, scripts) = (registry.clone(), self.wanted.scripts.clone());
            let run_id = store.run_id().clone();
            let chosen = self.chosen_skills(&registry);
            let set = SkillSet::new(registry, scripts, active, run_id, Arc::new(SystemClock));
            Arc::new(set.vouched_for(self.sources.clone(), chosen))
        });
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
        };
        let mut tools = bench.tools(store, &current_dir);
        if self.offers("web_fetch") {
            tools.push(bench.web_fetch(store)?);
        }
        if let Some(skills) = &skills {
            tools.extend(bench.of_skills(store, &current_dir, skills));
        }
        if self.offers(subagent::NAME) {
            let policy = Arc::new(self.settings.flow_policy.clone());
            let parent = Parent {
                run_id: store.run_id().clone(),
                artifact_root: self.artifact_root.clone(),
                settings: self.settings.clone(),
                model: model.client.clone(),
                search_model: self.wanted.search_model.clone(),
                policy,
                sources: self.sources.clone(),
                workspace: self.workspace.clone(),
                budget: budget.clone(),
                recorder: store.recorder(),
                current_dir: current_dir.clone(),
                outfitter: Arc::new(bench),
            };
            tools.push(Arc::new(Delegate::new(parent, self.wanted.profiles.clone(), recorded)));
        }
        let toolbox = workbench::offer(tools, |name| self.offers(name))?;
        let sources = self.sources.clone();
        Ok(Started { execution, toolbox, structured, current_dir, sources, opening })
    }

    /// The names of skills that the operator named.
    fn chosen_skills(&self, registry: &Registry) -> BTreeSet<String> {
        let chosen = registry.select(&self.wanted.preload).unwrap_or_default();
        chosen.iter().map(|skill| skill.name().to_owned()).collect()
    }

    /// The files beside the container, if a runtime is to be told of commands.
    fn sidecars(&self, store: &RunStore) -> Result<Option<Arc<Sidecars>>> {
        let dirs = &self.wanted.sidecars;
        if !dirs.is_wired() {
            return Ok(None);
        }
        let slot = self.settings.provenance.prompt_slot.as_ref();
        let role = self.settings.prompt_role;
        let facts = RunFacts {
            run_id: store.run_id().clone(),
            mode: self.settings.flow_mode,
            prompt_slot: slot.cloned(),
            influence: slot.map(|slot| slot.influence(role, self.wanted.manifest.as_ref())),
            manifest: self.policy().run_manifest(),
        };
        let (contexts, results) = (dirs.contexts.clone(), dirs.results.clone());
        let sidecars = Sidecars::new(contexts, results, facts, Arc::new(SystemClock))?;
        Ok(Some(Arc::new(sidecars.recorded_by(store.recorder()))))
    }

    async fn backend(&self, sidecars: Option<Arc<Sidecars>>) -> Result<Arc<dyn SandboxBackend>> {
        let Some(image) = &self.wanted.image else {
            let local = backend::local(None)?;
            // What a command of a killed process still does must not go on beside this run.
            let swept = local.sweep();
            if self.resumed {
                swept?;
            }
            return Ok(Arc::new(local));
        };
        let usual = DockerConfig::new(image, backend::state_directory("docker")?);
        let hook = sidecars.map(|sidecars| sidecars as Arc<dyn ContainerHook>);
        let config = DockerConfig { runtime: self.wanted.runtime.clone(), hook, ..usual };
        let docker = DockerBackend::connect(config).await?;
        let swept = docker.sweep().await;
        if self.resumed {
            swept?;
        }
        Ok(Arc::new(docker))
    }

    fn session(&self) -> SessionPlan {
        let mut plan = SessionPlan::new(&self.wanted.workspace);
        plan.mounts = self
            .workspace
            .mounts()
            .iter()
            .map(|mount| MountPoint {
                sandbox: mount.target().as_str().to_owned(),
                host: mount.host().to_owned(),
                writable: mount.access() == Access::Writable,
            })
            .collect();
        plan.hidden = vec![self.artifact_root.clone()];
        plan.network = NetworkPolicy::limited(self.wanted.hosts.iter().cloned());
        plan
    }

    fn structured(&self) -> Result<Option<StructuredResult>> {
        let Some((path, schema)) = &self.wanted.structured else { return Ok(None) };
        let told = || format!("the structured result `{}` cannot be used", path.display());
        let contained = self.workspace.real_to_sandbox(path.clone()).with_context(told)?;
        ensure!(
            contained.access == Access::Writable,
            "the structured result `{}` is where the agent may not write",
            path.display()
        );
        Ok(Some(StructuredResult::expect(self.workspace.clone(), contained, schema, self.resumed)?))
    }

    /// What is said before the prompt: the system message, and skills that were asked for.
    fn opening(
        &self,
        structured: Option<&StructuredResult>,
        skills: Option<&SkillSet>,
    ) -> Result<Vec<Opening>> {
        let focus = self.focus()?;
        let extra = self.workspace.mounts().iter().skip(1);
        let mounts: Vec<(String, bool, String)> = extra
            .map(|mount| {
                let writable = mount.access() == Access::Writable;
                (mount.target().as_str().to_owned(), writable, mount.name().to_owned())
            })
            .collect();
        let catalogue = self.registry.as_ref().filter(|_| self.wanted.catalogue && self.offers("load_skill"));
        let catalogue = catalogue.map(Registry::catalogue).unwrap_or_default();
        let content = system_prompt(&PromptParts {
            operator: self.wanted.operator,
            focus: focus.as_deref(),
            mounts: &mounts,
            structured: structured.map(|one| (one.place.sandbox.as_str(), one.schema_text())),
            skills: &catalogue,
            additional: self.wanted.system_prompt.as_deref(),
        });
        let mut opening = vec![Opening {
            kept: KeptMessage::System { content },
            label: self.system_label(),
            rows: Vec::new(),
        }];
        if let Some(skills) = skills.filter(|_| !self.wanted.preload.is_empty()) {
            let chosen = skills.registry().select(&self.wanted.preload)?;
            let rows = chosen.iter().filter_map(|skill| skills.activate(skill, ActivationSource::CliPreload));
            let rows = rows.collect();
            let kept = KeptMessage::User { content: preload_message(&chosen), image_attachments: Vec::new() };
            let labels = chosen.iter().map(|skill| skills.label(skill.name(), None));
            let label = labels.fold(Label::bottom(), |all, label| all.join(&label));
            opening.push(Opening { kept, label, rows });
        }
        Ok(opening)
    }

    /// The label of the system message: ours, with what skills say about themselves and the operator about the task.
    fn system_label(&self) -> Label {
        let catalogue = self.registry.as_ref().filter(|_| self.wanted.catalogue && self.offers("load_skill"));
        let skills = catalogue.map(Registry::skills).unwrap_or_default();
        let labels = skills.iter().filter_map(|skill| {
            let place = SandboxPath::absolute(skill.sandbox_skill_path.to_str()?).ok()?;
            Some(self.sources.skill(skill.name(), false, &place))
        });
        let additional = self.wanted.system_prompt.as_ref();
        let additional = additional.map(|_| self.sources.prompt(PromptRole::DirectCommand));
        labels.chain(additional).fold(Label::bottom(), |all, label| all.join(&label))
    }

    fn offers(&self, tool: &str) -> bool {
        self.settings.tools.contains(tool)
    }
}

/// The limits on record.
pub(super) fn recorded_limits(settings: &RecordedSettings) -> Limits {
    let (usual, recorded) = (Limits::default(), settings.limits);
    Limits {
        turns: recorded.model_turns.and_then(|turns| u32::try_from(turns).ok()).unwrap_or(usual.turns),
        tokens: recorded.total_tokens.unwrap_or(usual.tokens),
        cost_usd: recorded.cost_usd.unwrap_or(usual.cost_usd),
        time: recorded.seconds.map_or(usual.time, Duration::from_secs),
        output_bytes: recorded.output_bytes.unwrap_or(usual.output_bytes),
        ..usual
    }
}

fn settings_of(
    wanted: &Wanted,
    workspace: &Workspace,
    registry: Option<&Registry>,
    model: &ChosenModel,
    limits: &Limits,
) -> Result<RecordedSettings> {
    let start_dir = match &wanted.cwd {
        Some(cwd) => {
            let told = || format!("the agent cannot begin in `{}`", cwd.display());
            let contained = workspace.host_to_sandbox(&wanted.workspace.join(cwd)).with_context(told)?;
            let advice = "name a directory in the workspace with `--cwd`";
            ensure!(contained.host.is_dir(), Advice::new(told(), advice));
            contained.sandbox.as_str().to_owned()
        }
        None => fullsend_agent::execution::WORKSPACE.to_owned(),
    };
    let mounts = workspace.mounts().iter().skip(1).map(|mount| RecordedMount {
        host: mount.host().to_owned(),
        sandbox: mount.target().as_str().to_owned(),
        access: match mount.access() {
            Access::ReadOnly => MountAccess::ReadOnly,
            Access::Writable => MountAccess::ReadWrite,
        },
    });
    let mut tools = wanted.tools.clone();
    if registry.is_none() {
        tools.retain(|tool| !OF_SKILLS.contains(&tool.as_str()));
    }
    if wanted.profiles.is_empty() {
        tools.remove(subagent::NAME);
    }
    let roots = wanted.skills_roots.iter().map(|path| RecordedRoot {
        path: path.clone(),
        digest: registry.map(registry_digest).unwrap_or_default(),
    });
    Ok(RecordedSettings {
        workspace: wanted.workspace.clone(),
        start_dir,
        tools,
        subagent_profiles: wanted.profiles.iter().map(|profile| profile.as_str().to_owned()).collect(),
        skill_scripts: wanted.scripts.iter().map(ToString::to_string).collect(),
        mounts: mounts.collect(),
        sandbox: RecordedSandbox {
            backend: if wanted.image.is_some() { "docker" } else { "local" }.to_owned(),
            image: wanted.image.clone(),
            runtime: wanted.runtime.clone(),
            network_hosts: wanted.hosts.clone(),
        },
        model: model.name.clone(),
        gateway: RecordedGateway { url: model.url.clone(), auth: model.auth.to_owned() },
        limits: RecordedLimits::of(limits),
        flow_mode: wanted.mode,
        flow_policy: wanted.policy.clone(),
        canary_file: wanted.canary_file.clone(),
        prompt_role: wanted.role,
        skills_roots: roots.collect(),
        structured_result: wanted.structured.as_ref().map(|(path, schema)| RecordedResult {
            path: path.clone(),
            schema_digest: Some(format!("sha256:{}", Sha256Digest::of(schema.to_string().as_bytes()))),
        }),
        provenance: wanted.provenance.clone(),
    })
}

/// One digest over every skill and all of its files.
fn registry_digest(registry: &Registry) -> String {
    let mut text = String::new();
    for skill in registry.skills() {
        text.push_str(&format!("{} {}\n", skill.name(), skill.digest));
        for resource in &skill.resources {
            text.push_str(&format!("{} {}\n", resource.path, resource.digest));
        }
    }
    format!("sha256:{}", Sha256Digest::of(text.as_bytes()))
}

fn registry_of(wanted: &Wanted, workspace: &Workspace) -> Result<Option<Registry>> {
    if wanted.skills_roots.is_empty() {
        let useless =
            [("--skill", !wanted.preload.is_empty()), ("--allow-skill-script", !wanted.scripts.is_empty())];
        if let Some((option, _)) = useless.into_iter().find(|(_, given)| *given) {
            bail!(Advice::new(
                format!("`{option}` needs skills"),
                "name a directory with `--skills-root DIR`"
            ));
        }
        return Ok(None);
    }
    let mut roots = Vec::with_capacity(wanted.skills_roots.len());
    for path in &wanted.skills_roots {
        let told = || format!("the skills in `{}` cannot be used", path.display());
        ensure!(
            path.is_dir(),
            Advice::new(told(), "name a directory in the workspace or in a mounted directory")
        );
        let contained = workspace.host_to_sandbox(path).with_context(told)?;
        roots.push(SkillRoot { host: contained.host, sandbox: contained.sandbox.as_str().into() });
    }
    Ok(Some(Registry::scan(&roots, fullsend_skills::Limits::default())))
}

/// Makes the directory of runs, which no version control should pick up.
fn make_artifact_root(root: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    if root.is_dir() {
        return Ok(());
    }
    let told = || format!("cannot make the directory for runs, `{}`", root.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(root).with_context(told)?;
    fs::write(root.join(".gitignore"), "*\n").with_context(told)
}
