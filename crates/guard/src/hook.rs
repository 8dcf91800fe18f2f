//! Tool hooks: what is decided around every tool call of an agent.
//!
//! [`Hook::decide`] answers one call, before or after the tool. Everything that it does follows [`CHECKS`]; what the answer
//! means to a runtime is in [`Decision`].

mod call;
mod clean;
mod config;
mod decision;
mod engine;
pub mod matrix;
mod plan;
mod post;
mod pre;
mod reply;
mod rules;
mod shell_input;
mod strict;
mod suppress;
mod texts;
mod tool;

pub use config::{
    AgentTools, AllowlistCheck, AskConfig, CanaryCheck, Checks, CommandCheck, ConfigError, HookConfig,
    HookFile, Limits, MAX_INPUT_BYTES, PrivateHostEntry, SsrfCheck, TirithCheck,
};
pub use decision::{Action, Decision, HookPhase, Recorded};
pub use engine::{AskTirith, Hook};
pub use plan::{CHECKS, Check, CheckRow, Tools};
pub use reply::failure;
pub use rules::{
    ALLOWLIST_RULES, CONTEXT_SUPPRESSED, MALFORMED_INPUT, OVERSIZED_INPUT, PROTOCOL_RULES, RULES,
    SUPPRESS_RULES, TOOL_BLOCKED, UNCHANGEABLE_OUTPUT, UNCLEANABLE_OUTPUT,
};
pub use strict::{NotStrict, parse as parse_strict};
pub use tool::{Runtime, ToolKind};
