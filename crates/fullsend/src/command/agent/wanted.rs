//! What a run is asked to be: read from the command line and the environment, or from its record.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use fullsend_agent::browser::{AccountAccess, Lease, ProfileMode};
use fullsend_agent::execution::WORKSPACE;
use fullsend_agent::scene::{Delivery, NOT_BY_DEFAULT, RESULT_SCHEMA, TOOLS, Wanted};
use fullsend_agent::store::{MountAccess, RecordedSettings, RunStore};
use fullsend_agent::subagent::{self, Profile};
use fullsend_agent::workspace::{Access, HostMount, SandboxPath};
use serde_json::Value;

use super::decided::Decided;
use super::{absolute, canary, flow_policy, mediation};
use crate::cli::{AgentExecArgs, BrowserArgs, OutputMode, PlaceArgs};
use crate::environment;
use crate::output::{Advice, Output};

/// Runs are kept here, below the workspace, unless something else is said.
const ARTIFACTS: &str = ".fullsend-artifacts";

/// What the command line and the environment ask for.
pub(in crate::command) fn of(
    args: &AgentExecArgs,
    prompt: &str,
    current: &Path,
    output: &mut Output,
) -> Result<Wanted> {
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
    let sidecars = mediation::dirs(place, decided.mode, image.as_deref(), current)?;
    let mut skills = args.skills.skill.clone();
    skills.retain(|name| !name.trim().is_empty());
    Ok(Wanted {
        artifact_root: artifact_root.unwrap_or_else(|| workspace.join(ARTIFACTS)),
        target: WORKSPACE.to_owned(),
        access: Access::Writable,
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
        scripts: args.skills.allow_skill_script.iter().map(|text| text.parse()).collect::<Result<_, _>>()?,
        mode: decided.mode,
        role: decided.role,
        provenance: decided.provenance,
        manifest: decided.manifest,
        policy: flow_policy::asked(args, current, output)?.unwrap_or_default(),
        canaries: canary::asked(args, current)?,
        skills_roots: args.skills.skills_root.iter().map(|root| workspace.join(root)).collect(),
        preload: skills,
        catalogue: !args.skills.no_skill_catalog,
        notes: Vec::new(),
        delivery: Delivery::File,
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
) -> Result<Wanted> {
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
        Some(result) => Some((result.path.clone(), read_json(&store.run_dir().join(RESULT_SCHEMA))?)),
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
    Ok(Wanted {
        workspace,
        target: WORKSPACE.to_owned(),
        access: Access::Writable,
        cwd: None,
        focus: None,
        mounts: if asked_mounts.is_empty() { mounts.collect::<Result<_>>()? } else { asked_mounts },
        artifact_root,
        sidecars: mediation::dirs(place, decided.mode, image.as_deref(), current)?,
        image,
        runtime: place.sandbox_docker_runtime.clone().or_else(|| recorded.sandbox.runtime.clone()),
        hosts: asked_or(&place.allow_host, &recorded.sandbox.network_hosts),
        tools: asked_or(&args.permission.allow_tool, &recorded.tools),
        profiles: asked_or(&args.permission.allow_subagent_profile, &recorded.subagent_profiles)
            .iter()
            .filter_map(|name| Profile::named(name))
            // A browser is lent anew, or not at all.
            .filter(|profile| *profile != Profile::Browser || args.browser.browser_access_cdp_url.is_some())
            .collect(),
        search_model: search_model_of(args),
        lease: lease_of(&args.browser)?,
        scripts,
        mode: decided.mode,
        role: decided.role,
        provenance: decided.provenance,
        manifest: decided.manifest,
        policy: flow_policy::asked(args, current, output)?.unwrap_or_else(|| recorded.flow_policy.clone()),
        canaries: canary::asked_or(args, recorded.canary_file.as_deref(), current)?,
        skills_roots,
        preload: Vec::new(),
        catalogue: true,
        notes: Vec::new(),
        delivery: Delivery::File,
        structured: schema,
        system_prompt: None,
        operator: args.result.output_mode == OutputMode::Operator,
    })
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
