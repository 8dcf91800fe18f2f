//! What a run is asked to be, by the command line and the environment, or by its record.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use fullsend_agent::browser::{AccountAccess, Lease, ProfileMode};
use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::manifest::RunManifest;
use fullsend_agent::store::{MountAccess, Provenance, RecordedSettings, RunStore};
use fullsend_agent::subagent::{self, Profile};
use fullsend_agent::workspace::{Access, HostMount, SandboxPath};
use fullsend_skills::AllowedScript;
use serde_json::Value;

use super::decided::Decided;
use super::mediation::SidecarDirs;
use super::{absolute, canary, flow_policy};
use crate::cli::{AgentExecArgs, BrowserArgs, OutputMode, PlaceArgs, TOOLS};
use crate::environment;
use crate::output::{Advice, Output};

/// Runs are kept here, below the workspace, unless something else is said.
const ARTIFACTS: &str = ".fullsend-artifacts";
/// The schema of the structured result, among the artifacts.
pub(super) const SCHEMA: &str = "structured-result-schema.json";
/// Tools that have to be asked for.
const NOT_BY_DEFAULT: [&str; 2] = ["web_fetch", "run_skill_script"];

/// What a run is asked to be.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) workspace: PathBuf,
    pub(super) cwd: Option<PathBuf>,
    pub(super) focus: Option<PathBuf>,
    pub(super) mounts: Vec<HostMount>,
    pub(super) artifact_root: PathBuf,
    pub(super) image: Option<String>,
    pub(super) runtime: Option<String>,
    pub(super) sidecars: SidecarDirs,
    pub(super) hosts: BTreeSet<String>,
    pub(super) tools: BTreeSet<String>,
    pub(super) profiles: Vec<Profile>,
    pub(super) search_model: String,
    /// The browser that subagents may drive.
    pub(super) lease: Option<Lease>,
    pub(super) scripts: Vec<AllowedScript>,
    pub(super) mode: FlowMode,
    pub(super) role: PromptRole,
    pub(super) provenance: Provenance,
    pub(super) manifest: Option<RunManifest>,
    pub(super) policy: fullsend_flow::Policy,
    /// The file with the tokens that were planted.
    pub(super) canary_file: Option<PathBuf>,
    pub(super) skills_roots: Vec<PathBuf>,
    pub(super) preload: Vec<String>,
    pub(super) catalogue: bool,
    pub(super) structured: Option<(PathBuf, Value)>,
    pub(super) system_prompt: Option<String>,
    pub(super) operator: bool,
}

impl Wanted {
    /// What the command line and the environment ask for.
    pub(super) fn of(
        args: &AgentExecArgs,
        prompt: &str,
        current: &Path,
        output: &mut Output,
    ) -> Result<Self> {
        let place = &args.place;
        let workspace = absolute(place.workspace.as_deref().unwrap_or(Path::new(".")), current);
        let workspace = workspace
            .canonicalize()
            .with_context(|| format!("the workspace `{}` cannot be used", workspace.display()))?;
        let artifact_root = place.artifact_root.as_deref().map(|root| absolute(root, current));
        let mounts = mounts_of(place)?;
        let option = |given: &Option<String>, name: &str| {
            given.clone().or_else(|| environment::agent_option(name).map(|(_, value)| value))
        };
        let decided = Decided::of(args, prompt, &workspace, current)?;
        let image = option(&place.sandbox_image, "SANDBOX_IMAGE");
        let sidecars = SidecarDirs::of(place, decided.mode, image.as_deref(), current)?;
        let mut skills = args.skills.skill.clone();
        skills.retain(|name| !name.trim().is_empty());
        Ok(Self {
            artifact_root: artifact_root.unwrap_or_else(|| workspace.join(ARTIFACTS)),
            cwd: place.cwd.clone(),
            focus: place.focus_root.clone(),
            mounts,
            image,
            sidecars,
            runtime: option(&place.sandbox_docker_runtime, "SANDBOX_DOCKER_RUNTIME"),
            hosts: place.allow_host.iter().cloned().collect(),
            tools: tools_of(args),
            profiles: profiles_of(args)?,
            search_model: search_model_of(args),
            lease: lease_of(&args.browser)?,
            scripts: args
                .skills
                .allow_skill_script
                .iter()
                .map(|text| text.parse())
                .collect::<Result<_, _>>()?,
            mode: decided.mode,
            role: decided.role,
            provenance: decided.provenance,
            manifest: decided.manifest,
            policy: flow_policy::asked(args, current, output)?.unwrap_or_default(),
            canary_file: canary::file_of(args, current),
            skills_roots: args.skills.skills_root.iter().map(|root| workspace.join(root)).collect(),
            preload: skills,
            catalogue: !args.skills.no_skill_catalog,
            structured: structured_of(args, &workspace, current)?,
            system_prompt: args.system_prompt.clone(),
            operator: args.result.output_mode == OutputMode::Operator,
            workspace,
        })
    }

