//! What a hook prints, in every dialect that its readers understand.
//!
//! Claude Code takes the reason of a denial from `hookSpecificOutput`, others from `decision` and `reason`, others from
//! standard error; exit code 2 denies for all of them. See decision record 14 for what was observed.

use serde_json::{Map, Value, json};

use crate::hook::decision::{Decision, HookPhase, Recorded};
use crate::hook::tool::Runtime;
use crate::visible::visible;

/// The exit code of a denial. With 1 some runtimes take the hook for broken and go on.
const DENIED: u8 = 2;

/// What stands for output that the model must not see.
pub(super) const WITHHELD: &str = "[output withheld by a security check]";

/// Denies a call.
pub(super) fn deny(reason: &str, recorded: Vec<Recorded>) -> Decision {
    let reason = visible(reason);
    let reply = json!({
        "decision": "block",
        "reason": reason,
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
    });
    Decision { exit: DENIED, stdout: reply.to_string(), stderr: format!("{reason}\n"), recorded }
}

/// Withholds output whose shape is not known, or cannot be kept. A replacement of another shape is ignored by Claude Code,
/// which would then show the original; what keeps the output from the model is that the run ends.
pub(super) fn stop(reason: &str, recorded: Vec<Recorded>) -> Decision {
    let reason = visible(reason);
    let reply = json!({
        "continue": false,
        "stopReason": reason,
        "decision": "block",
        "reason": reason,
        "tool_result": WITHHELD,
    });
    Decision { exit: DENIED, stdout: reply.to_string(), stderr: format!("{reason}\n"), recorded }
}

/// What to say when there is no decision: the configuration cannot be read, the input does not arrive, the program fails.
///
/// The call does not happen, and its output does not reach the model.
pub fn failure(phase: HookPhase, problem: &str) -> Decision {
    match phase {
        HookPhase::PreTool => deny(
            &format!("HOOK_ERROR: {problem}; the call is denied because it cannot be checked"),
            Vec::new(),
        ),
        HookPhase::PostTool => stop(
            &format!("HOOK_ERROR: {problem}; the output is withheld because it cannot be checked"),
            Vec::new(),
        ),
    }
}

/// What becomes of the output of a tool.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// Why the model is told that something was withheld; none when nothing was.
    pub(super) block: Option<String>,
    /// What takes the place of `tool_result`.
    pub(super) result: Option<Value>,
    /// What takes the place of `tool_response`, in the same shape.
    pub(super) response: Option<Value>,
    /// How much was changed, and why, in numbers and names of rules.
    pub(super) metadata: Map<String, Value>,
}

/// Lets output pass, as it is or changed, in words that the runtime understands.
pub(super) fn output(runtime: Runtime, output: Output, recorded: Vec<Recorded>) -> Decision {
    match runtime {
        Runtime::Codex => as_feedback(output, recorded),
        Runtime::Native | Runtime::Claude | Runtime::OpenCode | Runtime::Replay => {
            as_replacement(output, recorded)
        }
    }
}

/// For Codex, which shows the reason of a block to the model in place of the output, has no other replacement, and takes a
/// reply with any member that it does not know for none.
fn as_feedback(output: Output, recorded: Vec<Recorded>) -> Decision {
    let replaced = match output.response.or(output.result) {
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
        None => None,
    };
    let reason = output.block.map(|reason| visible(&reason).into_owned());
    let texts: Vec<String> = reason.into_iter().chain(replaced).collect();
    if texts.is_empty() {
        return Decision { recorded, ..Decision::default() };
    }
    let reply = json!({ "decision": "block", "reason": texts.join("\n") });
    Decision { exit: 0, stdout: reply.to_string(), stderr: String::new(), recorded }
}

fn as_replacement(output: Output, recorded: Vec<Recorded>) -> Decision {
    let Output { block, result, response, metadata } = output;
    let mut reply = Map::new();
    if let Some(reason) = &block {
        reply.insert("decision".to_owned(), "block".into());
        reply.insert("reason".to_owned(), visible(reason).into());
    }
    if let Some(result) = result {
        reply.insert("tool_result".to_owned(), result);
    }
    if let Some(response) = response {
        let specific = json!({ "hookEventName": "PostToolUse", "updatedToolOutput": response });
        reply.insert("hookSpecificOutput".to_owned(), specific);
    }
    if reply.is_empty() {
        return Decision { recorded, ..Decision::default() };
    }
    if !metadata.is_empty() {
        reply.insert("metadata".to_owned(), Value::Object(metadata));
    }
    let stdout = Value::Object(reply).to_string();
    match block {
        Some(reason) => {
            Decision { exit: DENIED, stdout, stderr: format!("{}\n", visible(&reason)), recorded }
        }
        None => Decision { exit: 0, stdout, stderr: String::new(), recorded },
    }
}
