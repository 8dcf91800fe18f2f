//! Which calls may be made: decided from what the model has seen, whatever it says.

use fullsend_agent::gate::{FlowMode, PromptRole, Verdict};
use fullsend_agent::store::Row;
use serde_json::{Value, json};

use crate::support::stage::{Answer, SECRET, Stage};

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

fn fetch() -> (&'static str, Value) {
    ("web_fetch", json!({"url": "https://example.com/page"}))
}

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": "new"}))
}

/// What becomes of the last call of a script, and by which words of the record.
fn last_of(stage: &Stage) -> (Verdict, Vec<String>) {
    let ran = stage.run();
    let decision = ran.decisions().pop().unwrap();
    let was_made =
        stage.made().len() == ran.decisions().iter().filter(|one| one.decision != Verdict::Denied).count();
    assert!(was_made, "what is denied must not reach a tool, and what is allowed must");
    (
        decision.decision,
        decision.reason_codes.iter().filter(|code| code.starts_with("flow")).cloned().collect(),
    )
}

#[test]
fn what_was_read_decides_about_what_may_follow() {
    use Verdict::{Allowed, Denied};
    let both = &["flow_control_trust", "flow_argument_trust"][..];
    let argument = &["flow_argument_trust"][..];
    let cases: Vec<(&str, Vec<Answer>, Verdict, &[&str])> = vec![
        ("the operator's word", vec![vec![bash("make")]], Allowed, &[]),
        ("after a file", vec![vec![read("a.md")], vec![bash("make")]], Allowed, &[]),
        ("after a page", vec![vec![fetch()], vec![bash("make")]], Denied, both),
        (
            "after a page and a file",
            vec![vec![fetch()], vec![read("a.md")], vec![bash("make")]],
            Denied,
            both,
        ),
        ("beside a page", vec![vec![fetch(), bash("make")]], Allowed, &[]),
        ("a page after a page", vec![vec![fetch()], vec![fetch()]], Denied, both),
        ("a page after a file", vec![vec![read("a.md")], vec![fetch()]], Denied, both),
        ("looking after a page", vec![vec![fetch()], vec![read("a.md")]], Allowed, &[]),
        ("writing after a page", vec![vec![fetch()], vec![write("docs/new.md")]], Allowed, &[]),
        ("what is run after a page", vec![vec![fetch()], vec![write(".github/ci.yml")]], Denied, argument),
        (
            "the same by another spelling",
            vec![vec![fetch()], vec![write("docs/../.github/x.yml")]],
            Denied,
            argument,
        ),
        ("a link to what is run", vec![vec![fetch()], vec![write("docs/notes.md")]], Denied, argument),
        ("outside of the workspace", vec![vec![fetch()], vec![write("/etc/passwd")]], Denied, argument),
        ("what is run, by the operator's word", vec![vec![write(".github/ci.yml")]], Allowed, &[]),
    ];
    for (name, script, verdict, codes) in cases {
        let found = last_of(&Stage::new(script));
        assert_eq!(found, (verdict, codes.iter().map(|code| (*code).to_owned()).collect()), "{name}");
    }
}

#[test]
fn a_page_is_sent_for_only_by_command() {
    // It only looks, and still tells somebody else what it asks for.
    let stage = Stage { role: PromptRole::Context, ..Stage::new(vec![vec![fetch()]]) };
    assert_eq!(last_of(&stage).0, Verdict::Denied);
    assert_eq!(stage.made(), Vec::<String>::new());
}

