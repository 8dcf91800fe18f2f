//! The hook desk of a run, asked by the loop without a process in between.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fullsend_agent::hooks::{After, Before, CallHooks, HookedCall};
use fullsend_agent::tool::Pending;
use fullsend_guard::Finding;
use fullsend_guard::hook::{Action, Decision, HookPhase, Recorded, failure};
use fullsend_guard::log::{DECISION_FAILED, Place};
use fullsend_guard::service::Limits;
use serde_json::{Value, json};

use crate::runtime::HookDesk;

/// How long a decision may take. One that takes longer is a denial.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks the desk.
#[derive(Clone, Debug)]
pub(super) struct AtTheDesk(pub(super) HookDesk);

impl AtTheDesk {
    /// The decision about a call. What was found is on record when this returns; what cannot be recorded does not pass.
    async fn decide(&self, phase: HookPhase, tool: &str, question: Value) -> Decision {
        let (desk, tool) = (self.0.clone(), tool.to_owned());
        // Some checks start a program, or look at megabytes.
        let decided = tokio::task::spawn_blocking(move || desk.decide(phase, &tool, &question.to_string()));
        match tokio::time::timeout(PATIENCE, decided).await {
            Ok(Ok(decision)) => decision,
            Ok(Err(_)) => failure(phase, "the check of this tool call failed"),
            Err(_elapsed) => failure(phase, "the check of this tool call took too long"),
        }
    }
}

impl HookDesk {
    fn decide(&self, phase: HookPhase, tool: &str, question: &str) -> Decision {
        let decided = catch_unwind(AssertUnwindSafe(|| (self.decide)(phase, question.as_bytes())));
        let decision = decided.unwrap_or_else(|_| {
            let finding = Finding::new(&DECISION_FAILED, None, "the check ended in a fault of the program");
            let recorded = vec![Recorded { finding, action: Action::Block }];
            Decision { recorded, ..failure(phase, "the check of this tool call failed") }
        });
        if decision.recorded.is_empty() {
            return decision;
        }
        if self.log.bytes() >= Limits::default().log_bytes {
            return failure(phase, "this run has more findings than are recorded");
        }
        let place = Place { phase: phase.into(), tool: Some(tool), path: None };
        match self.log.append_all(place, &decision.recorded) {
            Ok(()) => decision,
            Err(_) => failure(phase, "the findings of this tool call could not be recorded"),
        }
    }
}

impl CallHooks for AtTheDesk {
    fn before<'a>(&'a self, call: HookedCall<'a>) -> Pending<'a, Before> {
        Box::pin(async move {
            let question = json!({ "tool_name": call.tool, "tool_input": call.input });
            before(&self.decide(HookPhase::PreTool, call.tool, question).await)
        })
    }

    fn after<'a>(&'a self, call: HookedCall<'a>, output: &'a Value) -> Pending<'a, After> {
        Box::pin(async move {
            let question =
                json!({ "tool_name": call.tool, "tool_input": call.input, "tool_response": output });
            after(&self.decide(HookPhase::PostTool, call.tool, question).await, output)
        })
    }
}

/// What an answer before a call means.
fn before(decision: &Decision) -> Before {
    if decision.exit == 0 && decision.stdout.is_empty() {
        return Before::Allowed;
    }
    Before::Denied { reason: reason(decision, "a check denied the call") }
}

/// What an answer after a call means. One that cannot be read keeps the result from the model.
fn after(decision: &Decision, output: &Value) -> After {
    if decision.exit == 0 && decision.stdout.is_empty() {
        return After::Unchanged;
    }
    let withheld = || After::Withheld { reason: reason(decision, "a check withheld the result") };
    let Ok(mut reply) = serde_json::from_str::<Value>(&decision.stdout) else { return withheld() };
    if reply.get("continue") == Some(&Value::Bool(false)) {
        return withheld();
    }
    let replacement = reply.pointer_mut("/hookSpecificOutput/updatedToolOutput").map(Value::take);
    match replacement {
        Some(replacement) if has_shape(&replacement, output) => {
            let remark = (decision.exit != 0).then(|| reason(decision, "a check changed the result"));
            After::Replaced { output: replacement, remark }
        }
        Some(_) | None => withheld(),
    }
}

/// Whether a replacement is of the kind that readers of the original expect.
fn has_shape(replacement: &Value, original: &Value) -> bool {
    match (replacement, original) {
        (Value::Object(replacement), Value::Object(original)) => {
            replacement.len() == original.len() && original.keys().all(|key| replacement.contains_key(key))
        }
        _ => std::mem::discriminant(replacement) == std::mem::discriminant(original),
    }
}

/// Why, in the words of the check.
fn reason(decision: &Decision, otherwise: &str) -> String {
    let said = decision.stderr.trim();
    if said.is_empty() { otherwise.to_owned() } else { said.to_owned() }
}

#[cfg(test)]
mod tests {
    use fullsend_agent::hooks::{After, Before};
    use fullsend_guard::hook::Decision;
    use serde_json::{Value, json};

    use super::{after, before};

    fn said(exit: u8, stdout: &str) -> Decision {
        Decision { exit, stdout: stdout.to_owned(), stderr: "because\n".to_owned(), recorded: Vec::new() }
    }

    #[test]
    fn only_silence_lets_a_call_pass() {
        assert_eq!(before(&Decision::default()), Before::Allowed);
        for answer in [said(2, ""), said(0, "{}"), said(1, ""), said(2, "{\"decision\":\"block\"}")] {
            assert_eq!(before(&answer), Before::Denied { reason: "because".to_owned() }, "{answer:?}");
        }
    }

    #[test]
    fn an_answer_that_is_not_understood_withholds() {
        let output = json!({"stdout": "x", "exitCode": 0});
        assert_eq!(after(&Decision::default(), &output), After::Unchanged);
        let changed = |value: Value| json!({"hookSpecificOutput": {"updatedToolOutput": value}}).to_string();
        let same_shape = json!({"stdout": "y", "exitCode": 0});
        let replaced = |remark: Option<&str>| After::Replaced {
            output: same_shape.clone(),
            remark: remark.map(str::to_owned),
        };
        assert_eq!(after(&said(0, &changed(same_shape.clone())), &output), replaced(None));
        assert_eq!(after(&said(2, &changed(same_shape.clone())), &output), replaced(Some("because")));
        let stop =
            json!({"continue": false, "hookSpecificOutput": {"updatedToolOutput": same_shape}}).to_string();
        let other_shapes = [json!("y"), json!({"stdout": "y"}), json!({"stdout": "y", "code": 0})];
        let odd = other_shapes
            .into_iter()
            .map(changed)
            .chain(["{}", "[", "null", ""].map(str::to_owned))
            .chain([stop]);
        for stdout in odd {
            let answer = after(&said(2, &stdout), &output);
            assert_eq!(answer, After::Withheld { reason: "because".to_owned() }, "{stdout}");
        }
    }
}
