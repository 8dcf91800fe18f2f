//! `fullsend runs` and `fullsend check-output`.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::suite::running::Place;

const NAME: &str = "fs-rev-0123456789ab";

#[test]
fn runs_are_listed_and_told_without_reaching_the_terminal() {
    let place = Place::new();
    let run = place.path().join("out").join(NAME);
    fs::create_dir_all(&run).unwrap();
    let report = json!({"agent": "rev\u{1b}[31m", "state": "running", "started_at": "2026-01-01T00:00:00Z", "metrics": {"total_cost_usd": 0.5}});
    fs::write(run.join("report.json"), report.to_string()).unwrap();
    let event = json!({"at": "t", "type": "runtime", "event": "tool_use", "name": "Bash", "summary": "ls\u{1b}]0;x\u{7}"});
    fs::write(run.join("events.jsonl"), format!("{event}\n{{\"cut")).unwrap();
    let listed = place.run(&["runs", "ls", "--output-dir", "out"]);
    assert_eq!(listed.code, Some(0));
    assert!(
        listed.stdout.contains(NAME)
            && listed.stdout.contains("running")
            && !listed.stdout.contains('\u{1b}'),
        "{}",
        listed.stdout
    );
    let shown = place.run(&["runs", "show", NAME, "--output-dir", "out"]);
    assert!(
        shown.stdout.contains("Bash ls") && shown.stdout.contains("1 lines cannot be read"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stdout.contains(['\u{1b}', '\u{7}']));
    let path = run.display().to_string();
    let json: Value =
        serde_json::from_str(&place.run(&["runs", "show", &path, "--format", "json"]).stdout).unwrap();
    assert_eq!((&json["summary"]["state"], &json["findings_log"]), (&json!("running"), &json!("missing")));
    let none = place.run(&["runs", "show", "fs-rev-ffffffffffff", "--output-dir", "out"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("runs ls"), "{}", none.stderr);
}

#[test]
fn a_findings_log_that_was_changed_is_noticed() {
    let place = Place::new();
    let run = place.path().join(NAME);
    fs::create_dir_all(run.join("security")).unwrap();
    fs::write(run.join("report.json"), "{}").unwrap();
    fs::write(run.join("events.jsonl"), "").unwrap();
    fs::write(run.join("security/findings.jsonl"), "{}\n").unwrap();
    let shown = place.run(&["runs", "show", NAME, "--output-dir", "."]);
    assert_eq!(shown.code, Some(1), "{}", shown.stdout);
    fs::remove_file(run.join("security/findings.jsonl")).unwrap();
    symlink("/etc/hostname", run.join("security/findings.jsonl")).unwrap();
    assert!(place.run(&["runs", "show", NAME, "--output-dir", "."]).stdout.contains("not a file"));
}

#[test]
fn a_result_is_checked_as_the_run_does() {
    let place = Place::new();
    fs::write(
        place.path().join("schema.json"),
        r#"{"type":"object","properties":{"a":{"properties":{"b":{"type":"integer"}}}}}"#,
    )
    .unwrap();
    let cases = [
        ("{\"a\":{\"b\":1}}", Some(0), "PASS: "),
        ("{\"a\":{\"b\":\"x\"}}", Some(1), "at: a.b"),
        ("{\"a\":1,\"a\":2}", Some(1), "FAIL: `agent-result.json` has an object with the same key twice"),
        ("", Some(1), "is empty"),
    ];
    for (text, code, said) in cases {
        fs::write(place.path().join("agent-result.json"), text).unwrap();
        let ran = place.run(&["check-output", "agent-result.json", "--schema", "schema.json"]);
        assert_eq!(ran.code, code, "{text}: {}", ran.stderr);
        assert!(ran.stdout.contains(said), "{}", ran.stdout);
    }
    let named = place.run(&["check-output", "other.json", "--schema", "schema.json"]);
    assert_eq!(named.code, Some(1));
    assert!(named.stdout.contains("`agent-result.json`"), "{}", named.stdout);
    let missing = place.run(&["check-output", "agent-result.json", "--schema", "none.json"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stdout);
}
