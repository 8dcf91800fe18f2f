//! Puts everything together that the sandbox will see.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_guard::hook::{Hook, HookConfig};
use fullsend_guard::service::{Decide, Limits, SOCKET, Service, ServiceConfig};
use fullsend_runtimes::{Bootstrap, ENV_FILE, Equipment, HOOK_SERVICE, HookDesk, Stage};
use fullsend_sandbox::FilesystemMount;
use serde_json::json;

use crate::assemble;
use crate::context::{Injected, Instructions, Withheld, inject, withhold};
use crate::env_file::{EnvFile, SessionDefaults};
use crate::fetch_service::{FetchService, RuntimeFetcher, RuntimeFetcherConfig, Told};
use crate::held::Held;
use crate::hook_events::{self, HookEvents, HookTeller};
use crate::host_files::place;
use crate::pipeline::Scene;
use crate::readonly_repo;
use crate::steps::pre_script::with_cause;
use crate::steps::scan::Inputs;
use crate::stop::Stop;
use crate::teller::Made;

/// What sessions have by themselves.
const SESSION: SessionDefaults<'static> = SessionDefaults {
    path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    home: "/home/agent",
};

/// What the sandbox is made from.
#[derive(Debug)]
pub(crate) struct Uploaded {
    pub(crate) stage: Stage,
    pub(crate) equipment: Equipment,
    /// The runtime's own directory in the sandbox.
    pub(crate) config_dir: String,
    /// Mounts besides those of the stage, in order.
    pub(crate) mounts: Vec<FilesystemMount>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) withheld: Withheld,
    pub(crate) injected: Injected,
    pub(crate) hooks: Option<HookDesk>,
    pub(crate) events: HookEvents,
    pub(crate) fetcher: Option<RuntimeFetcher>,
}

/// Puts everything together.
pub(crate) async fn upload(
    scene: &Scene<'_, '_>,
    inputs: Inputs,
    home: &Path,
    held: &mut Held,
) -> Result<Made<Uploaded>, Stop> {
    let (request, plan) = (scene.request, scene.plan);
    let repo_name = request.target_repo.file_name().map(|name| name.to_string_lossy().into_owned());
    let stage = Stage::create(home, &repo_name.unwrap_or_default())?;
    let is_over = || request.cancel.signal().is_some();
    let copied = assemble::repository(&request.target_repo, &stage, &[&request.output_dir], &is_over)
        .map_err(failed)?;
    let (withheld, injected) = instructions(scene, &stage, &inputs)?;
    if let Some(input) = &plan.agent_input {
        warn(scene, assemble::agent_input(input, &stage).map_err(failed)?.warnings);
    }
    assemble::program(&request.program, &stage).map_err(failed)?;
    if let Some(result) = &plan.result {
        assemble::schema(&result.bytes, &result.path, &stage).map_err(failed)?;
    }
    let mut equipment = bootstrap(scene, &stage, &inputs.skills)?;
    warn(scene, std::mem::take(&mut equipment.warnings));
    let config_dir = request.runtime.config_dir();
    let mut files = inputs.host_files;
    files.extend(plan.token.iter().flat_map(|token| plan.canary.contents(token)));
    let placed = place(&files, &stage, &config_dir)
        .map_err(|error| Stop::refused(with_cause(&error), "correct `host_files` of the harness"))?;
    let mut mounts = placed.mounts;
    if plan.harness.readonly_repo.as_ref().is_some_and(|readonly| readonly.value) {
        let fixed = readonly_repo::mounts(&stage);
        mounts.extend(fixed.map_err(|error| Stop::refused(error.to_string(), "leave `readonly_repo` out"))?);
    }
    let (teller, events) = hook_events::channel();
    let hooks = answer_hooks(scene, &stage, held, &mut mounts, teller.clone())?;
    let fetcher = serve_skills(scene, &stage, &config_dir, held, &mut mounts, teller).await?;
    let mut sandbox = plan.providers.env.clone();
    sandbox.extend(plan.expanded.sandbox.clone());
    let canary = plan.canary.env.as_deref().zip(plan.token.as_ref().map(|token| token.reveal()));
    let fetch_lines = held.fetching.as_ref().map(FetchService::env_lines);
    let env_file = EnvFile {
        runtime: &equipment.env,
        repo: &stage.repo_in_sandbox(),
        role: plan.harness.role.as_ref().map(|role| role.as_str()),
        slug: plan.harness.slug.as_ref().map(|slug| slug.as_str()),
        has_schema: plan.result.is_some(),
        output_file: Some(&plan.scripts.result_file),
        fetch: fetch_lines.as_deref(),
        files: &placed.env_files,
        sandbox: &sandbox,
        canary,
        trace_id: scene.log.trace_id().as_str(),
    };
    env_file.write(&stage).map_err(Stop::io("write the variables of the sandbox"))?;
    let mut env = env_file.variables(SESSION);
    // Shells that no runtime of ours starts read the same file.
    env.insert("BASH_ENV".to_owned(), ENV_FILE.to_owned());
    let detail = format!("{} files, {} bytes", copied.files, copied.bytes);
    warn(scene, copied.warnings);
    Ok(Made::done(
        Uploaded { stage, equipment, config_dir, mounts, env, withheld, injected, hooks, events, fetcher },
        detail,
    ))
}

