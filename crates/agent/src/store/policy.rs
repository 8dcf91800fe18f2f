//! Decisions about calls, as they are kept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::flow::FlowRecord;
use crate::gate::{FlowMode, Verdict};
use crate::tool::Effect;

/// Whether a call may be made, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyDecision {
    /// The gateway's name for the call.
    pub tool_call_id: String,
    /// The tool, as the model called it.
    pub tool_id: String,
    /// What it does to the world, if there is such a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_class: Option<Effect>,
    /// How strictly it was judged.
    pub cfc_enforcement_mode: FlowMode,
    /// May it.
    pub decision: Verdict,
    /// Words for the rules that decided.
    pub reason_codes: Vec<String>,
    /// In other words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The arguments, as sizes and digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_input_summary: Option<Map<String, Value>>,
    /// The profile that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent_profile: Option<String>,
    /// What the rules of flow found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<FlowRecord>,
}

/// Something about a call that somebody should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyEvent {
    /// How bad it is.
    pub severity: EventSeverity,
    /// How strictly it was judged.
    pub mode: FlowMode,
    /// The tool.
    pub tool_id: String,
    /// The gateway's name for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// In words.
    pub detail: String,
    /// The arguments, as sizes and digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_input_summary: Option<Map<String, Value>>,
    /// What the model was shown instead of a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation_denied: Option<Value>,
}

/// How bad something is that somebody should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventSeverity {
    /// It happened all the same.
    Warning,
    /// It did not happen.
    Denied,
}
