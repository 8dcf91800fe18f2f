//! What happens in a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::ChatError;
use super::record::{SessionStatus, TurnStatus};
use super::request::Decision;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ChatEvent {
    /// A session began.
    SessionStarted {
        /// As it stands.
        session: Box<SessionStatus>,
    },
    /// A turn began.
    TurnStarted {
        /// As it stands.
        turn: TurnStatus,
    },
    /// A piece of an answer. The pieces of an answer put together are its text.
    AssistantDelta {
        /// The piece.
        text: String,
    },
    /// The pieces since the last complete answer do not count: the model is asked again.
    AssistantRestarted {},
    /// An answer is complete.
    AssistantCompleted {
        /// All of its text.
        text: String,
    },
    /// A tool is called.
    ToolStarted {
        /// Which call.
        tool: ToolRef,
        /// What it is called with, as far as a person should see it: one line.
        summary: String,
    },
    /// A call has ended.
    ToolCompleted {
        /// Which call.
        tool: ToolRef,
        /// How.
        status: ToolStatus,
        /// One line for a person.
        result_summary: String,
        /// What was changed, as a unified diff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// Why it was denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A file was changed.
    FileChanged {
        /// Which, and how.
        change: FileChange,
    },
    /// A subagent began.
    SubagentStarted {
        /// Which.
        subagent: SubagentRef,
    },
    /// A subagent has ended.
    SubagentCompleted {
        /// Which.
        subagent: SubagentRef,
        /// How.
        status: ToolStatus,
    },
    /// A person is asked. The turn waits.
    ApprovalRequested {
        /// What for.
        approval: ApprovalRequest,
    },
    /// The question is answered, or nobody waits for the answer any more.
    ApprovalResolved {
        /// Which.
        approval_id: String,
        /// The answer.
        decision: Decision,
        /// Where it came from: `client`, `canceled` or `expired`.
        by: String,
    },
    /// A turn came to its end.
    TurnCompleted {
        /// Which.
        turn_id: String,
        /// The last answer.
        final_text: String,
        /// What it used, subagents included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<TurnUsage>,
    },
    /// A turn could not go on.
    TurnFailed {
        /// Which.
        turn_id: String,
        /// Why.
        error: ChatError,
    },
    /// A turn is being ended.
    TurnCanceled {
        /// Which.
        turn_id: String,
        /// Why.
        reason: String,
    },
    /// A session stands otherwise than before.
    StatusChanged {
        /// As it stands.
        session: Box<SessionStatus>,
    },
    /// A session was closed.
    SessionClosed {
        /// Why.
        reason: String,
    },
    /// Something went wrong that is no turn's.
    Error {
        /// What.
        error: ChatError,
        /// Whether the session cannot go on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fatal: bool,
    },
}

impl ChatEvent {
    /// Its kind, as it is written.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "session_started",
            Self::TurnStarted { .. } => "turn_started",
            Self::AssistantDelta { .. } => "assistant_delta",
            Self::AssistantRestarted { .. } => "assistant_restarted",
            Self::AssistantCompleted { .. } => "assistant_completed",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolCompleted { .. } => "tool_completed",
            Self::FileChanged { .. } => "file_changed",
            Self::SubagentStarted { .. } => "subagent_started",
            Self::SubagentCompleted { .. } => "subagent_completed",
            Self::ApprovalRequested { .. } => "approval_requested",
            Self::ApprovalResolved { .. } => "approval_resolved",
            Self::TurnCompleted { .. } => "turn_completed",
            Self::TurnFailed { .. } => "turn_failed",
            Self::TurnCanceled { .. } => "turn_canceled",
            Self::StatusChanged { .. } => "status_changed",
            Self::SessionClosed { .. } => "session_closed",
            Self::Error { .. } => "error",
        }
    }
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRef {
    /// The model's name for the call; unique in a turn.
    pub tool_call_id: String,
    /// The tool.
    pub tool_id: String,
}

/// How a call has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It did what was asked.
    Completed,
    /// It did not.
    Failed,
    /// It was not made, or its result is kept from the model.
    Denied,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// `update`.
    pub kind: String,
    /// Which file, as the sandbox sees it.
    pub path: String,
    /// In words.
    pub summary: String,
}

/// A subagent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentRef {
    /// The call that started it.
    pub tool_call_id: String,
    /// What it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalRequest {
    /// The name of the question.
    pub approval_id: String,
    /// The call.
    pub tool: ToolRef,
    /// What it would be called with.
    pub input: Map<String, Value>,
    /// Why a person is asked.
    pub reason: String,
}

/// What a turn used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnUsage {
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Tokens of requests that the gateway had already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Tokens of thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// In US dollars, where prices are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
