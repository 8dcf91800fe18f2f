//! The parts of a report.

use std::time::Duration;

use fullsend_runtimes::Metrics;
use serde::Serialize;

use super::Counts;
use crate::event::{AccessKind, Outcome, Step};
use crate::sanitise::FrozenFile;

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Under way, or killed.
    Running,
    /// It did what was asked for.
    Success,
    /// It did not.
    Failure,
    /// A finding or a policy stopped it.
    Blocked,
    /// The pre-script said that there is nothing to do.
    Skipped,
    /// Somebody ended it.
    Cancelled,
    /// Its time was over.
    Timeout,
}

impl State {
    /// The name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
        }
    }
}

/// A harness or one of its bases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HarnessSource {
    /// A path or URL.
    pub source: String,
    /// Of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Something that a harness names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dependency {
    /// Where the harness names it, such as `skills[0]`.
    pub place: String,
    /// A path or URL.
    pub source: String,
    /// Of its bytes or its tree, in hexadecimal.
    pub sha256: String,
}

/// The sandbox of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SandboxRecord {
    /// What makes it.
    pub backend: String,
    /// What it enforces, layer by layer, in the words of the backend.
    pub enforces: Vec<String>,
    /// What it cannot enforce here.
    pub missing: Vec<String>,
}

/// A step that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepRecord {
    step: Step,
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration: Option<u32>,
    started_at: String,
    /// None while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
}

impl StepRecord {
    pub(super) fn begun(step: Step, iteration: Option<u32>, started_at: String) -> Self {
        Self { step, iteration, started_at, outcome: None, detail: String::new(), took_ms: None }
    }

    pub(super) fn is(&self, step: Step, iteration: Option<u32>) -> bool {
        self.step == step && self.iteration == iteration && self.outcome.is_none()
    }

    pub(super) fn end(&mut self, outcome: Outcome, detail: &str, took: Duration) {
        self.outcome = Some(outcome);
        detail.clone_into(&mut self.detail);
        self.took_ms = Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    }
}

/// An attempt of the agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IterationRecord {
    /// From 1.
    pub number: u32,
    /// What the agent exited with.
    pub exit_code: i32,
    /// `valid`, `invalid`, `unchecked`, or `none` where nothing checks.
    pub validation: &'static str,
    /// What it used.
    pub metrics: Metrics,
    /// What it delivered, as it was when it was checked.
    pub files: Vec<FrozenFile>,
    /// Whether its copy of the repository is in the run directory.
    pub repo: bool,
}

/// Something outside the sandbox that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccessRecord {
    /// How.
    pub kind: AccessKind,
    /// What.
    pub target: String,
    /// Whether it was allowed.
    pub allowed: bool,
    /// Why, or what came of it.
    pub detail: String,
}

/// What scanners found, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FindingsSummary {
    /// How many.
    pub total: u64,
    /// By severity.
    pub by_severity: Counts,
    /// By what was done about them.
    pub by_action: Counts,
    /// The last hash of the findings log: who changes the log cannot keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_head: Option<String>,
}

impl FindingsSummary {
    pub(super) fn count(&mut self, severity: &str, action: &str) {
        self.total += 1;
        *self.by_severity.entry(severity.to_owned()).or_default() += 1;
        *self.by_action.entry(action.to_owned()).or_default() += 1;
    }
}
