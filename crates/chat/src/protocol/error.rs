//! Why something was not done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatError {
    /// A word that programs can go by.
    pub code: ErrorCode,
    /// In words: what failed, on what, and what to do.
    pub message: String,
    /// True where waiting alone helps; never false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// What else is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Map<String, Value>>,
}

/// A word for why something was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request is not one; `details` says where.
    InvalidRequest,
    /// The version is one that this build does not speak; `details.supported` lists those it does.
    UnsupportedProtocolVersion,
    /// The id is taken.
    SessionExists,
    /// There is no such session.
    SessionNotFound,
    /// The session is closed.
    SessionClosed,
    /// The session cannot go on: its record is gone or damaged, or it is not what it was when it began.
    SessionUnusable,
    /// A turn is under way, or is being ended.
    TurnAlreadyRunning,
    /// The id is taken.
    TurnExists,
    /// There is no such turn under way.
    TurnNotFound,
    /// The turn is under way in another process.
    TurnElsewhere,
    /// There is no such question.
    ApprovalNotFound,
    /// The policy lets subagents drive a browser, and none was lent.
    BrowserAccessRequired,
    /// The policy asks for more than its session, or the service, allows.
    PolicyDenied,
    /// The model cannot be asked.
    ProviderUnavailable,
    /// The turn has used all that one may use of something; `details.limit` says of what.
    LimitReached,
    /// Something else went wrong on this side.
    InternalError,
}

impl ChatError {
    /// An error without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retryable: None, details: None }
    }

    /// Says that waiting helps.
    #[must_use]
    pub fn retryable(self) -> Self {
        Self { retryable: Some(true), ..self }
    }

    /// Adds something that is known.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.get_or_insert_default().insert(key.to_owned(), value.into());
        self
    }
}

impl std::fmt::Display for ChatError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ChatError {}
