//! What a session or a turn may do.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The type of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PolicyTag {
    /// The only one; the other spelling is that of older clients.
    #[default]
    #[serde(rename = "fullsend.chat-policy", alias = "cf-harness.chat-policy")]
    Policy,
}

/// What a session or a turn may do. That of a turn may only take something away from that of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatPolicy {
    /// What this is.
    #[serde(rename = "type")]
    pub tag: PolicyTag,
    /// Whether anything may be changed.
    pub tool_mode: ToolMode,
    /// The tools that may be called.
    pub allowed_tool_ids: BTreeSet<String>,
    /// What subagents may be.
    pub allowed_subagent_profiles: BTreeSet<String>,
    /// The tools for which a person is asked before each call.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approval_tool_ids: BTreeSet<String>,
    /// Whether a person is asked where the rules of information flow deny a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask_on_flow_denial: bool,
    /// How strictly flows are judged: `disabled`, `observe`, `enforce-explicit` or `enforce-strict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cfc_enforcement_mode: Option<String>,
    /// Evidence of how the prompt came to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_slot: Option<Map<String, Value>>,
}

/// Whether anything may be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolMode {
    /// Files of the workspace may be changed, and commands run.
    #[default]
    WorkspaceWrite,
    /// Nothing but reading.
    ReadOnly,
}

/// The type of a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BrowserAccessTag {
    /// The only one; the other spelling is that of older clients.
    #[default]
    #[serde(rename = "fullsend.chat.browser-access-lease", alias = "cf-harness.chat.browser-access-lease")]
    Lease,
}

/// A browser that is lent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserAccess {
    /// What this is.
    #[serde(rename = "type")]
    pub tag: BrowserAccessTag,
    /// Its name.
    pub lease_id: String,
    /// Where the browser listens. It is used, and told to nobody: not to the store, not to an event.
    pub cdp_url: String,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// `persistent` or `transient`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_mode: Option<String>,
    /// `available` or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_access: Option<String>,
}
