//! The answer where there is no decision.

use super::wire::Reply;
use crate::hook::HookPhase;

/// Why the service denies by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// Deciding ended in a fault.
    Fault,
    /// What was found cannot be written.
    NotRecorded,
    /// More was found than a run may have.
    Flooded,
    /// The answer is longer than any may be.
    TooLong,
}

impl Denied {
    const fn reason(self) -> &'static str {
        match self {
            Self::Fault => "fullsend: the check of this tool call failed, so it is denied",
            Self::NotRecorded => {
                "fullsend: the findings of this tool call could not be recorded, so it is denied"
            }
            Self::Flooded => {
                "fullsend: this run has more findings than are recorded, so every tool call is denied"
            }
            Self::TooLong => "fullsend: the checked output of this tool call is too long, so it is withheld",
        }
    }

    /// What the hook prints: exit code 2 and a JSON object, each of which agent runtimes take for a denial.
    pub(super) fn reply(self, phase: HookPhase) -> Reply {
        let reason = self.reason();
        let mut denial = serde_json::json!({ "decision": "block", "reason": reason });
        if phase == HookPhase::PreTool {
            let specific = serde_json::json!({
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            });
            if let Some(members) = denial.as_object_mut() {
                members.insert("hookSpecificOutput".to_owned(), specific);
            }
        }
        Reply { exit: 2, stdout: format!("{denial}\n"), stderr: format!("{reason}\n") }
    }
}
