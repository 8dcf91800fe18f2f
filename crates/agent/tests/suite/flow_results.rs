//! What the model gets to see: results, or handles in their place, and what can be done with those.

use fullsend_agent::gate::{FlowMode, Verdict};
use fullsend_agent::store::{EventSeverity, KeptMessage, Row};
use fullsend_flow::Label;
use serde_json::{Value, json};

use crate::support::stage::{Ran, SECRET, Stage};

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": path}))
}

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

/// Nothing that enters the conversation or the records but the result itself holds the secret.
fn expect_kept(ran: &Ran) {
    assert!(!ran.records().contains(SECRET));
}

#[test]
fn what_may_not_be_seen_becomes_a_handle() {
    let stage = Stage::new(vec![vec![read(".env")], vec![bash("make")]]);
    let ran = stage.run();
    let told = ran.results().remove(0);
    assert_eq!(told["outputId"], "run-1:read_file:1");
    let expected = json!({
        "type": "fullsend.opaque-handle", "handleId": "run-1:read_file:1", "scope": "run",
        "shape": {"type": "string"}, "size": "small",
    });
    assert_eq!(told["handle"], expected);
    expect_kept(&ran);
    let kept = std::fs::read_to_string(
        ran.finished.store.run_dir().join("tool-outputs/run-1_read_file_1-read_file.json"),
    );
    assert!(kept.unwrap().contains(SECRET), "the whole result is kept for the operator");
    // The model learned nothing, so nothing that follows is judged by it.
    assert_eq!(stage.made(), ["read_file", "bash"]);
    assert!(ran.finished.flow.context().confidentiality.is_public());
    let events = ran.events();
    assert_eq!(events.len(), 1);
    assert_eq!(
        (events[0].severity, events[0].observation_denied.as_ref()),
        (EventSeverity::Denied, Some(&told))
    );
}

#[test]
fn a_hidden_failure_looks_like_a_hidden_result() {
    let neutral = |path: &str| {
        let ran = Stage::new(vec![vec![read(path)]]).run();
        ran.results().remove(0)
    };
    assert_eq!(neutral(".env"), neutral("missing/.env"));
}

#[test]
fn a_hidden_picture_is_not_shown() {
    let pictures = |path: &str| {
        let ran = Stage::new(vec![vec![("view_image", json!({"path": path}))]]).run();
        let is_picture = |row: &&Row| {
            let Row::Message { message: KeptMessage::User { image_attachments, .. }, .. } = row else {
                return false;
            };
            !image_attachments.is_empty()
        };
        ran.rows.iter().filter(is_picture).count()
    };
    assert_eq!(pictures("a.png"), 1);
    assert_eq!(pictures(".env"), 0);
}

#[test]
fn observing_shows_and_says_so() {
    let stage = Stage { mode: FlowMode::Observe, ..Stage::new(vec![vec![read(".env")]]) };
    let ran = stage.run();
    assert_eq!(ran.results()[0]["content"], SECRET);
    assert_eq!(ran.events()[0].severity, EventSeverity::Warning);
    assert!(!ran.finished.flow.context().confidentiality.is_public());

    let stage = Stage { mode: FlowMode::Disabled, ..Stage::new(vec![vec![read(".env")]]) };
    let ran = stage.run();
    assert_eq!(ran.results()[0]["content"], SECRET);
    assert_eq!(ran.events(), []);
}

#[test]
fn pages_are_shown_unless_the_policy_wants_trust() {
    let script = vec![vec![("web_fetch", json!({"url": "https://example.com/"}))], vec![bash("make")]];
    let ran = Stage::new(script.clone()).run();
    assert_eq!(ran.results()[0]["text"], "page");
    assert_eq!(ran.finished.flow.context(), &Label::untrusted());

    let stage = Stage::new(script).policy(json!({"clearance": {"trust": "workspace"}}));
    let ran = stage.run();
    assert_eq!(ran.results()[0]["handle"]["handleId"], "run-1:web_fetch:1");
    assert_eq!(stage.made(), ["web_fetch", "bash"], "what was not seen does not stand in the way");
}

