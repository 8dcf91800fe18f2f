//! What a run has on record about the runs that it started.

use fullsend_model::Usage;
use serde::{Deserialize, Serialize};

use super::row::TerminalReason;
use super::run_id::RunId;

/// A run that another one started. Holds nothing that a model wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "fullsend.subagent-run-ref", rename_all = "camelCase")]
pub struct SubagentRun {
    /// The run, whose directory is beside that of the one that started it.
    pub child_run_id: RunId,
    /// What it may do, by the name of a profile.
    pub profile: String,
    /// How it stands.
    pub status: SubagentStatus,
    /// The gateway's name for the call that it was started by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    /// The number of the output that it was started for.
    pub output_id: String,
    /// The model that answers in it.
    pub model: String,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_reason: Option<TerminalReason>,
    /// What became of the value that it was to return: `valid`, `invalid`, `child-reported-failure`, or `withheld` where the run
    /// that asked has got a handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_return: Option<String>,
    /// How often its model was asked.
    #[serde(default)]
    pub model_turns: u64,
    /// What it used, which the run that started it has paid for.
    #[serde(default)]
    pub usage: Usage,
    /// How many bytes entered its conversation; paid for likewise.
    #[serde(default)]
    pub output_bytes: u64,
}

/// How a run that another one started stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubagentStatus {
    /// It is under way.
    Running,
    /// It did what was asked, as far as anybody can tell.
    Completed,
    /// It did not.
    Failed,
    /// It was ended with the run that started it, and nobody knows how far it came.
    Interrupted,
}
