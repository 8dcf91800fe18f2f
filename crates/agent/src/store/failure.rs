//! Failures, as they are kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::ToolFailure;

/// Something that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureRecord {
    /// What kind of failure.
    #[serde(rename = "failure")]
    pub kind: FailureKind,
    /// Who noticed.
    pub source: FailureSource,
    /// In words; nothing of the model's.
    pub detail: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// The gateway's name for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The number of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_id: Option<String>,
    /// The first word of a command that could not be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_name: Option<String>,
    /// How a command ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

impl FailureRecord {
    /// The record of a call that did not do what was asked.
    pub fn of_tool(failure: &ToolFailure, tool: &str, call_id: &str, output_id: Option<&str>) -> Self {
        Self {
            kind: FailureKind::from_word(&failure.kind),
            source: FailureSource::ToolOutput,
            detail: failure.detail.clone(),
            tool_id: Some(tool.to_owned()),
            tool_call_id: Some(call_id.to_owned()),
            output_id: output_id.map(str::to_owned),
            command_name: None,
            exit_code: failure.exit_code,
        }
    }

    /// The record of what ended a run.
    pub fn of_run(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            source: FailureSource::RunError,
            detail: detail.into(),
            tool_id: None,
            tool_call_id: None,
            output_id: None,
            command_name: None,
            exit_code: None,
        }
    }
}

/// What kind of failure, the weightiest first: the primary failure of a run is the first of the weightiest kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A call that is not allowed.
    ToolNotAllowed,
    /// It took too long.
    Timeout,
    /// A path outside of the workspace.
    WorkspacePathConfusion,
    /// The system refused.
    PermissionDenied,
    /// A program that is not there.
    MissingBinary,
    /// A directory or something else where a file should be.
    NotAFile,
    /// A file that is not there.
    FileNotFound,
    /// Something of the harness's own.
    HarnessError,
    /// A call that is none.
    InvalidToolCall,
    /// Something else.
    Unknown,
}

impl FailureKind {
    /// How much it weighs.
    pub const fn priority(self) -> u8 {
        match self {
            Self::ToolNotAllowed => 60,
            Self::Timeout => 50,
            Self::WorkspacePathConfusion => 40,
            Self::PermissionDenied => 35,
            Self::MissingBinary => 30,
            Self::NotAFile | Self::FileNotFound => 25,
            Self::HarnessError => 10,
            Self::InvalidToolCall => 5,
            Self::Unknown => 0,
        }
    }

    /// The kind with this name; [`FailureKind::Unknown`] if there is none.
    pub fn from_word(word: &str) -> Self {
        Self::deserialize(Value::from(word)).unwrap_or(Self::Unknown)
    }
}

/// Who noticed a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureSource {
    /// The look at what the sandbox has.
    CapabilitySnapshot,
    /// The writer of the policy's snapshot.
    PolicySnapshot,
    /// The writer of the policy's trace.
    PolicyTrace,
    /// A call that was denied.
    PolicyEvent,
    /// A call that was none.
    ToolCall,
    /// The result of a call.
    ToolOutput,
    /// The end of the run.
    RunError,
}
