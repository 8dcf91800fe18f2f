//! `fullsend runs`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fullsend_runner::run_dir::RunName;
use fullsend_runner::runs::{self, Run, RunSummary};
use fullsend_yaml::printable;
use serde_json::Value;

use super::sandbox::backend;
use crate::cli::{RunsCommand, RunsListArgs, RunsPlaceArgs, RunsShowArgs, ShowFormat};
use crate::exit::Exit;
use crate::output::{Advice, Output};

pub(super) fn run(command: RunsCommand, output: &mut Output) -> Result<Exit> {
    match command {
        RunsCommand::Ls(args) => list(&args, output),
        RunsCommand::Show(args) => show(&args, output),
    }
}

/// Where run directories are, unless the command line says otherwise.
fn output_dir(args: &RunsPlaceArgs) -> Result<PathBuf> {
    match &args.output_dir {
        Some(directory) => Ok(directory.clone()),
        None => Ok(backend::state_directory("runs")?),
    }
}

fn list(args: &RunsListArgs, output: &mut Output) -> Result<Exit> {
    let directory = output_dir(&args.place)?;
    let runs = runs::list(&directory)?.unwrap_or_default();
    match args.place.format {
        ShowFormat::Json => output.json(&serde_json::to_value(&runs)?)?,
        ShowFormat::Text => {
            for run in &runs {
                output.text(&format!("{}\n", printable(line(run))))?;
            }
            output.note(&format!("{} runs in `{}`", runs.len(), printable(directory.display().to_string())));
        }
    }
    Ok(Exit::Done)
}

fn line(run: &RunSummary) -> String {
    let cost = run.cost_usd.map(|cost| format!("${cost:.2}")).unwrap_or_default();
    let started = run.started_at.as_deref().unwrap_or("-");
    let agent = run.agent.as_deref().unwrap_or("-");
    let problem = run.problem.as_deref().map(|problem| format!("  ({problem})")).unwrap_or_default();
    format!("{:<19}  {started:<24}  {:<9}  {agent}  {cost}{problem}", run.run_id, run.state)
}

fn show(args: &RunsShowArgs, output: &mut Output) -> Result<Exit> {
    let directory = directory_of(&args.run, &args.place)?;
    let run = runs::show(&directory).map_err(|error| {
        let name = printable(args.run.display().to_string());
        Advice::new(
            format!("there is no run `{name}`: {error}"),
            "`fullsend runs ls` lists them; name the directory they are in with `--output-dir`",
        )
    })?;
    match args.place.format {
        ShowFormat::Json => output.json(&serde_json::to_value(&run)?)?,
        ShowFormat::Text => output.text(&story(&run))?,
    }
    Ok(if run.findings_log.starts_with("changed") { Exit::Failed } else { Exit::Done })
}

/// A name is looked for among the runs; anything else is a path.
fn directory_of(run: &Path, place: &RunsPlaceArgs) -> Result<PathBuf> {
    Ok(match run.to_str().map(str::parse::<RunName>) {
        Some(Ok(name)) => output_dir(place)?.join(name.as_str()),
        Some(Err(_)) | None => run.to_path_buf(),
    })
}

/// Everything in it comes from files that anybody may have written.
fn story(run: &Run) -> String {
    let mut lines = vec![line(&run.summary)];
    let report = run.report.as_ref();
    let text = |pointer: &str| report.and_then(|report| report.pointer(pointer)).and_then(Value::as_str);
    for (name, pointer) in [
        ("reason", "/reason"),
        ("runtime", "/runtime"),
        ("sandbox", "/sandbox/backend"),
        ("work item", "/work_item"),
    ] {
        lines.extend(text(pointer).map(|value| format!("  {name}: {value}")));
    }
    lines.push(format!("  findings log: {}", run.findings_log));
    lines.extend(
        run.timeline.iter().map(|moment| format!("{}  {:<8} {}", moment.at, moment.kind, moment.text)),
    );
    lines.extend(run.problems.iter().map(|problem| format!("problem: {problem}")));
    lines.into_iter().map(|line| format!("{}\n", printable(line))).collect()
}
