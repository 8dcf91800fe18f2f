//! What a hook makes of its input before any check looks at it.

use fullsend_guard::hook::{AllowlistCheck, Checks, Hook, HookConfig, HookPhase, Limits};
use serde_json::json;

use super::{assert_silent, before, denial, hook, recorded, reply};

const PHASES: [HookPhase; 2] = [HookPhase::PreTool, HookPhase::PostTool];

fn allowlist(tools: &[&str]) -> Checks {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    Checks { tool_allowlist: AllowlistCheck { enabled: true, tools }, ..Checks::default() }
}

#[test]
fn blank_input_passes_in_both_phases() {
    for checks in [Checks::default(), allowlist(&[])] {
        for phase in PHASES {
            for input in [&b""[..], b" \n\t\r\n"] {
                assert_silent(&hook(checks.clone()).decide(phase, input));
            }
        }
    }
}

#[test]
fn what_is_not_one_plain_object_is_denied_or_withheld() {
    let deep = format!("{{\"tool_input\": {}{}}}", "[".repeat(200), "]".repeat(200));
    let cases: &[(&[u8], &str)] = &[
        (b"not json", "is not valid JSON"),
        (b"{\"tool_name\": \"Bash\"", "is not valid JSON"),
        (b"{} {}", "is not valid JSON"),
        (b"[]", "is not a JSON object"),
        (b"\"Bash\"", "is not a JSON object"),
        (b"42", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b"{\"tool_name\": \"Read\", \"tool_name\": \"Bash\"}", "has an object with the same key twice"),
        (b"{\"tool_input\": {\"url\": \"a\", \"url\": \"b\"}}", "has an object with the same key twice"),
        (b"{\"tool_name\": \"\xff\"}", "is not UTF-8"),
        (deep.as_bytes(), "is nested too deeply"),
        (b"{\"tool_name\": 7}", "has a `tool_name` that is not a text"),
        (b"{\"tool_input\": []}", "has a `tool_input` that is neither an object nor a text"),
        (b"{\"tool_input\": 7}", "has a `tool_input` that is neither an object nor a text"),
        (
            b"{\"tool_input\": \"{\\\"a\\\": 1, \\\"a\\\": 2}\"}",
            "has a `tool_input` that has an object with the same key twice",
        ),
        (b"{\"hook_event_name\": \"Stop\"}", "is about another event than this hook is for"),
    ];
    let hook = hook(Checks::default());
    for (input, problem) in cases {
        let shown = String::from_utf8_lossy(input);
        let decision = hook.decide(HookPhase::PreTool, input);
        let expected =
            format!("HOOK_ERROR: the hook input {problem}; the call is denied because it cannot be checked");
        assert_eq!(denial(&decision), expected, "{shown}");
        assert_eq!(recorded(&decision), [("malformed_input", "block")], "{shown}");
        let decision = hook.decide(HookPhase::PostTool, input);
        let reason = format!(
            "HOOK_ERROR: the hook input {problem}; the output is withheld because it cannot be checked"
        );
        let expected = json!({
            "continue": false, "stopReason": reason, "decision": "block", "reason": reason,
            "tool_result": "[output withheld by a security check]",
        });
        assert_eq!((decision.exit, reply(&decision)), (2, expected), "{shown}");
    }
}

#[test]
fn keys_in_another_spelling_are_denied() {
    let hook = hook(Checks::default());
    for key in [
        "Tool_Name",
        "toolName",
        "tool-input",
        "toolInput",
        "TOOL_INPUT",
        "toolresponse",
        "ToolResult",
        "hookEventName",
    ] {
        let input = json!({"tool_name": "Bash", (key): "x"}).to_string();
        for phase in PHASES {
            let decision = hook.decide(phase, input.as_bytes());
            assert_eq!(
                (decision.exit, recorded(&decision)),
                (2, vec![("malformed_input", "block")]),
                "{key}"
            );
            assert!(decision.stderr.contains("almost, but not"), "{}", decision.stderr);
        }
    }
    let claude =
        json!({"session_id": "a", "cwd": "/", "tool_use_id": "x", "tool_name": "Read", "tool_inputs": 1});
    assert_silent(&before(&hook, &claude));
}

#[test]
fn each_phase_takes_its_own_event_only() {
    let hook = hook(Checks::default());
    let event = |name: &str| json!({"hook_event_name": name, "tool_name": "Read"}).to_string();
    assert_silent(&hook.decide(HookPhase::PreTool, event("PreToolUse").as_bytes()));
    assert_silent(&hook.decide(HookPhase::PostTool, event("PostToolUse").as_bytes()));
    assert_silent(&hook.decide(HookPhase::PostTool, event("PostToolUseFailure").as_bytes()));
    assert_eq!(hook.decide(HookPhase::PreTool, event("PostToolUse").as_bytes()).exit, 2);
    assert_eq!(hook.decide(HookPhase::PostTool, event("PreToolUse").as_bytes()).exit, 2);
}

#[test]
fn input_over_the_limit_is_denied() {
    let limits = Limits { max_input_bytes: 64 };
    let hook = Hook::new(HookConfig { limits, ..HookConfig::default() }).unwrap();
    let exactly = format!("{{\"tool_name\": \"{}\"}}", "x".repeat(64 - 17));
    assert_eq!(exactly.len(), 64);
    assert_silent(&hook.decide(HookPhase::PreTool, exactly.as_bytes()));
    for phase in PHASES {
        let decision = hook.decide(phase, format!("{exactly} ").as_bytes());
        assert_eq!((decision.exit, recorded(&decision)), (2, vec![("oversized_input", "block")]));
    }
}

#[test]
fn calls_without_input_or_name_are_checked_like_any_other() {
    let open = hook(Checks::default());
    for input in
        [json!({}), json!({"tool_name": "TodoRead", "tool_input": null}), json!({"tool_name": "Bash"})]
    {
        assert_silent(&before(&open, &input));
    }
    let listed = hook(allowlist(&["Bash"]));
    let expected = "Tool '(unnamed)' is NOT in the allowlist; use one of the tools that this agent is given";
    assert_eq!(denial(&before(&listed, &json!({}))), expected);
    assert_eq!(denial(&before(&listed, &json!({"tool_name": ""}))), expected);
}

#[test]
fn only_tools_in_the_list_pass_when_there_is_one() {
    let tools = hook(allowlist(&["Bash", "Read", "mcp__github__*"]));
    for name in ["Bash", "Read", "mcp__github__get_issue"] {
        assert_silent(&before(&tools, &json!({"tool_name": name})));
    }
    for name in ["bash", "Write", " Bash", "mcp__other__get", "Bash\u{200b}"] {
        let decision = before(&tools, &json!({"tool_name": name}));
        assert!(
            denial(&decision)
                .ends_with("is NOT in the allowlist; use one of the tools that this agent is given")
        );
        assert_eq!(recorded(&decision), [("tool_blocked", "block")]);
    }
    assert!(
        denial(&before(&tools, &json!({"tool_name": "Bash\u{200b}"}))).starts_with("Tool 'Bash\\u{200b}' is")
    );
    assert_eq!(before(&hook(allowlist(&[])), &json!({"tool_name": "Bash"})).exit, 2);
    let long = "x".repeat(10_000);
    assert!(denial(&before(&tools, &json!({"tool_name": long}))).len() < 200);
}
