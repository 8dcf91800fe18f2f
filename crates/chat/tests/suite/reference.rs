//! The generated schema: it is whole, it takes what is said, and it refuses what must not be said.

use std::collections::BTreeMap;

use fullsend_chat::protocol::{CancelTurn, ChatError, ChatEvent, ErrorCode, Method, Request};
use fullsend_chat::reference::{WORKED_SESSION, json_schema, markdown};
use jsonschema::Validator;
use serde_json::{Value, json};

fn line() -> Validator {
    jsonschema::validator_for(&json_schema()).unwrap()
}

/// What comes of a method.
fn result_of(method: &str) -> Validator {
    let schema = json_schema();
    let mut result = schema["x-methods"][method]["result"].clone();
    assert!(result.is_object(), "{method}");
    result["definitions"] = schema["definitions"].clone();
    // Beside `$ref` nothing else counts in this draft.
    let reference = result.as_object_mut().unwrap().remove("$ref").unwrap();
    result["allOf"] = json!([{ "$ref": reference }]);
    result["$schema"] = schema["$schema"].clone();
    jsonschema::validator_for(&result).unwrap()
}

#[test]
fn every_method_has_its_params_and_its_result() {
    let schema = json_schema();
    let requests = schema["definitions"]["Request"]["oneOf"].as_array().unwrap();
    let of_types: BTreeMap<&str, &Value> = requests
        .iter()
        .map(|request| &request["properties"])
        .map(|keys| (keys["method"]["const"].as_str().unwrap(), &keys["params"]))
        .collect();
    let listed: BTreeMap<&str, &Value> = schema["x-methods"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, method)| (name.as_str(), &method["params"]))
        .collect();
    assert_eq!(of_types, listed);
    assert_eq!(listed.len(), 9);
    listed.keys().for_each(|method| drop(result_of(method)));
}

#[test]
fn every_key_event_and_code_is_described_and_stands_on_the_page() {
    let (schema, page) = (json_schema(), markdown());
    for (name, definition) in schema["definitions"].as_object().unwrap() {
        for (key, form) in definition["properties"].as_object().into_iter().flatten() {
            assert!(form["description"].is_string(), "{name}.{key}");
            assert!(page.contains(&format!("| `{key}`")), "{name}.{key}");
        }
        for variant in definition["oneOf"].as_array().into_iter().flatten() {
            for name in ["kind", "method"] {
                if let Some(kind) = variant["properties"][name]["const"].as_str() {
                    assert!(variant["description"].is_string(), "{kind}");
                    assert!(page.contains(&format!("| `{kind}` |")), "{kind}");
                }
            }
        }
    }
    for code in schema["definitions"]["ErrorCode"]["oneOf"].as_array().unwrap() {
        assert!(page.contains(&format!("| `{}` |", code["const"].as_str().unwrap())), "{code}");
    }
    assert!(!page.contains("](#)") && !page.contains("| anything |"));
}

fn envelope(event: Value) -> Value {
    json!({"type": "fullsend.chat.event", "protocolVersion": 1, "emittedAt": "2026-01-01T00:00:00.000Z",
        "sessionId": "s", "sequence": 1, "event": event})
}

fn response(more: Value) -> Value {
    let mut response = json!({"type": "fullsend.chat.response", "protocolVersion": 1, "requestId": "1"});
    response.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    response
}

#[test]
fn what_the_types_write_is_taken() {
    let cancel = CancelTurn { session_id: "s".into(), turn_id: None, reason: None };
    let request = Request {
        tag: "fullsend.chat.request".into(),
        protocol_version: 1,
        request_id: "1".into(),
        method: Method::CancelTurn(cancel),
    };
    let error = ChatError::new(ErrorCode::PolicyDenied, "no").retryable().with("tool", "bash");
    let failed = ChatEvent::TurnFailed { turn_id: "t".into(), error: error.clone() };
    let fatal = ChatEvent::Error { error: error.clone(), fatal: true };
    let said = [
        serde_json::to_value(request).unwrap(),
        envelope(serde_json::to_value(failed).unwrap()),
        envelope(serde_json::to_value(fatal).unwrap()),
        envelope(json!({"kind": "assistant_restarted"})),
        response(json!({"ok": false, "error": error})),
        response(json!({"ok": false, "error": error, "requestId": null})),
        response(json!({"ok": true, "result": {"sessions": []}})),
    ];
    let line = line();
    for said in said {
        line.validate(&said).unwrap_or_else(|problem| panic!("{said}: {problem}"));
    }
}