#[test]
fn a_handle_stands_for_its_text_where_that_may_go() {
    let content = json!({"lines": ["$HANDLE", "plain", "run-1:read_file:99"]});
    let script = |path: &str| {
        vec![vec![read(".env")], vec![("write_file", json!({"path": path, "content": content.clone()}))]]
    };
    let policy = json!({"sinks": [{"paths": ["vault/**"], "readers": ["credential"]}]});
    let stage = Stage::new(script("vault/key")).policy(policy.clone());
    let ran = stage.run();
    let made = stage.made.lock().unwrap();
    assert_eq!(made[1].1["content"], json!({"lines": [SECRET, "plain", "run-1:read_file:99"]}));
    drop(made);
    expect_kept(&ran);
    let flow = ran.decisions().pop().unwrap().flow.unwrap();
    assert_eq!(serde_json::to_value(&flow.handles).unwrap(), json!({"content": ["run-1:read_file:1"]}));
    // What came of it may tell something of the value.
    assert!(ran.results()[1]["handle"].is_object());

    let stage = Stage::new(script("docs/new.md")).policy(policy);
    let ran = stage.run();
    assert_eq!(stage.made(), ["read_file"]);
    let decision = ran.decisions().pop().unwrap();
    assert_eq!(decision.decision, Verdict::Denied);
    assert!(decision.reason_codes.contains(&"flow_argument_readers".to_owned()));
    let told = ran.results().pop().unwrap();
    assert!(told["instead"].as_str().unwrap().contains("without the handle"), "{told}");
}

#[test]
fn what_a_tool_says_for_the_record_has_the_handle_and_not_its_text() {
    let stage = Stage::new(vec![vec![read(".env")], vec![bash("$HANDLE")]]);
    let ran = stage.run();
    assert_eq!(stage.made.lock().unwrap()[1].1["command"], SECRET);
    expect_kept(&ran);
    assert!(ran.records().contains(r#""argv":["sh",{"command":"run-1:read_file:1"}]"#));
    assert!(ran.results()[1]["handle"].is_object(), "what a command prints may be what it was given");
}

#[test]
fn a_handle_that_names_where_something_goes_counts_as_the_strictest_place() {
    let policy = json!({"clearance": {"trust": "workspace"}});
    let script = vec![
        vec![("web_fetch", json!({"url": "https://example.com/"}))],
        vec![("write_file", json!({"path": "$HANDLE", "content": "x"}))],
        vec![("web_fetch", json!({"url": "$HANDLE"}))],
    ];
    let stage = Stage::new(script).policy(policy);
    let ran = stage.run();
    let verdicts: Vec<Verdict> = ran.decisions().iter().map(|one| one.decision).collect();
    assert_eq!(verdicts, [Verdict::Allowed, Verdict::Denied, Verdict::Denied]);
}

#[test]
fn whether_a_hidden_value_fits_is_hidden_too() {
    // The first is one of the values that the schema allows, the second is not.
    let answer = |path: &str| {
        let script = vec![vec![read(path)], vec![("read_file", json!({"path": "a.md", "kind": "$HANDLE"}))]];
        let stage = Stage::new(script);
        (stage.run().results().remove(1), stage.made().len())
    };
    let (fits, made) = answer(".env");
    let (does_not, not_made) = answer("missing/.env");
    assert_eq!((made, not_made), (2, 1));
    assert_eq!(fits, does_not);
}

#[test]
fn looking_needs_leave_raises_the_conversation_and_is_counted() {
    let inspect = || ("inspect", json!({"handle": "$HANDLE"}));
    let script = vec![
        vec![read(".env")],
        vec![("inspect", json!({"handle": "no-such"})), inspect()],
        vec![inspect()],
        vec![("web_fetch", json!({"url": "https://example.com/"}))],
        vec![bash("make")],
        vec![read(".env")],
        vec![read("a.md")],
    ];
    let policy = json!({"inspect": {"readers": ["credential"], "max_bytes": 9}});
    let stage = Stage::new(script.clone()).policy(policy);
    let ran = stage.run();
    let results = ran.results();
    assert_eq!(results[1]["type"], "fullsend.observation-denied");
    assert_eq!((&results[2]["text"], &results[2]["truncated"]), (&json!("swordfish"), &json!(true)));
    assert_eq!(results[3]["type"], "fullsend.observation-denied", "the bytes are used up");
    assert_eq!(ran.finished.flow.inspected(), 9);
    assert!(!ran.finished.flow.context().confidentiality.is_public());
    assert_eq!(results[4]["type"], "fullsend.observation-denied", "what was seen must not be sent");
    assert_eq!(results[5]["stdout"], "done\n", "a command without a network may still be run, and be seen");
    assert!(results[6]["handle"].is_object(), "one secret does not open the next");
    assert_eq!(results[7]["content"], "text");

    // Where the policy lets nothing be looked at, there is no such tool.
    let ran = Stage::new(script).run();
    assert_eq!(ran.results()[1]["reason"], "unknown-tool");
    expect_kept(&ran);
}
