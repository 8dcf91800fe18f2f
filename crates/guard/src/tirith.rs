//! The separate program `tirith`, asked about a shell command: how it is called, and what its answer means.
//!
//! It is a second opinion. What it says is taken at least as seriously as it asks for: an answer that cannot be read, or a
//! severity nobody knows, denies the command.

mod answer;
mod process;
mod rules;

use std::path::Path;
use std::time::Duration;

pub use answer::{Answer, Verdict, interpret};
pub use process::{Failure, Output, run};
pub use rules::{
    ALL as RULES, TIRITH_ACTION_BLOCK, TIRITH_BLOCK, TIRITH_ERROR, TIRITH_FINDING, TIRITH_MISSING,
    TIRITH_TIMEOUT,
};

use crate::finding::Finding;
use crate::severity::Severity;

/// How long it may take, unless something else is asked for.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a command may run without the second opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// It may, and the record says so.
    Optional,
    /// It may not.
    Required,
}

/// How to ask, and what to make of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The least severity that denies a command.
    pub fail_on: Severity,
    /// What happens when there is no answer.
    pub requirement: Requirement,
    /// How long to wait for one.
    pub timeout: Duration,
}

impl Default for Settings {
    /// High findings deny, and no answer does not.
    fn default() -> Self {
        Self { fail_on: Severity::High, requirement: Requirement::Optional, timeout: TIMEOUT }
    }
}

/// The severity that a setting names; what names none is `high`.
pub fn threshold(text: &str) -> Severity {
    text.trim().to_ascii_lowercase().parse().unwrap_or(Severity::High)
}

/// The arguments that have `tirith` check `command`.
pub fn arguments(command: &str) -> [&str; 7] {
    ["check", "--json", "--non-interactive", "--shell", "posix", "--", command]
}

/// Asks the program at an absolute path about `command`.
pub fn check(program: &Path, command: &str, settings: &Settings) -> Answer {
    match run(program, command, settings.timeout) {
        Ok(output) => interpret(output.exit_code, &output.stdout, &output.stderr, settings.fail_on),
        Err(failure) => unanswered(&failure, settings.requirement),
    }
}

/// What follows from getting no answer. It is never silence: somebody asked for a check that did not take place.
pub fn unanswered(failure: &Failure, requirement: Requirement) -> Answer {
    let rule = match failure {
        Failure::Missing => &TIRITH_MISSING,
        Failure::TimedOut => &TIRITH_TIMEOUT,
        Failure::NotAbsolute | Failure::TooMuchOutput | Failure::Process(_) => &TIRITH_ERROR,
    };
    let detail = failure.to_string();
    let (severity, verdict) = match requirement {
        Requirement::Required => {
            (Severity::Critical, Verdict::Deny { reason: format!("tirith is required: {detail}") })
        }
        Requirement::Optional => (Severity::Medium, Verdict::Allow),
    };
    Answer { verdict, findings: vec![Finding::new(rule, None, detail).with_severity(severity)] }
}
