//! Makes the sandbox, in which the policy of the harness is true.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fullsend_runtimes::{PROGRAM, Place, SkillFetcher};
use fullsend_sandbox::{
    FilesystemMount, NetworkPolicy, ResourceLimits, SandboxBackend, SandboxError, SandboxSession,
    SandboxSessionId, SandboxSpec,
};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::api_servers::{ApiServers, ServerWanted};
use crate::context::{Injected, Withheld};
use crate::environment::child;
use crate::fetch_service::FetchService;
use crate::grants::sandbox_spec;
use crate::held::Held;
use crate::hook_events::HookEvents;
use crate::pipeline::{Known, Scene};
use crate::report::SandboxRecord;
use crate::request::BackendOrder;
use crate::run_dir::RunDir;
use crate::steps::image;
use crate::steps::pre_script::with_cause;
use crate::steps::upload::Uploaded;
use crate::stop::Stop;
use crate::teller::Made;

/// How long the sandbox may take to be there when the harness does not say.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the agent works, and what the run still needs of its making.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) place: Place,
    pub(crate) withheld: Withheld,
    pub(crate) injected: Injected,
    pub(crate) events: Mutex<HookEvents>,
    pub(crate) egress_log: PathBuf,
}

/// Makes the sandbox.
pub(crate) async fn provision(
    scene: &Scene<'_, '_>,
    uploaded: Uploaded,
    held: &mut Held,
    known: &Known,
) -> Result<Made<Ground>, Stop> {
    let (request, harness) = (scene.request, &scene.plan.harness);
    let Some(dir) = &known.dir else {
        return Err(Stop::Failed { message: "the run has no directory".to_owned() });
    };
    let egress_log = dir.logs().join("egress.jsonl");
    let order = order(scene, &egress_log)?;
    serve(scene, dir, held).await?;
    let mut spec = granted(scene, &uploaded, held)?;
    spec.session_id = Some(SandboxSessionId::new(known.run_name())?);
    let backend = request.backends.connect(order).await.map_err(unmade)?;
    let patience = harness.sandbox_timeout_seconds.as_ref();
    let patience = patience.and_then(|seconds| u64::try_from(seconds.value.get()).ok());
    let patience = patience.filter(|seconds| *seconds > 0).map_or(PATIENCE, Duration::from_secs);
    let session = make(&backend, &spec, patience, held).await?;
    if let Some(image) = order.image {
        let (programs, hooks) = (&uploaded.equipment.programs, uploaded.hooks.is_some());
        image::try_out(image, backend.as_ref(), &session.id, programs, hooks).await?;
    }
    if let Some(hide) = uploaded.withheld.git_request(&uploaded.stage, true) {
        let hidden = backend.exec(&session.id, hide).await?;
        if !hidden.success() {
            scene
                .teller
                .warn("git in the sandbox shows settings of the repository that were set aside as deleted");
        }
    }
    let detail = format!("{} {}", session.backend, session.id);
    scene.teller.with_records(|records| records.update(|report| report.sandbox = Some(record(&session))));
    let Uploaded { stage, env, withheld, injected, hooks, events, fetcher, .. } = uploaded;
    let fetcher = fetcher.map(|fetcher| Arc::new(fetcher) as Arc<dyn SkillFetcher>);
    let (records, canaries) = (dir.records(), scene.plan.token.iter().cloned().collect());
    let session = session.id;
    let place = Place { stage, backend, session, spec, env, hooks, fetcher, canaries, records };
    Ok(Made::done(Ground { place, withheld, injected, events: Mutex::new(events), egress_log }, detail))
}

/// Which backend is wanted. What containers cannot do is refused before one is made.
fn order<'a>(scene: &'a Scene<'_, '_>, egress_log: &'a Path) -> Result<BackendOrder<'a>, Stop> {
    let (options, harness) = (&scene.request.options, &scene.plan.harness);
    let named = harness.image.as_ref().map(|image| image.value.as_str()).filter(|image| !image.is_empty());
    let image = options.image.as_deref().or(named);
    let runtime = options.container_runtime.as_deref();
    match (image, runtime) {
        (None, Some(runtime)) => Err(Stop::refused(
            format!("`{runtime}` is a runtime of containers, and no image for one is named"),
            "name one with `--sandbox-image` or `image` in the harness, or leave the runtime out",
        )),
        (Some(_), _) if options.explain => Err(Stop::refused(
            "`--explain` has no effect in containers: they do not tell which files were refused",
            "leave it out, or run without an image",
        )),
        (image, runtime) => Ok(BackendOrder { image, runtime, egress_log }),
    }
}

/// What a backend cannot enforce is a matter of what was asked for.
fn unmade(error: SandboxError) -> Stop {
    if let SandboxError::Unsupported { .. } = &error {
        let help =
            "leave out what is not supported, or use another sandbox; `fullsend doctor` tells what there is";
        return Stop::refused(error.to_string(), help);
    }
    Stop::Sandbox(error)
}

