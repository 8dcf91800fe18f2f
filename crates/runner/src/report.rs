//! How a run stands: `report.json`, which is there from the beginning and whole at every moment.
//!
//! It is written anew at each step. A run that is killed leaves a report with the state `running`.

mod facts;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_guard::{Checks, Clock, Pipeline};
use fullsend_runtimes::Metrics;
use serde::Serialize;

pub use self::facts::{
    AccessRecord, Dependency, FindingsSummary, HarnessSource, IterationRecord, SandboxRecord, State,
    StepRecord,
};
use crate::durable;
use crate::event::{AccessKind, Event};

/// The most entries of a list; those after them are counted.
const MOST: usize = 1000;

/// How a run stands.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Always `fullsend.run-report`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Always 1.
    pub version: u32,
    /// The name of the run.
    pub run_id: String,
    /// The agent.
    pub agent: String,
    /// How it stands.
    pub state: State,
    /// Why, if it did not succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the command exited with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The name of the run in the findings log.
    pub security_trace_id: String,
    /// What the run works on.
    pub work_item: String,
    /// The harness and its bases, nearest first.
    pub harness: Vec<HarnessSource>,
    /// What else it was made from.
    pub dependencies: Vec<Dependency>,
    /// The runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRecord>,
    /// What was done, in order.
    pub steps: Vec<StepRecord>,
    /// The agent's attempts.
    pub iterations: Vec<IterationRecord>,
    /// The attempt whose result counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validated_iteration: Option<u32>,
    /// What scanners found.
    pub findings: FindingsSummary,
    /// Resources that the agent asked for.
    pub fetches: Vec<AccessRecord>,
    /// What else was asked for and decided about.
    pub decisions: Vec<AccessRecord>,
    /// How many of all those were denied.
    pub denied: u64,
    /// The same by who denied them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub denied_by: BTreeMap<&'static str, u64>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// How many entries of lists were left out.
    pub left_out: u64,
    /// What all attempts used.
    pub metrics: Metrics,
}

impl Report {
    /// A run that begins.
    pub fn new(run_id: &str, agent: &str, security_trace_id: &str, work_item: &str) -> Self {
        Self {
            kind: "fullsend.run-report",
            version: 1,
            run_id: run_id.to_owned(),
            agent: agent.to_owned(),
            state: State::Running,
            reason: None,
            exit_code: None,
            started_at: String::new(),
            ended_at: None,
            security_trace_id: security_trace_id.to_owned(),
            work_item: work_item.to_owned(),
            harness: Vec::new(),
            dependencies: Vec::new(),
            runtime: None,
            sandbox: None,
            steps: Vec::new(),
            iterations: Vec::new(),
            validated_iteration: None,
            findings: FindingsSummary::default(),
            fetches: Vec::new(),
            decisions: Vec::new(),
            denied: 0,
            denied_by: BTreeMap::new(),
            warnings: Vec::new(),
            left_out: 0,
            metrics: Metrics::default(),
        }
    }
}

/// The report of a run under way, on disk.
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    report: Report,
    masks: Pipeline,
    clock: Arc<dyn Clock>,
}

impl ReportFile {
    /// Writes the first report to `path`. What `checks` find in output is masked.
    pub fn create(
        path: &Path,
        mut report: Report,
        checks: &Checks,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        report.started_at = now(&*clock);
        let file = Self { path: path.to_owned(), report, masks: checks.output(), clock };
        file.save()?;
        Ok(file)
    }

    /// Masks what these checks find from now on.
    pub fn mask(&mut self, checks: &Checks) {
        self.masks = checks.output();
    }

    /// The report as it stands.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Changes what is known, which is written when the next step begins.
    pub fn update(&mut self, change: impl FnOnce(&mut Report)) {
        change(&mut self.report);
    }

    /// Takes an event into account. Everything that is known is written when a step begins, which is as soon as the one
    /// before it has ended.
    pub fn observe(&mut self, event: &Event) -> io::Result<()> {
        let report = &mut self.report;
        match event {
            Event::StepBegan { step, iteration } => {
                report.steps.push(StepRecord::begun(*step, *iteration, now(&*self.clock)));
                self.save()
            }
            Event::StepEnded { step, iteration, outcome, detail, took } => {
                let open = report.steps.iter_mut().rev();
                let open = open.into_iter().find(|record| record.is(*step, *iteration));
                if let Some(record) = open {
                    record.end(*outcome, detail, *took);
                }
                Ok(())
            }
            Event::Warning { text } => {
                push(&mut report.warnings, text.clone(), &mut report.left_out);
                Ok(())
            }
            Event::Finding { severity, action, .. } => {
                report.findings.count(severity, action);
                Ok(())
            }
            Event::Access { kind, target, allowed, detail } => {
                if !allowed {
                    report.denied += 1;
                    *report.denied_by.entry(kind.decider()).or_default() += 1;
                }
                let list =
                    if *kind == AccessKind::Fetch { &mut report.fetches } else { &mut report.decisions };
                let record = AccessRecord {
                    kind: *kind,
                    target: target.clone(),
                    allowed: *allowed,
                    detail: detail.clone(),
                };
                push(list, record, &mut report.left_out);
                Ok(())
            }
            Event::Runtime { .. } | Event::Script { .. } | Event::Waiting { .. } => Ok(()),
        }
    }

    /// Writes the last report.
    pub fn finish(&mut self, state: State, exit_code: i32, reason: Option<String>) -> io::Result<()> {
        let report = &mut self.report;
        (report.state, report.exit_code, report.reason) = (state, Some(exit_code), reason);
        report.ended_at = Some(now(&*self.clock));
        durable::write(&self.path, self.text()?.as_bytes())
    }

    /// Every step writes it, so the disk is waited for only at the end.
    fn save(&self) -> io::Result<()> {
        durable::replace(&self.path, self.text()?.as_bytes())
    }

    fn text(&self) -> io::Result<String> {
        let text = serde_json::to_string_pretty(&self.report)?;
        let mut text = self.masks.run(&text).sanitized.unwrap_or(text);
        text.push('\n');
        Ok(text)
    }
}

fn push<T>(list: &mut Vec<T>, entry: T, left_out: &mut u64) {
    if list.len() < MOST {
        list.push(entry);
    } else {
        *left_out += 1;
    }
}

fn now(clock: &dyn Clock) -> String {
    clock.now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Writes `metrics.json`: what all attempts used, and how many there were.
pub fn write_metrics(path: &Path, metrics: &Metrics, iterations: u32) -> io::Result<()> {
    let mut value = serde_json::to_value(metrics)?;
    if let Some(members) = value.as_object_mut() {
        // The model comes last, since it need not be there.
        let model = members.remove("model");
        members.insert("iterations".to_owned(), iterations.into());
        members.extend(model.map(|model| ("model".to_owned(), model)));
    }
    durable::write(path, format!("{value:#}\n").as_bytes())
}

/// How many findings there were under each name.
type Counts = BTreeMap<String, u64>;
