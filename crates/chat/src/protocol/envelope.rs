//! What goes out: answers and events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::ChatError;
use super::event::ChatEvent;

/// The type of a request.
pub const REQUEST: &str = "fullsend.chat.request";
/// The type of a request as older clients write it.
pub const OLDER_REQUEST: &str = "cf-harness.chat.request";
/// The type of an answer.
pub const RESPONSE: &str = "fullsend.chat.response";
/// The type of an event.
pub const EVENT: &str = "fullsend.chat.event";

/// The type of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ResponseTag {
    /// The only one.
    #[default]
    #[serde(rename = "fullsend.chat.response")]
    Response,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EventTag {
    /// The only one.
    #[default]
    #[serde(rename = "fullsend.chat.event")]
    Event,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// What this is.
    #[serde(rename = "type")]
    pub tag: ResponseTag,
    /// The version that it is written in.
    pub protocol_version: u32,
    /// Of the request; null where the request had none that can be read.
    pub request_id: Option<String>,
    /// Whether it was done.
    pub ok: bool,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ChatError>,
}

/// Something that happened, numbered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventEnvelope {
    /// What this is.
    #[serde(rename = "type")]
    pub tag: EventTag,
    /// The version that it is written in.
    pub protocol_version: u32,
    /// When: UTC with milliseconds.
    pub emitted_at: String,
    /// In which session.
    pub session_id: String,
    /// In which turn, if in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// From one, without a gap, over all sessions of a store.
    pub sequence: u64,
    /// What happened.
    pub event: ChatEvent,
}

/// A line of the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Outgoing {
    /// Something happened.
    Event(Box<EventEnvelope>),
    /// A request is answered.
    Response(Box<Response>),
}