    /// What is on record of a run, or what is asked for in its place: whether that is more is looked at later.
    pub(super) fn on_record(
        args: &AgentExecArgs,
        more: Option<&str>,
        recorded: &RecordedSettings,
        store: &RunStore,
        current: &Path,
        output: &mut Output,
    ) -> Result<Self> {
        let mounts = recorded.mounts.iter().enumerate().map(|(number, mount)| -> Result<HostMount> {
            Ok(HostMount {
                name: format!("mount-{}", number + 1),
                source: mount.host.clone(),
                target: SandboxPath::absolute(&mount.sandbox)?,
                access: match mount.access {
                    MountAccess::ReadOnly => Access::ReadOnly,
                    MountAccess::ReadWrite => Access::Writable,
                },
            })
        });
        let schema = match &recorded.structured_result {
            Some(result) => Some((result.path.clone(), read_json(&store.run_dir().join(SCHEMA))?)),
            None => None,
        };
        let place = &args.place;
        let workspace = place.workspace.as_ref().map(|given| absolute(given, current));
        let workspace = workspace.map(|given| given.canonicalize().unwrap_or(given));
        let workspace = workspace.unwrap_or_else(|| recorded.workspace.clone());
        let asked_mounts = mounts_of(place)?;
        let scripts = match args.skills.allow_skill_script.as_slice() {
            [] => recorded.skill_scripts.iter().map(|text| text.parse()).collect::<Result<_, _>>()?,
            asked => asked.iter().map(|text| text.parse()).collect::<Result<_, _>>()?,
        };
        let skills_roots = match args.skills.skills_root.as_slice() {
            [] => recorded.skills_roots.iter().map(|root| root.path.clone()).collect(),
            asked => asked.iter().map(|root| workspace.join(root)).collect(),
        };
        let asked_or = |asked: &[String], recorded: &BTreeSet<String>| {
            if asked.is_empty() { recorded.clone() } else { asked.iter().cloned().collect() }
        };
        let artifact_root = store.run_dir().parent().unwrap_or(Path::new("/")).to_owned();
        let decided = Decided::on_record(args, more, recorded, store)?;
        let image = place.sandbox_image.clone().or_else(|| recorded.sandbox.image.clone());
        Ok(Self {
            workspace,
            cwd: None,
            focus: None,
            mounts: if asked_mounts.is_empty() { mounts.collect::<Result<_>>()? } else { asked_mounts },
            artifact_root,
            sidecars: SidecarDirs::of(place, decided.mode, image.as_deref(), current)?,
            image,
            runtime: place.sandbox_docker_runtime.clone().or_else(|| recorded.sandbox.runtime.clone()),
            hosts: asked_or(&place.allow_host, &recorded.sandbox.network_hosts),
            tools: asked_or(&args.permission.allow_tool, &recorded.tools),
            profiles: asked_or(&args.permission.allow_subagent_profile, &recorded.subagent_profiles)
                .iter()
                .filter_map(|name| Profile::named(name))
                // A browser is lent anew, or not at all.
                .filter(|profile| {
                    *profile != Profile::Browser || args.browser.browser_access_cdp_url.is_some()
                })
                .collect(),
            search_model: search_model_of(args),
            lease: lease_of(&args.browser)?,
            scripts,
            mode: decided.mode,
            role: decided.role,
            provenance: decided.provenance,
            manifest: decided.manifest,
            policy: flow_policy::asked(args, current, output)?
                .unwrap_or_else(|| recorded.flow_policy.clone()),
            canary_file: canary::file_of(args, current).or_else(|| recorded.canary_file.clone()),
            skills_roots,
            preload: Vec::new(),
            catalogue: true,
            structured: schema,
            system_prompt: None,
            operator: args.result.output_mode == OutputMode::Operator,
        })
    }
}