#[test]
fn modes_differ_in_what_follows_and_not_in_what_is_found() {
    let script = vec![vec![fetch()], vec![bash("make")]];
    let stage = Stage { mode: FlowMode::Observe, ..Stage::new(script.clone()) };
    let ran = stage.run();
    assert_eq!(stage.made(), ["web_fetch", "bash"]);
    let decision = ran.decisions().pop().unwrap();
    assert_eq!(decision.decision, Verdict::Warned);
    let flow = decision.flow.unwrap();
    assert_eq!(flow.violations.len(), 2);
    assert_eq!(ran.recorded().labels.get(flow.context).unwrap(), &flow.violations[0].label);
    assert_eq!(ran.events().len(), 1);

    let stage = Stage { mode: FlowMode::Disabled, ..Stage::new(script) };
    let ran = stage.run();
    assert_eq!(stage.made(), ["web_fetch", "bash"]);
    assert!(ran.decisions().iter().all(|one| one.decision == Verdict::Allowed && one.flow.is_none()));
    assert_eq!(ran.events(), []);

    let stage =
        Stage { mode: FlowMode::EnforceStrict, ..Stage::new(vec![vec![read("a.md")], vec![bash("make")]]) };
    assert_eq!(last_of(&stage).0, Verdict::Denied, "files do not run commands where looking is checked too");
}

#[test]
fn a_denial_says_what_to_do_and_nothing_else() {
    let script = vec![vec![fetch()], vec![("bash", json!({"command": format!("echo {SECRET}")}))]];
    let ran = Stage::new(script).run();
    let told = ran.results().pop().unwrap();
    assert_eq!(told["type"], "fullsend.observation-denied");
    assert_eq!(told["reason"], "not-authorized");
    let detail = told["detail"].as_str().unwrap();
    assert!(detail.contains("`command`") && detail.contains("nobody vouches for"), "{detail}");
    assert!(told["instead"].as_str().unwrap().contains("tell the operator"), "{told}");
    assert!(!told.to_string().contains(SECRET));
    // The conversation repeats what the model wrote; no other row does.
    let said = |row: &&Row| !matches!(row, Row::Message { .. });
    for row in ran.rows.iter().filter(said) {
        assert!(!serde_json::to_string(row).unwrap().contains(SECRET), "{row:?}");
    }
    assert!(ran.recorded().dangling.is_empty());
}

#[test]
fn a_denied_call_is_in_the_report_in_the_order_of_its_story() {
    let stage = Stage { role: PromptRole::Context, ..Stage::new(vec![vec![bash("make")]]) };
    let ran = stage.run();
    let report = std::fs::read_to_string(ran.finished.store.run_dir().join("run-report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let kinds: Vec<&str> =
        report["timeline"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    let expected = [
        "run_started",
        "transcript_message",
        "transcript_message",
        "transcript_message",
        "tool_activity",
        "policy_event",
        "failure_record",
        "transcript_message",
        "transcript_message",
        "run_finished",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(report["primaryFailure"]["kind"], "tool_not_allowed");
    assert_eq!(report["toolActivity"][0]["policyEventIndexes"], json!([0]));
    assert_eq!(report["toolActivity"][0]["policyDecision"], "denied");
}

#[test]
fn an_exception_is_used_up() {
    let policy = json!({"grants": [{
        "id": "build", "tool": "bash", "argument": "command", "value": "make *",
        "trust": "commanded", "from": "none", "uses": 1,
    }]});
    let script = vec![vec![fetch()], vec![bash("rm x"), bash("make all"), bash("make all")]];
    let stage = Stage::new(script).policy(policy);
    let ran = stage.run();
    let verdicts: Vec<Verdict> = ran.decisions().iter().skip(1).map(|one| one.decision).collect();
    assert_eq!(verdicts, [Verdict::Denied, Verdict::Allowed, Verdict::Denied]);
    let used = ran.decisions().remove(2).flow.unwrap().grants;
    assert_eq!(used, ["build"]);
    assert_eq!(serde_json::to_value(ran.finished.flow.ledger()).unwrap(), json!({"build": 1}));
}

#[test]
fn commands_with_a_network_show_what_they_can_read() {
    let policy =
        json!({"sources": [{"paths": ["**"], "readers": ["team"]}], "clearance": {"readers": ["team"]}});
    let stage = Stage { network: true, ..Stage::new(vec![vec![bash("make")]]) }.policy(policy.clone());
    let (verdict, codes) = last_of(&stage);
    assert_eq!((verdict, codes), (Verdict::Denied, vec!["flow_inputs_readers".to_owned()]));
    let stage = Stage::new(vec![vec![bash("make")]]).policy(policy);
    assert_eq!(last_of(&stage).0, Verdict::Allowed);
}
