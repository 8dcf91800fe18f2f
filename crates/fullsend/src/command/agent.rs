//! `fullsend exec` and `fullsend resume`: the built-in agent.

mod canary;
mod capabilities;
mod decided;
mod display;
mod flow_policy;
mod mediation;
pub(super) mod model;
mod report;
pub(super) mod surroundings;
pub(super) mod wanted;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use fullsend_agent::budget::Limits;
use fullsend_agent::engine::Finished;
use fullsend_agent::event::Event;
use fullsend_agent::scene::{Prepared, Scene, recorded_limits};
use fullsend_agent::store::RunStore;
use fullsend_guard::SystemClock;

use self::display::Display;
use self::model::OnRecord;
use self::surroundings::told;
use super::sandbox::signals::Signals;
use crate::cli::{AgentExecArgs, AgentLimitArgs, AgentResumeArgs, OutputMode, ResultArgs};
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// Runs the agent.
pub(super) fn exec(args: &AgentExecArgs, output: &mut Output) -> Result<Exit> {
    if args.describe_capabilities {
        output.json(&capabilities::document())?;
        return Ok(Exit::Done);
    }
    if let Some(path) = &args.result.result_json_path {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        ensure!(
            parent.is_dir(),
            Advice::new(
                format!("`--result-json-path {}` cannot be written", path.display()),
                format!("make the directory `{}` first", parent.display())
            )
        );
    }
    let prepared = match &args.resume_run {
        Some(run) => prepare_resumed(run, args, output),
        None => prepare_new(args, output),
    };
    conclude(prepared, &args.result, args.model.model.as_deref(), output)
}

/// Goes on with a run, with what is on record and nothing more.
pub(super) fn resume(args: &AgentResumeArgs, output: &mut Output) -> Result<Exit> {
    let as_exec = AgentExecArgs::resuming(args);
    let prepared = prepare_resumed(&args.run, &as_exec, output);
    conclude(prepared, &args.result, None, output)
}

fn conclude(
    prepared: Result<(Prepared, String)>,
    result: &ResultArgs,
    model: Option<&str>,
    output: &mut Output,
) -> Result<Exit> {
    let start = Instant::now();
    let ran = prepared.and_then(|(prepared, name)| Ok((run(prepared, result)?, name)));
    match ran {
        Ok((finished, name)) => report::conclude(&finished, result, &name, start.elapsed(), output),
        Err(error) => {
            // A program that waits for the file learns of every ending.
            if let Some(path) = &result.result_json_path {
                report::write_failure(path, model.unwrap_or_default(), &error)?;
            }
            Err(error)
        }
    }
}

fn run(prepared: Prepared, result: &ResultArgs) -> Result<Finished> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let finished = runtime.block_on(run_inside(prepared, result));
    // A thread that still waits for something must not hold up the end.
    runtime.shutdown_timeout(Duration::from_millis(100));
    finished
}

async fn run_inside(prepared: Prepared, result: &ResultArgs) -> Result<Finished> {
    let mut signals = Signals::listen()?;
    let live = result.output_mode == OutputMode::Operator && !result.stream_events;
    let mut display = Display::new(live, result.stream_events);
    let mut watch = |event: Event<'_>| display.show(&event);
    let finished = prepared.run(async { signals.ending().await }, &mut watch).await.map_err(told)?;
    display.end();
    Ok(finished)
}

fn prepare_new(args: &AgentExecArgs, output: &mut Output) -> Result<(Prepared, String)> {
    let prompt = prompt_of(args)?;
    let current = std::env::current_dir()?;
    let model = model::choose(&args.model, &OnRecord::default())?;
    let name = model.name.clone();
    let limits = limits_of(&args.limits, Limits::default())?;
    let wanted = wanted::of(args, &prompt, &current, output)?;
    let scene = Scene::new(wanted, model, &limits, &current, surroundings::usual()).map_err(told)?;
    Ok((Prepared::new(scene, limits, prompt, &args.image).map_err(told)?, name))
}