/// The directories of the host that are asked for.
fn mounts_of(place: &PlaceArgs) -> Result<Vec<HostMount>> {
    let mut mounts =
        place.host_mount.iter().map(|spec| spec.parse()).collect::<Result<Vec<HostMount>, _>>()?;
    if let Some(fabric) = &place.fabric_mount {
        mounts.push(HostMount {
            name: "fabric".to_owned(),
            source: fabric.clone(),
            target: SandboxPath::absolute("/fabric")?,
            access: Access::Writable,
        });
    }
    Ok(mounts)
}

fn tools_of(args: &AgentExecArgs) -> BTreeSet<String> {
    let given = &args.permission.allow_tool;
    if given.is_empty() {
        let usual = TOOLS.into_iter().filter(|tool| !NOT_BY_DEFAULT.contains(tool));
        return usual.map(str::to_owned).collect();
    }
    given.iter().cloned().collect()
}

/// What subagents may be. A run that may use only some tools has none unless they are asked for.
fn profiles_of(args: &AgentExecArgs) -> Result<Vec<Profile>> {
    let (asked, tools) = (&args.permission.allow_subagent_profile, &args.permission.allow_tool);
    if asked.is_empty() {
        return Ok(if tools.is_empty() { vec![Profile::Default] } else { Vec::new() });
    }
    ensure!(
        tools.is_empty() || tools.iter().any(|tool| tool == subagent::NAME),
        Advice::new(
            "`--allow-subagent-profile` is of no use without the tool that starts subagents",
            format!("add `--allow-tool {}`, or leave the profile out", subagent::NAME)
        )
    );
    let mut profiles: Vec<Profile> = asked.iter().filter_map(|name| Profile::named(name)).collect();
    ensure!(
        !profiles.contains(&Profile::Browser) || args.browser.browser_access_cdp_url.is_some(),
        Advice::new(
            "subagents of the profile `browser` need a browser",
            "say where one listens with `--browser-access-cdp-url http://127.0.0.1:PORT`"
        )
    );
    profiles.sort_unstable();
    profiles.dedup();
    Ok(profiles)
}

/// The right to drive a browser, if one was given and is not over.
fn lease_of(args: &BrowserArgs) -> Result<Option<Lease>> {
    let Some(endpoint) = &args.browser_access_cdp_url else { return Ok(None) };
    let mut lease =
        Lease::new(endpoint)?.until(args.browser_access_expires_at.as_deref().unwrap_or_default())?;
    if args.browser_access_profile_mode.as_deref() == Some("persistent") {
        lease = lease.with_mode(ProfileMode::Persistent);
    }
    if args.browser_access_account_access.as_deref() == Some("available") {
        lease = lease.with_account(AccountAccess::Available);
    }
    lease.check(fullsend_guard::Clock::now(&fullsend_guard::SystemClock))?;
    Ok(Some(lease))
}

fn search_model_of(args: &AgentExecArgs) -> String {
    let of_environment = || environment::agent_option("WEB_SEARCH_MODEL").map(|(_, value)| value);
    let named = args.model.web_search_model.clone().or_else(of_environment);
    named.unwrap_or_else(|| subagent::SEARCH_MODEL.to_owned())
}

fn structured_of(args: &AgentExecArgs, workspace: &Path, current: &Path) -> Result<Option<(PathBuf, Value)>> {
    let result = &args.result;
    let Some(path) = &result.structured_result_path else { return Ok(None) };
    let schema = match (&result.structured_result_schema, &result.structured_result_schema_file) {
        (Some(text), None) => {
            serde_json::from_str(text).context("the schema of the structured result is not JSON")?
        }
        (None, Some(file)) => read_json(&absolute(file, current))?,
        _ => bail!(Advice::new(
            "a structured result needs a schema",
            "give one of `--structured-result-schema JSON` and `--structured-result-schema-file FILE`"
        )),
    };
    Ok(Some((workspace.join(path), schema)))
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))
}