#[test]
fn what_must_not_be_said_is_refused() {
    let wrong = [
        json!({}),
        json!({"type": "fullsend.chat.request", "protocolVersion": 1, "requestId": "1", "method": "dance", "params": {}}),
        json!({"type": "fullsend.chat.request", "protocolVersion": 2, "requestId": "1", "method": "status", "params": {}}),
        json!({"type": "fullsend.chat.request", "protocolVersion": 1, "method": "status", "params": {}}),
        json!({"type": "fullsend.chat.request", "protocolVersion": 1, "requestId": "1", "method": "start_turn", "params": {}}),
        json!({"type": "fullsend.chat.request", "protocolVersion": 1, "requestId": "1", "method": "list_turns",
            "params": {"status": "lost"}}),
        json!({"type": "fullsend.chat.request", "protocolVersion": 1, "requestId": "1", "method": "list_events",
            "params": {"afterSequence": -1}}),
        envelope(json!({"kind": "assistant_delta"})),
        envelope(json!({"kind": "gossip", "text": "x"})),
        envelope(
            json!({"kind": "turn_failed", "turnId": "t", "error": {"code": "bad_luck", "message": "x"}}),
        ),
        envelope(json!({"kind": "turn_completed", "turnId": "t", "finalText": "x", "usage": null})),
        response(json!({"ok": true})),
        response(json!({"ok": false})),
        response(json!({"ok": true, "result": {"sessions": 1}})),
        response(
            json!({"ok": true, "result": {"sessions": []}, "error": {"code": "policy_denied", "message": "x"}}),
        ),
        response(json!({"ok": false, "result": {"sessions": []}})),
    ];
    let line = line();
    for wrong in wrong {
        assert!(!line.is_valid(&wrong), "{wrong}");
    }
}

/// The example of the page is held against the schema here, and against the binary by the binary's own tests.
#[test]
fn every_line_of_the_worked_session_is_one_of_the_protocol() {
    let line = line();
    let mut asked = BTreeMap::new();
    let mut kinds = Vec::new();
    for said in WORKED_SESSION.lines() {
        let (who, text) = said.split_at(2);
        let value: Value = serde_json::from_str(text).unwrap_or_else(|problem| panic!("{problem}: {said}"));
        line.validate(&value).unwrap_or_else(|problem| panic!("{problem}: {said}"));
        let id = value["requestId"].as_str().map(str::to_owned);
        match (who, id) {
            ("> ", Some(id)) => {
                assert!(asked.insert(id, value["method"].as_str().unwrap().to_owned()).is_none(), "{said}");
            }
            ("< ", Some(id)) => {
                let method = asked.remove(&id).unwrap_or_else(|| panic!("nobody asked: {said}"));
                kinds.push(method.clone());
                if value["ok"] == true {
                    result_of(&method)
                        .validate(&value["result"])
                        .unwrap_or_else(|problem| panic!("{problem}: {said}"));
                }
            }
            ("< ", None) => kinds.push(value["event"]["kind"].as_str().unwrap().to_owned()),
            _ => panic!("{said}"),
        }
    }
    assert!(asked.is_empty(), "not answered: {asked:?}");
    let shown = [
        "hello",
        "start_session",
        "start_turn",
        "cancel_turn",
        "resolve_approval",
        "list_events",
        "list_turns",
        "status",
        "close_session",
        "session_started",
        "turn_started",
        "assistant_delta",
        "assistant_completed",
        "tool_started",
        "tool_completed",
        "file_changed",
        "approval_requested",
        "approval_resolved",
        "turn_completed",
        "turn_canceled",
        "status_changed",
        "session_closed",
    ];
    for kind in shown {
        assert!(kinds.iter().any(|shown| shown == kind), "the session shows no {kind}");
    }
}
