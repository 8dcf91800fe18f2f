//! Scans of what the agent is going to read: on the host before it goes in, and in the sandbox as the agent will see it.
//!
//! Both judge in the same way, write what they found to the log before they say it, and count what could not be looked at
//! as a finding.

mod input;
mod session;

pub use input::{ScanInput, scan_input, scan_skill};
pub use session::{SessionScan, scan_context};

use fullsend_guard::hook::{Action, Recorded};
use fullsend_guard::log::{LogError, Phase, Place};
use fullsend_guard::{Finding, FindingsLog, Outcome, Policy};

use crate::event::{Event, Step};

/// Something that a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// In which file; harmless to print.
    pub place: String,
    /// On which line, from 1.
    pub line: Option<usize>,
    /// What.
    pub finding: Finding,
    /// What was done about it.
    pub action: Action,
}

impl Found {
    /// The same as an event of `step`.
    pub fn event(&self, step: Step) -> Event {
        let Self { place, line, finding, action } = self;
        Event::Finding {
            step,
            rule: format!("{}/{}", finding.rule.scanner, finding.rule.id),
            severity: finding.severity.as_str().to_owned(),
            place: line.map_or_else(|| place.clone(), |line| format!("{place}:{line}")),
            detail: finding.detail().to_owned(),
            action: action.as_str().to_owned(),
        }
    }
}

/// What a scan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// How many files were looked at.
    pub files: usize,
    /// What was found, in the order of the files.
    pub found: Vec<Found>,
    /// What follows from it. Only [`Outcome::Blocked`] keeps the run from going on.
    pub outcome: Outcome,
}

impl Scanned {
    /// When nothing is scanned.
    fn nothing() -> Self {
        Self { files: 0, found: Vec::new(), outcome: Outcome::Clean }
    }
}

/// Gathers findings, and writes those of each file to the log.
struct Record<'a> {
    policy: Policy,
    phase: Phase,
    log: &'a FindingsLog,
    scanned: Scanned,
}

impl<'a> Record<'a> {
    fn new(policy: Policy, phase: Phase, log: &'a FindingsLog) -> Self {
        Self { policy, phase, log, scanned: Scanned::nothing() }
    }

    /// Adds the findings of one file, each with its line. What the agent will not see cannot block.
    fn add(
        &mut self,
        place: &str,
        findings: Vec<(Option<usize>, Finding)>,
        is_seen: bool,
    ) -> Result<(), LogError> {
        let place = fullsend_guard::visible(place).into_owned();
        let mut recorded = Vec::with_capacity(findings.len());
        for (line, finding) in findings {
            let outcome = if is_seen { self.policy.judge([&finding]) } else { Outcome::Warned };
            let action = if outcome == Outcome::Blocked { Action::Block } else { Action::Warn };
            self.scanned.outcome = self.scanned.outcome.max(outcome);
            recorded.push(Recorded { finding: finding.clone(), action });
            self.scanned.found.push(Found { place: place.clone(), line, finding, action });
        }
        if recorded.is_empty() {
            return Ok(());
        }
        self.log.append_all(Place { phase: self.phase, tool: None, path: Some(&place) }, &recorded)
    }
}
