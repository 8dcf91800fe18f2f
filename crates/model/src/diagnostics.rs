//! What is on record about each attempt to reach a gateway.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How large a request was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestSize {
    /// The model that was asked.
    pub model: String,
    /// How many messages.
    pub message_count: usize,
    /// How many tools.
    pub tool_count: usize,
    /// How many bytes.
    pub serialized_bytes: usize,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// There was an answer, of whatever status.
    HttpResponse,
    /// There was none, or it broke off.
    TransportError,
}

/// One attempt to reach a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// What was asked.
    pub endpoint: String,
    /// Which attempt of the same request, from one.
    pub attempt: u32,
    /// How many there would be at most.
    pub max_attempts: u32,
    /// When it began: UTC with milliseconds.
    pub started_at: String,
    /// When the answer was complete, or it failed.
    pub ended_at: String,
    /// Until the head of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    /// All of it.
    pub duration_ms: u64,
    /// How large the request was.
    pub request: RequestSize,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// The status of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The gateway's name for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The headers that help: request ids, `retry-after`, `content-type`, `date`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub response_headers: BTreeMap<String, String>,
    /// How many bytes the answer had, when it was a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body_bytes: Option<u64>,
    /// The beginning of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body_excerpt: Option<String>,
    /// Whether there was more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body_truncated: Option<bool>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_detail: Option<String>,
}
