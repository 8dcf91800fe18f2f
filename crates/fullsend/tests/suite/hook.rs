//! `fullsend hook`, as a runtime calls it: a process per call.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::suite::running::{Place, Ran};

fn place(config: &Value) -> Place {
    let place = Place::new();
    place.write("hook.json", config.to_string());
    place
}

/// Runs the binary with `input` on standard input.
fn fed(place: &Place, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = place.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        Ran::from(child.wait_with_output().unwrap())
    })
}

fn before(place: &Place, input: &Value) -> Ran {
    fed(place, &["hook", "pre-tool", "--config", "hook.json"], input.to_string().as_bytes())
}

fn after(place: &Place, input: &[u8]) -> Ran {
    fed(place, &["hook", "post-tool", "--config", "hook.json"], input)
}

fn silence() -> Ran {
    Ran { code: Some(0), stdout: String::new(), stderr: String::new() }
}

/// The reason, after checking that every reader finds it.
#[track_caller]
fn denial(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
    let reason = reply["reason"].as_str().unwrap().to_owned();
    assert_eq!(reply["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(reply["hookSpecificOutput"]["permissionDecisionReason"], reply["reason"]);
    assert_eq!(ran.stderr, format!("{reason}\n"));
    reason
}

/// The reason for which output was withheld and the run ended.
#[track_caller]
fn stop(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&reply["continue"], &reply["decision"]), (&json!(false), &json!("block")));
    assert_eq!(reply["stopReason"], reply["reason"]);
    reply["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_harmless_call_is_answered_with_silence() {
    let place = place(&json!({}));
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_eq!(before(&place, &call), silence());
    assert_eq!(fed(&place, &["hook", "pre-tool", "--config=hook.json"], b"{}"), silence());
    assert_eq!(fed(&place, &["--quiet", "hook", "pre-tool", "--config", "hook.json"], b"{}"), silence());
    assert_eq!(after(&place, b""), silence());
}

#[test]
fn a_denied_call_has_its_reason_everywhere() {
    let place = place(&json!({"checks": {"tool_allowlist": {"enabled": true, "tools": ["Read"]}}}));
    let ran = before(&place, &json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    assert!(denial(&ran).starts_with("Tool 'Bash' is NOT in the allowlist"));
}

#[test]
fn without_a_usable_configuration_nothing_passes() {
    let place = Place::new();
    place.write("unknown.json", "{\n  \"cheks\": {}\n}");
    place.write("latin1.json", b"{\"findings\": \"/caf\xe9\"}");
    let cases: &[(&[&str], &str)] = &[
        (
            &["--config", "absent.json"],
            "HOOK_ERROR: the hook's configuration `absent.json` cannot be read: No such file",
        ),
        (&["--config", "."], "HOOK_ERROR: the hook's configuration `.` cannot be read: Is a directory"),
        (
            &["--config", "unknown.json"],
            "HOOK_ERROR: the hook's configuration is wrong: unknown.json:2:9: unknown field `cheks`",
        ),
        (
            &["--config", "latin1.json"],
            "HOOK_ERROR: the hook's configuration `latin1.json` cannot be read: stream did not contain valid UTF-8",
        ),
        (&[], "HOOK_ERROR: the hook needs exactly `--config FILE`"),
        (&["--confg", "x"], "HOOK_ERROR: the hook needs exactly `--config FILE`"),
        (&["--config", "a", "b"], "HOOK_ERROR: the hook needs exactly `--config FILE`"),
    ];
    for (arguments, expected) in cases {
        let pre = fed(&place, &[&["hook", "pre-tool"], *arguments].concat(), b"{}");
        assert!(denial(&pre).starts_with(expected), "{pre:?}");
        let post =
            fed(&place, &[&["hook", "post-tool"], *arguments].concat(), b"{\"tool_result\": \"secret\"}");
        assert!(stop(&post).starts_with(expected), "{post:?}");
        assert!(!post.stdout.contains("secret"), "{post:?}");
    }
}

#[test]
fn input_without_end_or_sense_is_denied() {
    let place = place(&json!({"limits": {"max_input_bytes": 1000}}));
    let huge = vec![b'x'; 3_000_000];
    assert!(stop(&after(&place, &huge)).contains("exceeds the limit of 1000 bytes"));
    assert!(stop(&after(&place, b"null")).contains("is not a JSON object"));
    assert!(stop(&after(&place, b"\xff\xfe")).contains("is not UTF-8"));
    let deep = [b'['; 900];
    assert!(stop(&after(&place, &deep)).contains("is nested too deeply"));
    let unwired =
        place.command(&["hook", "pre-tool", "--config", "hook.json"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(Ran::from(unwired), silence());
}

#[test]
fn a_reply_that_cannot_be_delivered_denies() {
    let place = place(&json!({}));
    place.write(
        "call.json",
        r#"{"tool_name": "Bash", "tool_input": {"command": "go vet"}, "tool_result": ""}"#,
    );
    let call = || std::fs::File::open(place.path().join("call.json")).unwrap();
    let arguments = ["hook", "post-tool", "--config", "hook.json"];
    let heard = Ran::from(place.command(&arguments).stdin(call()).output().unwrap());
    assert_eq!((heard.code, heard.stdout.contains("go vet: clean")), (Some(0), true));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let unheard = place.command(&arguments).stdin(call()).stdout(full).output().unwrap();
    assert_eq!(unheard.status.code(), Some(2));
}