/// Makes the sandbox in a task of its own: when the run ends meanwhile, the making is waited for, since dropping it halfway
/// would leave behind what nobody knows of.
async fn make(
    backend: &Arc<dyn SandboxBackend>,
    spec: &SandboxSpec,
    patience: Duration,
    held: &mut Held,
) -> Result<SandboxSession, Stop> {
    held.session = spec.session_id.clone().map(|id| (Arc::clone(backend), id));
    let (maker, wanted) = (Arc::clone(backend), spec.clone());
    let making = held.making.insert(tokio::spawn(async move { maker.provision(wanted).await }));
    let made = timeout(patience, making).await.map_err(|_elapsed| Stop::Failed {
        message: format!("the sandbox was not ready within {} seconds", patience.as_secs()),
    })?;
    held.making = None;
    let made =
        made.map_err(|error| Stop::Failed { message: format!("the sandbox could not be made: {error}") })?;
    made.map_err(unmade)
}

/// Starts the servers beside the sandbox.
async fn serve(scene: &Scene<'_, '_>, dir: &RunDir, held: &mut Held) -> Result<(), Stop> {
    let (plan, request) = (scene.plan, scene.request);
    let servers = plan.harness.api_servers.iter().flatten().zip(&plan.expanded.api_servers);
    let wanted: Vec<ServerWanted> = servers
        .filter_map(|(server, own)| {
            let port = server.port.as_ref().and_then(|port| u16::try_from(port.value.get()).ok());
            Some(ServerWanted {
                name: server.name.as_ref()?.as_str().to_owned(),
                script: scene.root.join(server.script.as_ref()?.as_str()),
                port,
                env: child(&request.environment, own, None),
            })
        })
        .collect();
    if !wanted.is_empty() {
        let started = ApiServers::start(&wanted, scene.root, &dir.logs(), &request.cancel).await;
        held.servers = Some(started.map_err(|error| Stop::Failed { message: with_cause(&error) })?);
    }
    Ok(())
}

/// What the session is asked to be: what the policy grants, and what the run itself needs.
fn granted(scene: &Scene<'_, '_>, uploaded: &Uploaded, held: &Held) -> Result<SandboxSpec, Stop> {
    let (plan, request) = (scene.plan, scene.request);
    let refused = |error: crate::grants::GrantError| {
        Stop::refused(with_cause(&error), "correct the policy or the provider")
    };
    let providers = &plan.providers;
    for warning in &providers.warnings {
        scene.teller.warn(warning.clone());
    }
    let own = uploaded.stage.mounts(&uploaded.config_dir).into_iter();
    let own = own.chain(uploaded.equipment.mounts.iter().cloned()).chain(uploaded.mounts.iter().cloned());
    let mut mounts: Vec<FilesystemMount> = Vec::new();
    for mount in own {
        // The directory of skills is asked for by a runtime and by what fetches into it.
        if !mounts.contains(&mount) {
            mounts.push(mount);
        }
    }
    let mut endpoints = uploaded.equipment.endpoints.clone();
    endpoints.extend(held.fetching.as_ref().map(FetchService::endpoint));
    endpoints.extend(held.servers.iter().flat_map(ApiServers::endpoints));
    let base = SandboxSpec {
        mounts,
        endpoints,
        network_policy: NetworkPolicy::limited(uploaded.equipment.hosts.iter().cloned()),
        limits: limits(plan.timeout),
        watch_paths: request.options.explain,
        ..SandboxSpec::default()
    };
    let policy = plan.policy.as_ref();
    let mut spec =
        sandbox_spec(base, policy, scene.root, providers, &request.environment).map_err(refused)?;
    if let Some(programs) = &mut spec.programs {
        programs.push(PROGRAM.to_owned());
        programs.extend(uploaded.equipment.programs.iter().cloned());
    }
    Ok(spec)
}

/// What a run may use when its policy does not say.
fn limits(time: Duration) -> ResourceLimits {
    ResourceLimits {
        wall_time: Some(time),
        memory_mb: Some(4096),
        processes: Some(1024),
        file_size_mb: Some(2048),
        ..ResourceLimits::default()
    }
}

/// What is enforced, and what is not there, in the words of the backend.
fn record(session: &SandboxSession) -> SandboxRecord {
    let told = session.metadata.iter().map(|(name, value)| (format!("{name}: {value}"), value == "absent"));
    let (missing, enforces): (Vec<_>, Vec<_>) = told.partition(|(_, is_absent)| *is_absent);
    let lines = |list: Vec<(String, bool)>| list.into_iter().map(|(line, _)| line).collect();
    SandboxRecord { backend: session.backend.clone(), enforces: lines(enforces), missing: lines(missing) }
}
