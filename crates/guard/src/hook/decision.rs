//! What a hook decides about one tool call.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::finding::Finding;

/// Before or after the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPhase {
    /// The tool has not run; it may be denied.
    PreTool,
    /// The tool has run; its output may be changed or withheld.
    PostTool,
}

/// What was done about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The call, the content or the run was stopped.
    Block,
    /// Nothing but this record.
    Warn,
    /// A secret was masked.
    Redact,
    /// Characters were removed or replaced.
    Sanitize,
    /// The same, of the kind that only an attack has a use for.
    CriticalSanitize,
    /// Output without news became one line.
    Suppress,
}

impl Action {
    /// The name in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Warn => "warn",
            Self::Redact => "redact",
            Self::Sanitize => "sanitize",
            Self::CriticalSanitize => "critical_sanitize",
            Self::Suppress => "suppress",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A finding and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What was found.
    pub finding: Finding,
    /// What was done.
    pub action: Action,
}

/// The answer to one hook call: what the process prints, how it exits, and what belongs in the log.
///
/// Standard output and the exit code are what an agent runtime acts on; nothing of what the tool said may reach them unless
/// it has passed every check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    /// The exit code: 0 lets the call or its output pass, 2 does not.
    pub exit: u8,
    /// What goes to standard output; empty when there is nothing to say.
    pub stdout: String,
    /// What goes to standard error; some runtimes show it to the model as the reason.
    pub stderr: String,
    /// What goes into the log.
    pub recorded: Vec<Recorded>,
}
