//! Runs of the past: what is in their directories, however damaged.
//!
//! A directory may have been made by anybody: nothing is opened through a link, nothing is believed, and what cannot be read is
//! told instead of an error. Texts are as they are in the files; whoever shows one makes it harmless first.

mod timeline;

use std::io;
use std::path::{Path, PathBuf};

use fullsend_guard::log::{self, Verdict};
use serde::Serialize;
use serde_json::Value;

pub use self::timeline::Moment;
use crate::durable;
use crate::run_dir::{RunDir, RunName};

/// The largest report that is read.
const LARGEST_REPORT: u64 = 16 << 20;

/// The largest list of events that is read.
const LARGEST_EVENTS: u64 = 256 << 20;

/// A run in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its name.
    pub run_id: String,
    /// Its directory.
    pub path: PathBuf,
    /// The agent.
    pub agent: Option<String>,
    /// How it stands; `unknown` when the report does not say.
    pub state: String,
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// What the command exited with.
    pub exit_code: Option<i64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How many findings there were.
    pub findings: Option<u64>,
    /// What is wrong with the directory.
    pub problem: Option<String>,
}

/// A run in full.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// In a line.
    pub summary: RunSummary,
    /// The report, if it can be read.
    pub report: Option<Value>,
    /// What happened, in order.
    pub timeline: Vec<Moment>,
    /// Whether the findings log is whole.
    pub findings_log: String,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// The runs below `output_dir`, oldest first. None when there is no such directory.
pub fn list(output_dir: &Path) -> io::Result<Option<Vec<RunSummary>>> {
    let entries = match std::fs::read_dir(output_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().and_then(|name| name.parse::<RunName>().ok());
        if let (Some(name), true) = (name, entry.file_type()?.is_dir()) {
            runs.push(read_report(&output_dir.join(name.as_str()), name.as_str()).0);
        }
    }
    runs.sort_by(|one, other| (&one.started_at, &one.run_id).cmp(&(&other.started_at, &other.run_id)));
    Ok(Some(runs))
}

/// The run in `directory`.
///
/// # Errors
///
/// When there is no directory, or a link to one.
pub fn show(directory: &Path) -> io::Result<Run> {
    if !directory.symlink_metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "a run is a directory"));
    }
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (summary, report) = read_report(directory, &name);
    let dir = RunDir::at(directory.to_owned());
    let mut problems: Vec<String> = summary.problem.iter().cloned().collect();
    let (timeline, problem) = match durable::read(&dir.events(), LARGEST_EVENTS) {
        Ok(Some(bytes)) => timeline::read(&bytes),
        Ok(None) => (Vec::new(), Some(format!("events.jsonl has more than {LARGEST_EVENTS} bytes"))),
        Err(error) => (Vec::new(), Some(format!("events.jsonl cannot be read: {error}"))),
    };
    problems.extend(problem);
    let head =
        report.as_ref().and_then(|report| report.pointer("/findings/log_head").and_then(Value::as_str));
    let findings_log = findings_log(&dir.findings(), head);
    Ok(Run { summary, report, timeline, findings_log, problems })
}

fn findings_log(path: &Path, head: Option<&str>) -> String {
    // The log of a run is in its own directory, and not somewhere a link leads to.
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return "missing".to_owned(),
        Ok(status) if !status.is_file() => return "not a file".to_owned(),
        Ok(_) | Err(_) => {}
    }
    match log::verify(path, head) {
        Err(error) => format!("cannot be read: {error}"),
        Ok(Verdict::Sealed { entries, .. }) => format!("whole, {entries} entries"),
        Ok(Verdict::Unsealed { entries, .. }) => format!("unfinished, {entries} entries"),
        Ok(Verdict::Broken(broken)) => format!("changed from line {} on", broken.at.saturating_add(1)),
    }
}

fn read_report(directory: &Path, name: &str) -> (RunSummary, Option<Value>) {
    let read = durable::read(&directory.join("report.json"), LARGEST_REPORT);
    let (report, problem) = match read {
        Err(error) => (None, Some(format!("report.json cannot be read: {error}"))),
        Ok(None) => (None, Some(format!("report.json has more than {LARGEST_REPORT} bytes"))),
        Ok(Some(bytes)) => match serde_json::from_slice::<Value>(&bytes) {
            Ok(value) if value.is_object() => (Some(value), None),
            Ok(_) => (None, Some("report.json is no object".to_owned())),
            Err(error) => (None, Some(format!("report.json is not JSON: {error}"))),
        },
    };
    let member = |name: &str| report.as_ref().and_then(|report| report.get(name));
    let text = |name: &str| member(name).and_then(Value::as_str).map(str::to_owned);
    let summary = RunSummary {
        run_id: name.to_owned(),
        path: directory.to_owned(),
        agent: text("agent"),
        state: text("state").unwrap_or_else(|| "unknown".to_owned()),
        started_at: text("started_at"),
        ended_at: text("ended_at"),
        exit_code: member("exit_code").and_then(Value::as_i64),
        cost_usd: member("metrics").and_then(|metrics| metrics["total_cost_usd"].as_f64()),
        findings: member("findings").and_then(|findings| findings["total"].as_u64()),
        problem,
    };
    (summary, report)
}
