//! Decisions about tool calls, row by row.

mod calls;
mod canary;
mod output;
mod plan;
mod protocol;

use fullsend_guard::hook::{Checks, Decision, Hook, HookConfig, HookPhase};
use serde_json::Value;

/// A hook with these checks, for Claude Code's tools.
fn hook(checks: Checks) -> Hook {
    Hook::new(HookConfig { checks, ..HookConfig::default() }).unwrap()
}

fn before(hook: &Hook, input: &Value) -> Decision {
    hook.decide(HookPhase::PreTool, input.to_string().as_bytes())
}

fn after(hook: &Hook, input: &Value) -> Decision {
    hook.decide(HookPhase::PostTool, input.to_string().as_bytes())
}

/// What the reply says, when there is one.
fn reply(decision: &Decision) -> Value {
    if decision.stdout.is_empty() { Value::Null } else { serde_json::from_str(&decision.stdout).unwrap() }
}

/// The rules of what was recorded, with what was done.
fn recorded(decision: &Decision) -> Vec<(&'static str, &'static str)> {
    decision.recorded.iter().map(|entry| (entry.finding.rule.id, entry.action.as_str())).collect()
}

/// Why a call was denied, after checking that every dialect says the same.
#[track_caller]
fn denial(decision: &Decision) -> String {
    let reply = reply(decision);
    assert_eq!(decision.exit, 2, "{reply}");
    assert_eq!(reply["decision"], "block");
    let specific = &reply["hookSpecificOutput"];
    assert_eq!(
        (&specific["hookEventName"], &specific["permissionDecision"]),
        (&"PreToolUse".into(), &"deny".into())
    );
    assert_eq!(specific["permissionDecisionReason"], reply["reason"]);
    let reason = reply["reason"].as_str().unwrap().to_owned();
    assert_eq!(decision.stderr, format!("{reason}\n"));
    assert!(!reason.contains('\n'));
    reason
}

#[track_caller]
fn assert_silent(decision: &Decision) {
    assert_eq!((decision.exit, decision.stdout.as_str(), decision.stderr.as_str()), (0, "", ""));
}