fn prepare_resumed(run: &Path, args: &AgentExecArgs, output: &mut Output) -> Result<(Prepared, String)> {
    if let Some(option) = settled(args) {
        bail!(Advice::new(
            format!("`{option}` cannot be given to a run that goes on"),
            "leave it out, or start a new run; what is to be done can be said with `--prompt`"
        ));
    }
    let current = std::env::current_dir()?;
    let (store, recorded) = RunStore::reopen(run, Arc::new(SystemClock))?;
    let on_record = OnRecord {
        model: Some(recorded.settings.model.clone()),
        url: Some(recorded.settings.gateway.url.clone()),
        auth: Some(recorded.settings.gateway.auth.clone()),
    };
    let model = model::choose(&args.model, &on_record)?;
    let name = model.name.clone();
    let limits = limits_of(&args.limits, recorded_limits(&recorded.settings))?;
    let more = if has_prompt(args) { Some(prompt_of(args)?) } else { None };
    let wanted = wanted::on_record(args, more.as_deref(), &recorded.settings, &store, &current, output)?;
    let given = surroundings::usual();
    let scene = Scene::resumed(wanted, &recorded, model, &limits, &current, given).map_err(told)?;
    let say_more = |more| scene.say(more, Vec::new(), scene.prompt_label(&[]));
    let opening = more.map(say_more).into_iter().collect();
    Ok((Prepared::resumed(scene, limits, store, recorded, opening), name))
}

/// The option that was given although it was settled when the run began. To ignore it would deceive whoever gave it.
fn settled(args: &AgentExecArgs) -> Option<&'static str> {
    let given = [
        ("--image", !args.image.is_empty()),
        ("--run-manifest", args.run_manifest.is_some()),
        ("--skill", !args.skills.skill.is_empty()),
        ("--no-skill-catalog", args.skills.no_skill_catalog),
        ("--system-prompt", args.system_prompt.is_some()),
        ("--cwd", args.place.cwd.is_some()),
        ("--focus-root", args.place.focus_root.is_some()),
        ("--artifact-root", args.place.artifact_root.is_some()),
        ("--structured-result-path", args.result.structured_result_path.is_some()),
    ];
    given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

fn has_prompt(args: &AgentExecArgs) -> bool {
    args.prompt.is_some() || args.prompt_file.is_some() || !args.words.is_empty()
}

/// The prompt, of which there must be exactly one.
fn prompt_of(args: &AgentExecArgs) -> Result<String> {
    let words = args.words.join(" ").trim().to_owned();
    let words = (!words.is_empty()).then_some(words);
    let given = [args.prompt.is_some(), args.prompt_file.is_some(), words.is_some()];
    match given.iter().filter(|given| **given).count() {
        0 => bail!(Advice::new(
            "there is nothing to do",
            "give a prompt: `fullsend exec --prompt \"…\"`, `--prompt-file FILE`, or `--resume-run RUN`"
        )),
        1 => {}
        _ => bail!(Advice::new(
            "there is more than one prompt",
            "give one of `--prompt`, `--prompt-file` and words on the command line"
        )),
    }
    let prompt = match &args.prompt_file {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the prompt `{}`", path.display()))?,
        None => args.prompt.clone().or(words).unwrap_or_default(),
    };
    ensure!(!prompt.trim().is_empty(), Advice::new("the prompt is empty", "say what the agent is to do"));
    Ok(prompt)
}

pub(super) fn limits_of(args: &AgentLimitArgs, usual: Limits) -> Result<Limits> {
    let cost_usd = args.max_cost_usd.unwrap_or(usual.cost_usd);
    ensure!(cost_usd.is_finite() && cost_usd > 0.0, "`--max-cost-usd` must be more than nothing");
    Ok(Limits {
        turns: args.max_model_turns.unwrap_or(usual.turns),
        tokens: args.max_tokens.unwrap_or(usual.tokens),
        cost_usd,
        time: args.max_seconds.map_or(usual.time, Duration::from_secs),
        output_bytes: args.max_output_bytes.unwrap_or(usual.output_bytes),
        ..usual
    })
}

/// A path as it was given, from the working directory.
fn absolute(path: &Path, current: &Path) -> PathBuf {
    current.join(path)
}
