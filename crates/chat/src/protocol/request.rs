//! What comes in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::policy::{BrowserAccess, ChatPolicy};
use super::record::{ChatContext, TurnInput, TurnState, Workspace};

/// A request, as far as it could be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// `fullsend.chat.request`; older clients write `cf-harness.chat.request`.
    #[serde(rename = "type")]
    pub tag: String,
    /// The version that it is written in.
    pub protocol_version: u32,
    /// The client's name for it, which its answer bears.
    pub request_id: String,
    /// What is wanted.
    #[serde(flatten)]
    pub method: Method,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
pub enum Method {
    /// Which versions do we both speak, and what can the service do.
    Hello(Hello),
    /// Begin a session.
    StartSession(Box<StartSession>),
    /// Say something.
    StartTurn(Box<StartTurn>),
    /// End what is under way.
    CancelTurn(CancelTurn),
    /// Answer a question.
    ResolveApproval(ResolveApproval),
    /// End a session.
    CloseSession(CloseSession),
    /// How do sessions stand.
    Status(StatusQuery),
    /// What happened.
    ListEvents(ListEvents),
    /// What was said.
    ListTurns(ListTurns),
}

/// Which versions the client speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// All that it speaks; none means the one of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protocol_versions: Vec<u32>,
    /// Who it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// Begins a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartSession {
    /// Its id; one is made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Where it works.
    pub workspace: Workspace,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ChatContext>,
    /// The model that answers; that of the service where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where its run is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_root: Option<String>,
    /// What it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ChatPolicy>,
    /// What the client would like; the answer says what there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Map<String, Value>>,
    /// A browser that is lent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_access: Option<BrowserAccess>,
    /// What the client writes down for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// Says something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartTurn {
    /// In which session.
    pub session_id: String,
    /// Its id; one is made up where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// What is said.
    pub input: TurnInput,
    /// What it is about; as the session where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ChatContext>,
    /// What it may do: not more than the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ChatPolicy>,
    /// A browser that is lent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_access: Option<BrowserAccess>,
    /// What the client writes down for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

/// Ends what is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelTurn {
    /// In which session.
    pub session_id: String,
    /// Which turn; the one that is under way where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Why; `canceled` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Answers a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveApproval {
    /// In which session.
    pub session_id: String,
    /// Which question.
    pub approval_id: String,
    /// The answer.
    pub decision: Decision,
}

/// What a person says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, this once.
    Allow,
    /// No.
    Deny,
}

/// Ends a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloseSession {
    /// Which.
    pub session_id: String,
    /// Why; `closed` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How do sessions stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusQuery {
    /// Only this one; an unknown one gives an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// What happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListEvents {
    /// Only in this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Only after this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_sequence: Option<u64>,
    /// At most this many, from one. Long lists come in parts, whatever is asked for: ask again after the last event of a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What was said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListTurns {
    /// Only in this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Only those that stand like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TurnState>,
}
