//! What comes of a request, where it is not the status of one session or turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::envelope::EventEnvelope;
use super::record::{Capabilities, SessionStatus, TurnRecord};

/// What comes of `hello`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// The newest version that both sides speak: that of every later request.
    pub protocol_version: u32,
    /// All versions that the service speaks.
    pub supported_versions: Vec<u32>,
    /// The name of the service: `fullsend`.
    pub service: String,
    /// The version of its build.
    pub service_version: String,
    /// What it can do in a session.
    pub capabilities: Capabilities,
}

/// What comes of `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// The sessions, oldest first.
    pub sessions: Vec<SessionStatus>,
}

/// What comes of `list_events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventList {
    /// The events, in order.
    pub events: Vec<EventEnvelope>,
    /// The number of the newest event of the whole store, listed or not; zero where there is none.
    pub latest_sequence: u64,
    /// Whether there is more of what was asked for: ask again after the last of these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// What comes of `list_turns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnList {
    /// The turns, oldest first.
    pub turns: Vec<TurnRecord>,
}
