//! The report of a run, at every moment.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fullsend_guard::{Checks, SystemClock};
use fullsend_runner::event_log::EventLog;
use fullsend_runner::report::{Report, ReportFile, State, write_metrics};
use fullsend_runner::{AccessKind, Event, Outcome, Step};
use fullsend_runtimes::{Metrics, RuntimeEvent, TokenUsage};
use serde_json::{Value, json};

fn token() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap())
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn access(kind: AccessKind, target: &str, allowed: bool) -> Event {
    Event::Access { kind, target: target.to_owned(), allowed, detail: String::new() }
}

fn events() -> Vec<Event> {
    let finding = |severity: &str, action: &str| Event::Finding {
        step: Step::ScanInput,
        rule: "context_injection/x".to_owned(),
        severity: severity.to_owned(),
        place: "AGENTS.md".to_owned(),
        detail: "d".to_owned(),
        action: action.to_owned(),
    };
    vec![
        Event::StepBegan { step: Step::Load, iteration: None },
        Event::StepEnded {
            step: Step::Load,
            iteration: None,
            outcome: Outcome::Done,
            detail: format!("with {}", token()),
            took: Duration::from_millis(1500),
        },
        Event::Warning { text: "careful".to_owned() },
        finding("high", "warn"),
        finding("high", "block"),
        access(AccessKind::Fetch, "https://a.test/skill", true),
        access(AccessKind::Network, "evil.test:443", false),
        Event::Runtime { iteration: 1, event: RuntimeEvent::Text { text: "the model speaks".to_owned() } },
        Event::Runtime {
            iteration: 1,
            event: RuntimeEvent::ToolUse { id: None, name: "Bash".to_owned(), summary: "ls".to_owned() },
        },
        Event::StepBegan { step: Step::Agent, iteration: Some(1) },
    ]
}

#[test]
fn the_report_is_whole_from_the_beginning_to_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    let report = Report::new("fs-rev-0123456789ab", "review", "trace", "o/r#1");
    let mut file = ReportFile::create(&path, report, &Checks::default(), Arc::new(SystemClock)).unwrap();
    assert_eq!(
        (&read(&path)["state"], &read(&path)["type"]),
        (&json!("running"), &json!("fullsend.run-report"))
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for event in events() {
        file.observe(&event).unwrap();
    }
    // What a process that is killed here leaves.
    let killed = read(&path);
    assert_eq!((&killed["state"], killed.get("exit_code")), (&json!("running"), None));
    assert_eq!((&killed["steps"][0]["outcome"], &killed["denied"]), (&json!("done"), &json!(1)));
    assert_eq!(killed["steps"][1]["step"], "agent");
    assert_eq!(killed["steps"][1].get("outcome"), None);
    file.update(|report| report.findings.log_head = Some("abc".to_owned()));
    file.finish(State::Blocked, 3, Some("a finding".to_owned())).unwrap();
    let report = read(&path);
    assert_eq!(
        (&report["state"], &report["exit_code"], &report["reason"]),
        (&json!("blocked"), &json!(3), &json!("a finding"))
    );
    assert_eq!(
        (&report["steps"][0]["outcome"], &report["steps"][0]["took_ms"]),
        (&json!("done"), &json!(1500))
    );
    assert_eq!(
        report["findings"],
        json!({"total": 2, "by_severity": {"high": 2}, "by_action": {"block": 1, "warn": 1}, "log_head": "abc"})
    );
    assert_eq!(
        (&report["fetches"][0]["target"], &report["decisions"][0]["allowed"], &report["denied"]),
        (&json!("https://a.test/skill"), &json!(false), &json!(1))
    );
    assert_eq!(report["warnings"], json!(["careful"]));
    assert!(!fs::read_to_string(&path).unwrap().contains(&token()));
}

#[test]
fn lists_do_not_grow_without_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    let report = Report::new("r", "a", "t", "w");
    let mut file = ReportFile::create(&path, report, &Checks::default(), Arc::new(SystemClock)).unwrap();
    for _ in 0..1200 {
        file.observe(&access(AccessKind::Network, "x:1", false)).unwrap();
    }
    assert_eq!(
        (file.report().decisions.len(), file.report().left_out, file.report().denied),
        (1000, 200, 1200)
    );
}

#[test]
fn events_are_lines_without_secrets_and_without_what_the_model_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.jsonl");
    let mut log = EventLog::create(&path, &Checks::default(), Arc::new(SystemClock)).unwrap();
    for event in events() {
        log.write(&event).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), events().len() - 1);
    assert!(lines.iter().all(|line| line["at"].is_string() && line["type"].is_string()));
    assert!(!text.contains(&token()) && !text.contains("the model speaks"));
    assert!(EventLog::create(&path, &Checks::default(), Arc::new(SystemClock)).is_err());
}

#[test]
fn metrics_are_one_object_with_the_model_last() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("metrics.json");
    let token_usage = TokenUsage { input: 1, output: 2, reasoning: 3, cache_creation: 4, cache_read: 5 };
    let metrics = Metrics {
        num_turns: 6,
        total_cost_usd: 0.5,
        token_usage,
        tool_calls: 7,
        model: Some("m".to_owned()),
    };
    write_metrics(&path, &metrics, 2).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let keys: Vec<String> = read(&path).as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["num_turns", "total_cost_usd", "token_usage", "tool_calls", "iterations", "model"]);
    assert!(text.ends_with("}\n") && text.contains("\n  \"iterations\": 2"), "{text}");
}
