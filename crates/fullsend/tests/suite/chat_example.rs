//! The worked session of the protocol's page is what the binary really says.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::suite::agent_place::AgentPlace;
use crate::suite::chat_process::Chat;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../chat/src/reference/worked_session.txt");
/// Set, the file is written anew instead.
const WRITE: &str = "FULLSEND_WRITE_EXAMPLES";

#[test]
fn the_worked_session_is_what_is_really_said() {
    let place = AgentPlace::new(&script());
    let said = in_order(&conversation(&place));
    let mut steady = Steady { workspace: place.workspace().display().to_string(), ids: BTreeMap::new() };
    let text: String = said.iter().map(|(who, line)| format!("{who} {}\n", steady.line(line))).collect();
    if std::env::var_os(WRITE).is_some() {
        fs::write(PAGE, &text).unwrap();
    }
    let expected = fs::read_to_string(PAGE).unwrap();
    for (found, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "set {WRITE}=1 to write the example anew, then run `cargo xtask docs`");
    }
    assert_eq!(text.lines().count(), expected.lines().count(), "set {WRITE}=1 to write the example anew");
}

fn script() -> Value {
    let usage = json!({"input_tokens": 1200, "output_tokens": 40});
    let count = json!({"tool": "bash", "args": {"command": "wc -l < notes.txt"}});
    json!({"turns": [
        {"say": "I write it down.", "stream": 9, "usage": usage,
            "calls": [{"tool": "write_file", "args": {"path": "notes.txt", "content": "Buy milk.\n"}}]},
        {"say": "It is in notes.txt.", "stream": 9, "usage": usage},
        {"calls": [count], "usage": usage},
        {"say": "One line.", "usage": usage},
        {"calls": [count], "usage": usage},
    ]})
}

/// Everything that a client does, in a session of three turns.
fn conversation(place: &AgentPlace) -> Vec<String> {
    let mut chat = Chat::start(place, &["--cfc-enforcement-mode", "enforce-explicit"]);
    chat.result("hello", &json!({"protocolVersions": [1], "client": "example"}));
    let policy = json!({"type": "fullsend.chat-policy", "toolMode": "workspace-write",
        "allowedToolIds": ["bash", "write_file"], "allowedSubagentProfiles": [], "approvalToolIds": ["bash"]});
    let start = json!({"sessionId": "s1", "workspace": {"hostPath": place.workspace()}, "policy": policy});
    chat.result("start_session", &start);
    say(&mut chat, "t1", "Note that I must buy milk.");
    chat.until(&["turn_completed", "turn_failed"]).unwrap();
    say(&mut chat, "t2", "How many notes do I have?");
    let question = asked(&mut chat);
    chat.result("resolve_approval", &json!({"sessionId": "s1", "approvalId": question, "decision": "allow"}));
    chat.until(&["turn_completed", "turn_failed"]).unwrap();
    let seen = chat.events.last().unwrap().sequence;
    say(&mut chat, "t3", "And now?");
    asked(&mut chat);
    chat.result("cancel_turn", &json!({"sessionId": "s1", "turnId": "t3", "reason": "never mind"}));
    chat.until(&["status_changed"]).unwrap();
    chat.result("list_events", &json!({"sessionId": "s1", "afterSequence": seen, "limit": 2}));
    chat.result("list_turns", &json!({"sessionId": "s1", "status": "canceled"}));
    let refused = chat.ask("start_turn", &json!({"sessionId": "s2", "input": {"text": "Hello?"}}));
    assert_eq!(refused.unwrap_err()["code"], "session_not_found");
    chat.result("status", &json!({"sessionId": "s1"}));
    chat.result("close_session", &json!({"sessionId": "s1", "reason": "done"}));
    assert!(chat.end().success());
    chat.said.clone()
}

fn say(chat: &mut Chat, turn: &str, text: &str) {
    chat.result("start_turn", &json!({"sessionId": "s1", "turnId": turn, "input": {"text": text}}));
}

fn asked(chat: &mut Chat) -> Value {
    let event = chat.until(&["approval_requested", "turn_failed"]).unwrap();
    event["event"]["approval"]["approvalId"].clone()
}

/// Lines with who said them. Where an answer may stand before or after other events, it stands right after the one that it
/// must stand after.
fn in_order(said: &[String]) -> Vec<(String, Value)> {
    let mut ordered: Vec<(String, Value)> = Vec::new();
    for line in said {
        let (who, text) = line.split_once(' ').unwrap();
        let value: Value = serde_json::from_str(text).unwrap();
        let asked = |(_, before): &(String, Value)| before["requestId"] == value["requestId"];
        let place =
            match ordered.iter().position(asked).filter(|_| who == "<" && value["requestId"].is_string()) {
                Some(request) => {
                    let caused = match ordered[request].1["method"].as_str().unwrap() {
                        "start_turn" => "turn_started",
                        "resolve_approval" => "approval_resolved",
                        "cancel_turn" => "turn_canceled",
                        _ => "",
                    };
                    let is_cause = |(_, later): &(String, Value)| later["event"]["kind"] == caused;
                    let cause = ordered[request..].iter().position(is_cause);
                    cause.map_or(ordered.len(), |cause| request + cause + 1)
                }
                None => ordered.len(),
            };
        ordered.insert(place, (who.to_owned(), value));
    }
    ordered
}

/// Replaces what is different each time.
struct Steady {
    workspace: String,
    ids: BTreeMap<String, String>,
}

impl Steady {
    fn line(&mut self, value: &Value) -> Value {
        let mut value = value.clone();
        self.replace(&mut value);
        value
    }

    fn replace(&mut self, value: &mut Value) {
        match value {
            Value::Object(keys) => {
                for (key, value) in keys {
                    match (key.as_str(), &*value) {
                        (key, Value::String(_)) if key.ends_with("At") => {
                            *value = json!("2026-01-02T03:04:05.678Z")
                        }
                        ("serviceVersion", _) => *value = json!("1.0.0"),
                        ("harnessRunId" | "approvalId", Value::String(id)) => *value = self.id(id),
                        _ => self.replace(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            Value::String(text) => *text = text.replace(&self.workspace, "/home/me/project"),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn id(&mut self, id: &str) -> Value {
        let next = format!("00000000-0000-4000-8000-{:012}", self.ids.len() + 1);
        json!(self.ids.entry(id.to_owned()).or_insert(next))
    }
}
