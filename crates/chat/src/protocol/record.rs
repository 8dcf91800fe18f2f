//! How sessions and turns stand.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::ChatError;
use super::policy::ChatPolicy;

/// Where a session works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    /// The directory, on the machine of the service; absolute.
    pub host_path: String,
    /// Where in it the agent begins: relative to it, or as the sandbox sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where the sandbox sees it; `/workspace` is the only place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_path: Option<String>,
}

/// What a conversation is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ChatContext {
    /// The workspace.
    Workspace,
    /// A thread of comments: nothing may be changed.
    CommentThread {
        /// Which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_id: Option<String>,
        /// On what.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
    },
}

/// What the service does in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Answers come in pieces.
    pub partial_text_stream: bool,
    /// Calls of tools are told.
    pub tool_telemetry: bool,
    /// Changes of files are told.
    pub file_mutation_events: bool,
    /// Subagents can drive a browser.
    pub browser_profile: bool,
    /// A browser can be lent.
    pub browser_access_lease: bool,
    /// There are subagents.
    pub delegation: bool,
    /// Sessions can be read-only.
    pub readonly_mode: bool,
    /// Pictures can be shown.
    pub image_attachments: bool,
    /// Information flow is judged.
    pub cfc_enforcement: bool,
    /// Errors have codes.
    pub structured_errors: bool,
    /// Persons can be asked.
    pub approvals: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            partial_text_stream: true,
            tool_telemetry: true,
            file_mutation_events: true,
            browser_profile: true,
            browser_access_lease: true,
            delegation: true,
            readonly_mode: true,
            image_attachments: true,
            cfc_enforcement: true,
            structured_errors: true,
            approvals: true,
        }
    }
}

/// How a session stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It waits for a turn.
    Idle,
    /// A turn is under way.
    TurnRunning,
    /// A turn is being ended.
    Canceling,
    /// It takes no turn any more.
    Closed,
    /// It cannot go on.
    Failed,
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStatus {
    /// Its id.
    pub session_id: String,
    /// In one word.
    pub status: SessionState,
    /// Whether it takes another turn, now or after the present one.
    pub reusable: bool,
    /// How many turns were begun.
    pub turn_count: u64,
    /// When it began.
    pub created_at: String,
    /// When something last happened in it.
    pub updated_at: String,
    /// When it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
    /// The turn that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_turn_id: Option<String>,
    /// The same, as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_turn: Option<TurnStatus>,
    /// Where it works.
    pub workspace: Workspace,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ChatContext>,
    /// The model that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The run of the agent that has its transcript, labels and handles; none before its first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_run_id: Option<String>,
    /// Where that run is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_root: Option<String>,
    /// What the service does in it.
    pub capabilities: Capabilities,
    /// What it may do.
    pub policy: ChatPolicy,
    /// The name of the browser that is lent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_lease_id: Option<String>,
    /// What the client wrote down for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// How a turn stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// It is under way.
    Running,
    /// It is being ended.
    Canceling,
    /// Somebody ended it.
    Canceled,
    /// It came to its end.
    Completed,
    /// It could not go on.
    Failed,
}

impl TurnState {
    /// Whether nothing more will happen in it.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Running | Self::Canceling => false,
            Self::Canceled | Self::Completed | Self::Failed => true,
        }
    }
}

/// How a turn stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStatus {
    /// Its id.
    pub turn_id: String,
    /// In one word.
    pub status: TurnState,
    /// When it began.
    pub started_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Why somebody ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// Why it could not go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ChatError>,
}

/// What a person says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnInput {
    /// In words.
    pub text: String,
    /// Pictures: paths in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_attachments: Vec<ImageAttachment>,
}

/// A picture of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageAttachment {
    /// Its path, relative to the workspace.
    pub path: String,
}

/// A turn, with what it was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// In which session.
    pub session_id: String,
    /// How it stands.
    pub turn: TurnStatus,
    /// What was said.
    pub input: TurnInput,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ChatContext>,
    /// What it may do.
    pub policy: ChatPolicy,
    /// The name of the browser that is lent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_lease_id: Option<String>,
    /// What the client wrote down for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}
