//! The one place that every call and every result passes: may it happen, and where did it come from.
//!
//! Authority comes from how the prompt was bound and from the mode of the run, never from what a model says. Labels are
//! joined here, so that whatever enters the conversation raises the label of all that follows.

pub use fullsend_flow::{FlowMode, Verdict};
use serde::{Deserialize, Serialize};

use crate::tool::Effect;

/// What the prompt is to the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptRole {
    /// A command of the operator.
    #[default]
    DirectCommand,
    /// Something to know.
    Context,
    /// Somebody else's words.
    Quote,
}

impl PromptRole {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::DirectCommand, Self::Context, Self::Quote];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DirectCommand => "direct-command",
            Self::Context => "context",
            Self::Quote => "quote",
        }
    }
}

/// A verdict and why, in the words of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorisation {
    /// May it.
    pub verdict: Verdict,
    /// A word for the rule that decided.
    pub reason: String,
}

/// Decides about a call before it is made.
pub fn authorise(mode: FlowMode, role: PromptRole, tool: &str, effect: Effect) -> Authorisation {
    let commanded = role == PromptRole::DirectCommand;
    let reads = effect == Effect::Read;
    let verdict = match mode {
        FlowMode::Disabled => Verdict::Allowed,
        FlowMode::Observe if reads || commanded => Verdict::Allowed,
        FlowMode::Observe => Verdict::Warned,
        FlowMode::EnforceExplicit if reads || commanded => Verdict::Allowed,
        FlowMode::EnforceStrict if commanded => Verdict::Allowed,
        FlowMode::EnforceExplicit | FlowMode::EnforceStrict => Verdict::Denied,
    };
    let prefix = if tool == "write_file" { "write_file" } else { "cfc" };
    let mode_word = mode.as_str().replace('-', "_");
    let reason = match mode {
        FlowMode::Disabled => format!("{prefix}_disabled"),
        FlowMode::Observe | FlowMode::EnforceExplicit if reads => format!("{prefix}_{mode_word}_read"),
        FlowMode::Observe | FlowMode::EnforceExplicit | FlowMode::EnforceStrict if commanded => {
            format!("{prefix}_{mode_word}_direct_command")
        }
        FlowMode::Observe | FlowMode::EnforceExplicit | FlowMode::EnforceStrict => {
            format!("{prefix}_{mode_word}_requires_direct_command")
        }
    };
    Authorisation { verdict, reason }
}
