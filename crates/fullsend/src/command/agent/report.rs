//! What is left of a run: the result on standard output, and a file for programs.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fullsend_agent::engine::Finished;
use fullsend_agent::store::{EndStatus, TerminalReason};
use serde_json::{Map, Value, json};

use super::display::harmless;
use crate::cli::{OutputMode, ResultArgs};
use crate::exit::Exit;
use crate::output::Output;

/// Prints the result, and writes the file for programs.
pub(super) fn conclude(
    finished: &Finished,
    args: &ResultArgs,
    model: &str,
    took: Duration,
    output: &mut Output,
) -> Result<Exit> {
    // What was paid for is shown also where the file cannot be written.
    let written = match &args.result_json_path {
        Some(path) => result_json(finished, model, took).and_then(|result| write_result(path, &result)),
        None => Ok(()),
    };
    match args.output_mode {
        // A run without an answer has nothing to say to a program.
        OutputMode::Batch if finished.answer.is_empty() => {}
        OutputMode::Batch => output.text(&format!("{}\n", finished.answer))?,
        OutputMode::Operator => output.text(&summary(finished)?)?,
    }
    if args.print_transcript {
        let transcript = finished.store.run_dir().join("transcript.json");
        output.text(&std::fs::read_to_string(transcript)?)?;
    }
    if let Some(problem) = problem(finished) {
        output.aside(&format!("error: {}\n", harmless(&problem)));
    }
    written?;
    Ok(exit(finished))
}

/// What went wrong, in one line.
fn problem(finished: &Finished) -> Option<String> {
    if let Some(error) = &finished.unrecorded {
        return Some(format!("the record of the run is not complete: {error}"));
    }
    if let Some(detail) =
        finished.ending.detail.as_ref().filter(|_| finished.ending.status != EndStatus::Completed)
    {
        let used_up = matches!(
            finished.ending.terminal_reason,
            TerminalReason::MaxModelTurns | TerminalReason::BudgetExhausted
        );
        let first = if used_up { "raise the limit and continue" } else { "continue" };
        let directory = finished.store.run_dir().display();
        return Some(format!("{detail}; {first} with: fullsend resume {directory}"));
    }
    let outcome = finished.structured.as_ref()?;
    let error = outcome.validation_error.as_ref()?;
    Some(format!("the structured result `{}` is not valid: {error}", outcome.result_path.display()))
}

fn exit(finished: &Finished) -> Exit {
    if finished.ending.terminal_reason == TerminalReason::ProcessInterrupted {
        let terminated = finished.ending.detail.as_deref().is_some_and(|detail| detail.ends_with(" 15"));
        return Exit::Command(if terminated { 143 } else { 130 });
    }
    let valid = finished.structured.as_ref().is_none_or(|outcome| outcome.status == "valid");
    let done = finished.ending.status == EndStatus::Completed && valid && finished.unrecorded.is_none();
    if done { Exit::Done } else { Exit::Failed }
}

/// The words of the record for a state.
fn word(value: impl serde::Serialize) -> Result<String> {
    Ok(serde_json::to_value(value)?.as_str().unwrap_or_default().to_owned())
}

fn summary(finished: &Finished) -> Result<String> {
    let mut lines = Vec::new();
    // On a terminal the answer was seen as it came.
    let seen = io::stdout().is_terminal() && io::stderr().is_terminal();
    if !seen && !finished.answer.is_empty() {
        lines.push(harmless(&finished.answer));
        lines.push(String::new());
    }
    lines.push(format!("runId: {}", finished.store.run_id()));
    lines.push(format!("status: {}", word(finished.ending.status)?));
    lines.push(format!("modelTurns: {}", finished.turns));
    if let Some(usage) = usage_line(&finished.usage) {
        lines.push(format!("usage: {usage}"));
    }
    let dir = finished.store.run_dir();
    lines.push(format!("artifactRoot: {}", dir.display()));
    lines.push(format!("transcriptPath: {}", dir.join("transcript.json").display()));
    lines.push(format!("runReportPath: {}", dir.join("run-report.json").display()));
    let events = policy_events(dir);
    if !events.is_empty() {
        lines.push(format!("policyEvents: {}", events.len()));
        lines.extend(
            events
                .iter()
                .map(|(severity, tool, detail)| format!("- {severity} {tool}: {}", harmless(detail))),
        );
    }
    Ok(lines.join("\n") + "\n")
}

fn usage_line(usage: &fullsend_model::Usage) -> Option<String> {
    let mut parts = Vec::new();
    let mut add = |name: &str, value: Option<u64>| parts.extend(value.map(|value| format!("{name}={value}")));
    add("input", usage.input_tokens);
    add("cachedInput", usage.cached_input_tokens);
    add("output", usage.output_tokens);
    add("reasoning", usage.reasoning_tokens);
    add("total", usage.total_tokens);
    parts.extend(usage.cost_usd.map(|cost| format!("costUsd={cost:.6}")));
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Severity, tool and detail of each policy event, from the report.
fn policy_events(dir: &Path) -> Vec<(String, String, String)> {
    let report = std::fs::read(dir.join("run-report.json")).unwrap_or_default();
    let report: Value = serde_json::from_slice(&report).unwrap_or_default();
    let events = report.get("policyEvents").and_then(Value::as_array).cloned().unwrap_or_default();
    let text =
        |event: &Value, key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    events
        .iter()
        .map(|event| (text(event, "severity"), text(event, "toolId"), text(event, "detail")))
        .collect()
}

fn result_json(finished: &Finished, model: &str, took: Duration) -> Result<Value> {
    let dir = finished.store.run_dir();
    let denials: Vec<String> = policy_events(dir)
        .into_iter()
        .filter(|(severity, _, _)| severity == "denied")
        .map(|(_, _, detail)| detail)
        .collect();
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| {
        result.insert(key.to_owned(), value);
    };
    put("response", Value::from(finished.answer.as_str()));
    put("duration_ms", Value::from(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)));
    put("num_turns", Value::from(finished.turns));
    put("permission_denials", Value::from(denials));
    put("run_id", Value::from(finished.store.run_id().as_str()));
    put("status", serde_json::to_value(finished.ending.status)?);
    put("terminal_reason", serde_json::to_value(finished.ending.terminal_reason)?);
    put("model", Value::from(model));
    put("usage", serde_json::to_value(finished.usage)?);
    put("artifact_root", Value::from(dir.display().to_string()));
    put("transcript_path", Value::from(dir.join("transcript.json").display().to_string()));
    put("run_report_path", Value::from(dir.join("run-report.json").display().to_string()));
    if let Some(outcome) = &finished.structured {
        put("structured_result", serde_json::to_value(outcome)?);
    }
    if let Some(detail) =
        finished.ending.detail.as_ref().filter(|_| finished.ending.status != EndStatus::Completed)
    {
        put("error", Value::from(detail.as_str()));
    }
    Ok(Value::Object(result))
}

/// What is left when a run could not even begin.
pub(super) fn write_failure(path: &Path, model: &str, error: &anyhow::Error) -> Result<()> {
    let told = json!({
        "response": "",
        "duration_ms": 0,
        "num_turns": 0,
        "permission_denials": [],
        "status": "failed",
        "model": model,
        "error": format!("{error:#}"),
    });
    write_result(path, &told)
}

/// Writes a file whole or not at all.
fn write_result(path: &Path, value: &Value) -> Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer_pretty(&mut file, value)?;
        io::Write::write_all(&mut file, b"\n")?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write the result to `{}`", path.display()))
}
