//! Requests that are wrong are answered with what is wrong and where.

use serde_json::{Value, json};

use super::scripted::{Talk, request};

#[tokio::test]
async fn lines_that_are_no_request_are_answered_without_an_id() {
    let talk = Talk::new();
    for line in ["not json", "{", "[]", "\"text\"", "{\"requestId\":7}", "{}"] {
        let answer = talk.line(line).await;
        assert_eq!(answer["requestId"], Value::Null, "{line}");
        assert!(answer.as_object().unwrap().contains_key("requestId"), "{line}");
        assert_eq!(answer["error"]["code"], "invalid_request", "{line}");
    }
    let message = talk.line("not json").await["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("failed to parse chat request JSON: "), "{message}");
    let deep = "[".repeat(100_000);
    assert_eq!(talk.line(&deep).await["error"]["code"], "invalid_request");
}

#[tokio::test]
async fn an_error_names_its_place_under_the_id_of_the_request() {
    let talk = Talk::new();
    talk.start("s1").await;
    let workspace = json!({"hostPath": "/w"});
    let policy = |change: Value| {
        let mut policy = json!({"type": "fullsend.chat-policy", "toolMode": "workspace-write", "allowedToolIds": ["bash"],
            "allowedSubagentProfiles": []});
        policy.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"workspace": {"hostPath": "/w"}, "policy": policy})
    };
    let lease = |change: Value| {
        let mut lease = json!({"type": "fullsend.chat.browser-access-lease", "leaseId": "l", "cdpUrl": "http://127.0.0.1:1"});
        lease.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"workspace": {"hostPath": "/w"}, "browserAccess": lease})
    };
    let table = [
        ("start_session", json!({}), "params"),
        ("start_session", json!({"workspace": 3}), "params.workspace"),
        ("start_session", json!({"workspace": {"cwd": "/x"}}), "params.workspace"),
        ("start_session", json!({"workspace": {"hostPath": 3}}), "params.workspace.hostPath"),
        ("start_session", json!({"workspace": {"hostPath": "w"}}), "params.workspace.hostPath"),
        (
            "start_session",
            json!({"workspace": {"hostPath": "/w", "sandboxPath": "/x"}}),
            "params.workspace.sandboxPath",
        ),
        ("start_session", json!({"workspace": workspace, "sessionId": " "}), "params.sessionId"),
        ("start_session", json!({"workspace": workspace, "metadata": []}), "params.metadata"),
        ("start_session", json!({"workspace": workspace, "capabilities": 1}), "params.capabilities"),
        ("start_session", policy(json!({"type": "other"})), "params.policy.type"),
        ("start_session", policy(json!({"toolMode": "any"})), "params.policy.toolMode"),
        ("start_session", policy(json!({"allowedToolIds": ["hammer"]})), "params.policy.allowedToolIds"),
        ("start_session", policy(json!({"allowedToolIds": ["bash", 3]})), "params.policy.allowedToolIds[1]"),
        (
            "start_session",
            policy(json!({"allowedSubagentProfiles": ["x"]})),
            "params.policy.allowedSubagentProfiles",
        ),
        ("start_session", policy(json!({"cfcEnforcementMode": "x"})), "params.policy.cfcEnforcementMode"),
        ("start_session", policy(json!({"promptSlot": {}})), "params.policy.promptSlot"),
        ("start_session", lease(json!({"leaseId": " "})), "params.browserAccess.leaseId"),
        ("start_session", lease(json!({"cdpUrl": ""})), "params.browserAccess.cdpUrl"),
        ("start_session", lease(json!({"profileMode": "x"})), "params.browserAccess.profileMode"),
        ("start_session", lease(json!({"accountAccess": "x"})), "params.browserAccess.accountAccess"),
        ("start_turn", json!({"sessionId": "s1"}), "params"),
        ("start_turn", json!({"sessionId": "s1", "input": {"text": "  "}}), "params.input.text"),
        (
            "start_turn",
            json!({"sessionId": "s1", "input": {"text": "x", "imageAttachments": 1}}),
            "params.input.imageAttachments",
        ),
        ("cancel_turn", json!({}), "params"),
        (
            "resolve_approval",
            json!({"sessionId": "s1", "approvalId": "a", "decision": "perhaps"}),
            "params.decision",
        ),
        ("list_events", json!({"afterSequence": -1}), "params.afterSequence"),
        ("list_turns", json!({"status": "odd"}), "params.status"),
        ("list_turns", json!([]), "params"),
        ("dance", json!({}), "method"),
    ];
    for (method, params, path) in table {
        let error = talk.refused(method, params.clone()).await;
        assert_eq!(error["code"], "invalid_request", "{method} {params}");
        assert_eq!(error["details"]["path"], path, "{method} {params} {error}");
    }
    assert_eq!(talk.kinds().await.len(), 1);
}

