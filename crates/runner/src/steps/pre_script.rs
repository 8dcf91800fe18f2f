//! The harness's own preparation on the host, which may say that there is nothing to do.

use std::path::Path;
use std::time::Duration;

use crate::environment::{ScriptVariables, child};
use crate::event::{Event, Step};
use crate::extract::harden_git;
use crate::pipeline::{Known, Scene};
use crate::pre_script::{Declared, LARGEST, OUTPUT_VARIABLE, judge, relay};
use crate::run_dir::RunDir;
use crate::script::{self, End, Program, Ran, Script};
use crate::stop::Stop;
use crate::teller::Made;

/// How long the check before everything may take.
const PREFLIGHT: Duration = Duration::from_secs(30);
/// Where a workflow reads what a step says.
const GITHUB_OUTPUT: &str = "GITHUB_OUTPUT";

/// Runs what comes before the agent.
pub(crate) async fn run(scene: &Scene<'_, '_>, known: &mut Known) -> Result<(), Stop> {
    let Some(dir) = known.dir.clone() else { return Ok(()) };
    let declared = scene.teller.unhurried(Step::PreScript, None, prepare(scene, &dir)).await;
    if let (Ok(declared), Some(_)) = (&declared, &scene.plan.scripts.pre) {
        known.skipped = Some((declared.skipped, declared.reason.clone()));
    }
    let declared = declared?;
    if declared.skipped {
        let reason = declared.reason.unwrap_or_else(|| "the pre-script says so".to_owned());
        return Err(Stop::Skipped { reason });
    }
    Ok(())
}

async fn prepare(scene: &Scene<'_, '_>, dir: &RunDir) -> Result<Made<Declared>, Stop> {
    let scripts = &scene.plan.scripts;
    if let Some(line) = &scripts.preflight {
        let ran = host_script(
            scene,
            Program::Shell(line),
            dir.path(),
            variables(scene),
            PREFLIGHT,
            Step::PreScript,
        )
        .await?;
        if !ran.succeeded() {
            let message = format!("`preflight_check` {}", how(ran.end));
            return Err(Stop::Failed { message });
        }
    }
    let made = match &scripts.pre {
        None => Made::nothing(Declared::default(), "none"),
        Some(path) => {
            let file = dir.pre_script_output();
            crate::durable::create_new(&file).map_err(Stop::io(format!("make `{}`", file.display())))?;
            let mut env = variables(scene);
            env.insert(OUTPUT_VARIABLE.to_owned(), file.display().to_string());
            let ran =
                host_script(scene, Program::File(path), dir.path(), env, scene.plan.timeout, Step::PreScript)
                    .await?;
            let judged = judge(&ran, &file);
            mask_file(scene, &file)?;
            let declared = judged.map_err(|error| Stop::Failed { message: error.to_string() })?;
            let detail = if declared.skipped { "nothing to do" } else { "prepared" };
            Made::done(declared, detail)
        }
    };
    tell_workflow(scene, made.value())?;
    Ok(made)
}

/// Masks secrets in what the script wrote: the file stays in the run directory. What is no readable file is told by others.
fn mask_file(scene: &Scene<'_, '_>, file: &Path) -> Result<(), Stop> {
    let regular = std::fs::symlink_metadata(file).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
    let Some(text) = regular.then(|| std::fs::read_to_string(file).ok()).flatten() else { return Ok(()) };
    let masked = scene.teller.masked(text.clone());
    if masked == text {
        return Ok(());
    }
    crate::durable::write(file, masked.as_bytes()).map_err(Stop::io(format!("mask `{}`", file.display())))
}

/// Tells the workflow that this is a step of, if it is one.
fn tell_workflow(scene: &Scene<'_, '_>, declared: &Declared) -> Result<(), Stop> {
    let environment = &scene.request.environment;
    let in_workflow = environment.get("GITHUB_ACTIONS") == Some("true");
    match environment.get(GITHUB_OUTPUT).filter(|path| in_workflow && !path.is_empty()) {
        Some(path) => {
            relay(declared, Path::new(path)).map_err(|error| Stop::Failed { message: error.to_string() })
        }
        None => Ok(()),
    }
}

/// The variables of scripts on the host.
pub(super) fn variables(scene: &Scene<'_, '_>) -> ScriptVariables {
    let span = scene.teller.with_records(|records| records.traceparent()).flatten();
    let mut env = child(&scene.request.environment, &scene.plan.expanded.runner, span.as_deref());
    harden_git(&mut env);
    env.insert("FULLSEND_BINARY".to_owned(), scene.request.program.display().to_string());
    env
}

/// Runs a script and tells of what it prints. A signal for the run ends it, and then the run.
pub(super) async fn host_script(
    scene: &Scene<'_, '_>,
    program: Program<'_>,
    directory: &Path,
    env: ScriptVariables,
    timeout: Duration,
    step: Step,
) -> Result<Ran, Stop> {
    let teller = scene.teller;
    let script = Script { program, directory, env: &env, timeout, cancel: &scene.request.cancel };
    let mut told = |_stream, line: &str| teller.tell(Event::Script { step, line: line.to_owned() });
    let ran = script::run(&script, &mut told).await;
    let ran = ran.map_err(|error| Stop::Failed { message: with_cause(&error) })?;
    match ran.end {
        End::Cancelled(signal) => Err(Stop::Cancelled { signal }),
        End::Exited(_) | End::Signal(_) | End::TimedOut => Ok(ran),
    }
}

/// How a script ended, in words.
pub(super) fn how(end: End) -> String {
    match end {
        End::Exited(code) => format!("failed with exit code {code}"),
        End::Signal(signal) => format!("was ended by signal {signal}"),
        End::TimedOut => "took too long and was ended".to_owned(),
        End::Cancelled(_) => "was ended with the run".to_owned(),
    }
}

/// An error and what caused it, in a line.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
