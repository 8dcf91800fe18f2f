//! `fullsend hook`, as a runtime calls it: a process per call.

mod config;
mod serve;

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
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
    let huge = std::fs::File::create(place.path().join("huge.json")).unwrap();
    huge.set_len(1 << 40).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(place.path().join("fifo")).status().unwrap().success());
    let _socket = UnixListener::bind(place.path().join("hook.sock")).unwrap();
    let cases: &[(&[&str], &str)] = &[
        (
            &["--config", "absent.json"],
            "HOOK_ERROR: the hook's configuration `absent.json` cannot be read: No such file",
        ),
        (&["--config", "."], "HOOK_ERROR: the hook's configuration `.` cannot be read: is a directory"),
        (
            &["--config", "fifo"],
            "HOOK_ERROR: the hook's configuration `fifo` cannot be read: not a regular file",
        ),
        (
            &["--config", "/dev/zero"],
            "HOOK_ERROR: the hook's configuration `/dev/zero` cannot be read: not a regular file",
        ),
        (
            &["--config", "huge.json"],
            "HOOK_ERROR: the hook's configuration `huge.json` cannot be read: it has more than",
        ),
        (
            &["--config", "hook.sock"],
            "HOOK_ERROR: the hook's configuration `hook.sock` cannot be read: No such device",
        ),
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

#[test]
fn findings_go_into_a_log_and_a_log_that_is_wrong_denies() {
    let place = Place::new();
    let log = place.path().join("logs/findings.jsonl");
    let checks = json!({"tool_allowlist": {"enabled": true, "tools": ["Read"]}});
    let id = "4f3a9c1b-2d8e-4a7c-9f0b-1e2d3c4a5b6d";
    place.write("hook.json", json!({"checks": checks, "findings": log, "trace_id": id}).to_string());
    assert_eq!(before(&place, &json!({"tool_name": "Read"})), silence());
    assert!(!log.exists(), "nothing was found, so nothing is written");
    for _ in 0..2 {
        assert!(denial(&before(&place, &json!({"tool_name": "Bash"}))).starts_with("Tool 'Bash'"));
    }
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!((text.matches("\"tool_blocked\"").count(), text.lines().count()), (2, 2), "{text}");
    assert!(text.contains(id) && text.contains("hook_pretool") && text.contains("Bash"));
    std::fs::write(&log, text.replace("Bash", "Book")).unwrap();
    let denied = denial(&before(&place, &json!({"tool_name": "Bash"})));
    assert!(denied.starts_with("HOOK_ERROR: the findings of this call cannot be recorded"), "{denied}");
}

#[test]
fn what_cannot_be_recorded_is_denied() {
    let place = Place::new();
    let checks = json!({"tool_allowlist": {"enabled": true, "tools": ["Read"]}});
    std::fs::create_dir(place.path().join("directory")).unwrap();
    symlink("/dev/full", place.path().join("link")).unwrap();
    place.write("other", "not a log\n");
    for log in ["directory", "link", "other", "other/log"] {
        let findings = place.path().join(log);
        place.write("hook.json", json!({"checks": checks, "findings": findings}).to_string());
        let denied = denial(&before(&place, &json!({"tool_name": "Bash"})));
        assert!(
            denied.starts_with("HOOK_ERROR: the findings of this call cannot be recorded"),
            "{log}: {denied}"
        );
    }
}

#[test]
fn hooks_side_by_side_write_one_chain() {
    let place = Place::new();
    let log = place.path().join("findings.jsonl");
    let checks = json!({"tool_allowlist": {"enabled": true, "tools": ["Read"]}});
    place.write("hook.json", json!({"checks": checks, "findings": log}).to_string());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert!(
                        denial(&before(&place, &json!({"tool_name": "Bash"}))).starts_with("Tool 'Bash'")
                    );
                }
            });
        }
    });
    let verdict = place.run(&["scan", "verify-findings", "findings.jsonl", "--allow-unsealed"]);
    assert_eq!(verdict.code, Some(0), "{verdict:?}");
    assert!(verdict.stdout.contains("20 entries before it, unchanged"), "{}", verdict.stdout);
}

#[test]
fn a_closed_standard_error_takes_nothing_from_a_denial() {
    let place = place(&json!({"checks": {"tool_allowlist": {"enabled": true}}}));
    let call = place.write("call.json", r#"{"tool_name": "Bash"}"#);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "exec \"$0\" hook pre-tool --config hook.json <\"$1\" 2>&-"]);
    let ran =
        command.arg(env!("CARGO_BIN_EXE_fullsend")).arg(call).current_dir(place.path()).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8(ran.stdout).unwrap().contains("NOT in the allowlist"));
}