#[tokio::test]
async fn what_is_kept_of_a_request_can_be_read_by_everybody() {
    let talk = Talk::new();
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "in": inner }));
    let session = |id: &str, levels| json!({"sessionId": id, "workspace": {"hostPath": "/w"}, "metadata": nested(levels)});
    // `params` is around it, and its innermost object is one as well.
    let error = talk.refused("start_session", session("s1", 99)).await;
    assert_eq!((&error["code"], &error["details"]["path"]), (&json!("invalid_request"), &json!("params")));
    talk.done("start_session", session("s2", 98)).await;
    // Reading these answers is what would fail.
    assert_eq!(talk.events().await.len(), 1);
    assert_eq!(talk.done("status", json!({})).await["sessions"][0]["metadata"], nested(98));
}

#[tokio::test]
async fn the_envelope_is_looked_at_as_well() {
    let talk = Talk::new();
    let table = [
        (
            json!({"type": "other", "protocolVersion": 1, "requestId": "q", "method": "status"}),
            "invalid_request",
            "type",
        ),
        (json!({"protocolVersion": 1, "requestId": "q", "method": "status"}), "invalid_request", "type"),
        (
            json!({"type": "fullsend.chat.request", "requestId": "q", "method": "status"}),
            "invalid_request",
            "protocolVersion",
        ),
        (
            json!({"type": "fullsend.chat.request", "protocolVersion": 1, "requestId": "q"}),
            "invalid_request",
            "method",
        ),
    ];
    for (line, code, path) in table {
        let answer = talk.line(&line.to_string()).await;
        assert_eq!((&answer["requestId"], &answer["error"]["code"]), (&json!("q"), &json!(code)), "{line}");
        assert_eq!(answer["error"]["details"]["path"], path, "{line}");
    }
    let later =
        json!({"type": "fullsend.chat.request", "protocolVersion": 2, "requestId": "q", "method": "status"});
    let answer = talk.line(&later.to_string()).await;
    assert_eq!(
        (&answer["requestId"], &answer["error"]["code"]),
        (&json!("q"), &json!("unsupported_protocol_version"))
    );
    assert_eq!(answer["error"]["details"]["supported"], json!([1]));
    let older = json!({"type": "cf-harness.chat.request", "protocolVersion": 1, "requestId": "q", "method": "status"});
    assert_eq!(talk.line(&older.to_string()).await["ok"], true);
}

#[tokio::test]
async fn hello_finds_a_version_that_both_speak() {
    let talk = Talk::new();
    let hello = |version: u32, params: Value| {
        json!({"type": "fullsend.chat.request", "protocolVersion": version, "requestId": "q", "method": "hello",
            "params": params})
        .to_string()
    };
    for line in [hello(1, json!({})), hello(7, json!({"protocolVersions": [7, 1]}))] {
        let answer = talk.line(&line).await;
        assert_eq!(answer["result"]["protocolVersion"], 1, "{line}");
        assert_eq!(answer["result"]["supportedVersions"], json!([1]), "{line}");
        assert_eq!(answer["result"]["capabilities"]["partialTextStream"], true, "{line}");
    }
    for line in [hello(7, json!({})), hello(1, json!({"protocolVersions": [7]}))] {
        let error = talk.line(&line).await["error"].clone();
        assert_eq!(error["code"], "unsupported_protocol_version", "{line}");
        assert_eq!(error["details"]["supported"], json!([1]), "{line}");
    }
}

#[tokio::test]
async fn keys_that_nobody_knows_are_passed_over() {
    let talk = Talk::new();
    let line =
        request("start_session", &json!({"workspace": {"hostPath": "/w", "colour": "red"}, "later": true}));
    assert_eq!(talk.line(&line).await["ok"], true);
}

#[tokio::test]
async fn capabilities_say_what_is_and_not_what_is_wished() {
    let talk = Talk::new();
    let ask = json!({"workspace": {"hostPath": "/w"}, "capabilities": {"partialTextStream": false, "flying": true}});
    let session = talk.done("start_session", ask).await;
    assert_eq!(session["capabilities"]["partialTextStream"], true);
    assert_eq!(session["capabilities"].get("flying"), None);
}
