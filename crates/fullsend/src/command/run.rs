//! `fullsend run`: a harness to a result.

mod display;
mod outcome;
mod outward;
mod runtime;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fullsend_harness::value::Platform;
use fullsend_harness::workspace;
use fullsend_resolve::Resolver;
use fullsend_runner::outward::Outward;
use fullsend_runner::{BackendOrder, Backends, Connecting, Environment, Finished, Options, Request};
use fullsend_runtimes::{Cancel, cancellation};
use fullsend_sandbox::{DockerBackend, DockerConfig, SandboxBackend, SandboxError};

use self::display::Display;
use super::remote::Session;
use super::sandbox::backend;
use super::sandbox::signals::Signals;
use crate::cli::{DirectoryArgs, RunArgs, ShowFormat};
use crate::environment;
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// Signals that come this soon after the first are the same one: a terminal sends it to everybody, and a program around this
/// one passes it on.
const ECHO: Duration = Duration::from_millis(300);

pub(super) fn run(args: &RunArgs, output: &mut Output) -> Result<Exit> {
    let directory = DirectoryArgs { fullsend_dir: Some(directory(args)?) };
    let session = Session::open(&directory, &args.network, output)?;
    // Before anything that is named after it is looked for.
    session.harness(&args.agent)?;
    let environment = variables(&args.env_file)?;
    let runtime = runtime::choose(args, &session, &environment)?;
    let outward = outward::services(args, &session, &environment)?;
    let (canceller, cancel) = cancellation();
    let resolver = session.resolver()?;
    let request = request(args, session, &resolver, environment, (runtime, outward), cancel, output)?;
    let machinery = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let json = args.format == ShowFormat::Json;
    let mut display = Display::new(output.is_quiet() || json);
    let finished = machinery.block_on(async {
        let mut signals = Signals::listen()?;
        // Heard until the end, so that no signal leaves anything behind.
        let listening = tokio::spawn(async move {
            canceller.cancel(signals.ending().await);
            let first = Instant::now();
            loop {
                signals.ending().await;
                if first.elapsed() > ECHO {
                    canceller.hurry();
                }
            }
        });
        let mut sink = |event: &fullsend_runner::Event| {
            if json {
                // A reader that is gone is told by the result.
                let _told_at_the_end = output.line(&serde_json::json!({ "event": event }));
            }
            display.show(event);
        };
        let finished = fullsend_runner::run(request, resolver, &mut sink).await;
        listening.abort();
        anyhow::Ok(finished)
    })?;
    // A thread that still waits for something must not hold up the end.
    machinery.shutdown_timeout(Duration::from_millis(200));
    display.end();
    outcome::tell(finished, args.format, output)
}

/// The fullsend directory that was named, that of the harness, or the nearest one to the target or to here.
fn directory(args: &RunArgs) -> Result<PathBuf> {
    if args.directory.fullsend_dir.is_some() {
        return super::fullsend_directory(&args.directory);
    }
    let of_target =
        std::path::absolute(&args.target_repo).ok().and_then(|target| workspace::discover(&target));
    match of_target {
        _ if Path::new(&args.agent).is_file() => Ok(workspace::root_of(Path::new(&args.agent))),
        Some(found) => Ok(found),
        None => super::fullsend_directory(&args.directory),
    }
}

/// The variables of this process and of files, the later ones winning.
fn variables(files: &[PathBuf]) -> Result<Environment> {
    let mut environment = Environment::new(environment::all());
    for file in files {
        environment.load(file)?;
    }
    Ok(environment)
}

fn request(
    args: &RunArgs,
    session: Session,
    resolver: &Resolver,
    environment: Environment,
    (runtime, outward): (Arc<dyn fullsend_runtimes::AgentRuntime>, Outward),
    cancel: Cancel,
    output: &mut Output,
) -> Result<Request> {
    let target_repo = args
        .target_repo
        .canonicalize()
        .with_context(|| format!("the target repository `{}` cannot be used", args.target_repo.display()))?;
    anyhow::ensure!(
        target_repo.is_dir(),
        Advice::new(
            format!("the target repository `{}` is not a directory", target_repo.display()),
            "name a directory with `--target-repo DIR`"
        )
    );
    let output_dir = match &args.output_dir {
        Some(directory) => std::path::absolute(directory)?,
        None => backend::state_directory("runs")?,
    };
    let program = match &args.fullsend_binary {
        Some(program) => program.canonicalize().with_context(|| format!("`{}`", program.display()))?,
        None => std::env::current_exe().context("this program cannot be found")?,
    };
    let variable = |name: &str| {
        let value = environment.get(name).map(str::trim).filter(|value| !value.is_empty());
        value.map(str::to_owned)
    };
    let option = |given: &Option<String>, name: &str| given.clone().or_else(|| variable(name));
    let options = Options {
        image: option(&args.sandbox_image, "FULLSEND_SANDBOX_IMAGE"),
        container_runtime: option(&args.sandbox_docker_runtime, "FULLSEND_SANDBOX_DOCKER_RUNTIME"),
        post_script: !args.no_post_script,
        keep_sandbox: args.keep_sandbox,
        model: args.model.model.clone(),
        usual_model: variable("FULLSEND_MODEL"),
        timeout: args.timeout,
        debug: args.debug.clone(),
        explain: args.explain,
        offline: args.network.offline,
    };
    Ok(Request {
        agent: args.agent.clone(),
        lock: session.lock(output)?,
        store: Arc::clone(resolver.store()),
        library: session.library,
        configuration: session.configuration,
        platform: args.forge.or_else(platform_of_ci),
        target_repo,
        output_dir,
        stages: backend::state_directory("stages")?,
        program,
        environment,
        runtime,
        backends: Arc::new(ByImage),
        outward,
        options,
        cancel,
    })
}

/// The platform whose CI this is.
fn platform_of_ci() -> Option<Platform> {
    match () {
        () if environment::in_github_actions() => Some(Platform::GitHub),
        () if environment::in_gitlab_ci() => Some(Platform::GitLab),
        () => None,
    }
}

/// Sandboxes on this machine, or in containers where an image is named.
#[derive(Debug)]
struct ByImage;

impl Backends for ByImage {
    fn connect<'a>(&'a self, order: BackendOrder<'a>) -> Connecting<'a> {
        let BackendOrder { image, runtime, egress_log } = order;
        Box::pin(async move {
            let Some(image) = image else {
                let local = backend::local(Some(egress_log.to_owned()))?;
                // What a killed run has left behind must not go on beside this one.
                local.sweep()?;
                return Ok(Arc::new(local) as Arc<dyn SandboxBackend>);
            };
            let usual = DockerConfig::new(image, backend::state_directory("docker")?);
            let (runtime, egress_log) = (runtime.map(str::to_owned), Some(egress_log.to_owned()));
            let docker = DockerBackend::connect(DockerConfig { runtime, egress_log, ..usual }).await?;
            docker.sweep().await?;
            Ok::<Arc<dyn SandboxBackend>, SandboxError>(Arc::new(docker))
        })
    }
}

/// How a run is told to whoever started it.
pub(super) fn exit_of(finished: &Finished) -> Exit {
    match finished.exit_code {
        0 => Exit::Done,
        1 => Exit::Failed,
        2 => Exit::Usage,
        3 => Exit::Blocked,
        code => Exit::Command(code),
    }
}