fn failed(error: impl std::error::Error) -> Stop {
    Stop::Failed { message: with_cause(&error) }
}

fn warn(scene: &Scene<'_, '_>, warnings: Vec<String>) {
    warnings.into_iter().for_each(|warning| scene.teller.warn(warning));
}

/// Instructions of the organisation in, settings of the repository out.
fn instructions(scene: &Scene<'_, '_>, stage: &Stage, inputs: &Inputs) -> Result<(Withheld, Injected), Stop> {
    let request = scene.request;
    let withheld =
        withhold(stage, &scene.plan.allowed_config).map_err(Stop::io("set repository settings aside"))?;
    for entry in &withheld.entries {
        scene.teller.warn(format!(
            "`{}` of the repository is not used: a repository does not configure the runtime; to allow it: allow_repository_config",
            entry.path.display()
        ));
    }
    let output = request.output_dir.strip_prefix(&request.target_repo).ok().and_then(Path::to_str);
    let mut injected = inject(
        Instructions {
            repo: &request.target_repo,
            default: inputs.instructions.as_deref(),
            bridge: request.runtime.needs_claude_md_bridge(),
            output: output.filter(|name| !name.is_empty() && !name.contains('/')),
        },
        stage,
    )
    .map_err(Stop::io("put instructions into the copy of the repository"))?;
    warn(scene, std::mem::take(&mut injected.warnings));
    Ok((withheld, injected))
}

fn bootstrap(scene: &Scene<'_, '_>, stage: &Stage, skills: &[PathBuf]) -> Result<Equipment, Stop> {
    let plan = scene.plan;
    Ok(scene.request.runtime.bootstrap(&Bootstrap {
        stage,
        agent: &plan.agent,
        skills,
        plugins: &plan.plugins,
        hooks: plan.security.enabled,
        wanted: &plan.wanted,
    })?)
}

/// Starts what decides about tool calls, and says in the stage where it is.
fn answer_hooks(
    scene: &Scene<'_, '_>,
    stage: &Stage,
    held: &mut Held,
    mounts: &mut Vec<FilesystemMount>,
    teller: HookTeller,
) -> Result<Option<HookDesk>, Stop> {
    if !scene.plan.security.enabled {
        return Ok(None);
    }
    let config = HookConfig {
        runtime: scene.request.runtime.id(),
        checks: scene.plan.hooks.clone(),
        ..HookConfig::default()
    };
    let hook = Hook::new(config).map_err(|error| Stop::refused(error.to_string(), "correct `security`"))?;
    let decide: Arc<Decide> = Arc::new(move |phase, input: &[u8]| {
        let decision = hook.decide(phase, input);
        teller.tell(phase, input, &decision);
        decision
    });
    let service = ServiceConfig { directory: stage.root().join("hook-service"), limits: Limits::default() };
    let service = Service::start(service, decide.clone(), scene.log.clone()).map_err(failed)?;
    mounts.push(FilesystemMount::read_only(service.mount(), HOOK_SERVICE));
    held.hooks = Some(service);
    let wiring = json!({ "service": format!("{HOOK_SERVICE}/{SOCKET}") });
    fs::write(stage.hooks().join("hook.json"), format!("{wiring}\n"))
        .map_err(Stop::io("say where hooks are answered"))?;
    Ok(Some(HookDesk { decide, log: scene.log.clone() }))
}

/// Starts what fetches skills while the agent runs, if the harness asks for it.
async fn serve_skills(
    scene: &Scene<'_, '_>,
    stage: &Stage,
    config_dir: &str,
    held: &mut Held,
    mounts: &mut Vec<FilesystemMount>,
    teller: HookTeller,
) -> Result<Option<RuntimeFetcher>, Stop> {
    let plan = scene.plan;
    let fetcher = RuntimeFetcher::for_harness(RuntimeFetcherConfig {
        harness: &plan.harness,
        org: &scene.request.configuration.allow,
        store: scene.request.store.clone(),
        stage,
        skills_dir: scene.request.runtime.skills_dir(stage),
        config_dir,
        checks: plan.security.checks.clone(),
        policy: plan.security.policy,
        log: scene.log.clone(),
        told: Some(Told::new(move |url, allowed, why| teller.fetch(url, allowed, why))),
    })
    .map_err(Stop::io("make the directory for skills"))?;
    let Some(fetcher) = fetcher else { return Ok(None) };
    mounts.push(fetcher.mount());
    let service =
        FetchService::start(fetcher.clone()).await.map_err(Stop::io("start the service for skills"))?;
    held.fetching = Some(service);
    Ok(Some(fetcher))
}
