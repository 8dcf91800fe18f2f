//! What becomes of the output of tools.

use fullsend_guard::hook::Checks;
use serde_json::{Value, json};

use super::{after, assert_silent, hook, recorded, reply};

/// What Claude Code sends about a command that ended well.
fn claude(command: &str, stdout: &str) -> Value {
    json!({
        "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command},
        "tool_response": {"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false},
    })
}

fn with(mut input: Value, pointer: &str, value: Value) -> Value {
    *input.pointer_mut(pointer).unwrap() = value;
    input
}

#[test]
fn output_without_news_is_one_line_in_the_same_shape() {
    let hook = hook(Checks::default());
    let decision = after(&hook, &claude("go vet ./...", ""));
    let expected = json!({
        "hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "updatedToolOutput": {
                "stdout": "go vet: clean", "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
            },
        },
        "metadata": {"suppressed": true},
    });
    assert_eq!((decision.exit, reply(&decision)), (0, expected));
    assert_eq!(recorded(&decision), [("context_suppressed", "suppress")]);

    let first =
        json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_result": "42 passing"});
    let expected = json!({"tool_result": "tests: passed", "metadata": {"suppressed": true}});
    assert_eq!(reply(&after(&hook, &first)), expected);
    let text_input = with(first.clone(), "/tool_input", json!("{\"command\": \"npm test\"}"));
    assert_eq!(reply(&after(&hook, &text_input)), expected);
    let both = with(first, "/tool_name", json!("shell"));
    assert_eq!(reply(&after(&hook, &both)), expected);
}

#[test]
fn output_that_may_hold_news_stays() {
    let suppressing = hook(Checks::default());
    let quiet = claude("go vet ./...", "");
    let cases = [
        with(quiet.clone(), "/tool_response/stderr", json!("warning: x")),
        with(quiet.clone(), "/tool_response/interrupted", json!(true)),
        with(quiet.clone(), "/tool_name", json!("Read")),
        with(quiet.clone(), "/tool_response", json!({"stdout": "", "exitCode": 1})),
        with(quiet.clone(), "/tool_response", json!({"stdout": 1})),
        with(quiet.clone(), "/tool_response", json!(null)),
        with(quiet.clone(), "/tool_response", json!([""])),
        with(quiet.clone(), "/tool_input/command", json!(1)),
        with(quiet.clone(), "/tool_input", json!(null)),
        json!({"tool_name": "Bash", "tool_input": {"command": "go vet"}}),
    ];
    for case in cases {
        assert_silent(&after(&suppressing, &case));
    }
    assert_silent(&after(&hook(Checks { suppress: false, ..Checks::default() }), &quiet));
}
