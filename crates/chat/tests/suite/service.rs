//! Sessions and turns: what is answered, what is told, and in which order.

use std::time::Duration;

use fullsend_chat::service::Settings;
use serde_json::{Value, json};

use super::scripted::{Talk, request};

fn names(kinds: &[String]) -> Vec<&str> {
    kinds.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn a_turn_is_told_from_its_beginning_to_its_end() {
    let talk = Talk::new();
    let session = talk.start("s1").await;
    assert_eq!(session["status"], "idle");
    assert_eq!(session["model"], "scripted");
    let turn = talk.say("s1", "t1", "hello").await;
    assert_eq!((&turn["turnId"], &turn["status"]), (&json!("t1"), &json!("running")));
    assert_eq!(talk.ended("s1", "t1").await["status"], "completed");
    let expected =
        ["session_started", "turn_started", "assistant_delta", "assistant_completed", "turn_completed"];
    assert_eq!(names(&talk.kinds().await), expected);
    let end = talk.event("turn_completed").await;
    assert_eq!(end["finalText"], "Hi");
    assert_eq!(end["usage"], json!({"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}));
    let status = talk.status("s1").await;
    assert_eq!((&status["status"], &status["turnCount"]), (&json!("idle"), &json!(1)));
    assert_eq!(status.get("activeTurnId"), None);
    let events = talk.events().await;
    assert_eq!(events[0].get("turnId"), None);
    assert_eq!(events[1]["turnId"], "t1");
}

#[tokio::test]
async fn what_a_tool_did_stands_between_the_beginning_and_the_answer() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.said("s1", "t1", "write").await;
    let expected = [
        "session_started",
        "turn_started",
        "tool_started",
        "tool_completed",
        "file_changed",
        "assistant_delta",
        "assistant_completed",
        "turn_completed",
    ];
    assert_eq!(names(&talk.kinds().await), expected);
}

#[tokio::test]
async fn ids_are_made_up_where_none_are_given() {
    let talk = Talk::new();
    let session = talk.done("start_session", json!({"workspace": {"hostPath": "/w"}})).await;
    let id = session["sessionId"].as_str().unwrap();
    let turn = talk.done("start_turn", json!({"sessionId": id, "input": {"text": "hello"}})).await;
    assert_eq!(talk.ended(id, turn["turnId"].as_str().unwrap()).await["status"], "completed");
}

#[tokio::test]
async fn a_session_is_begun_once() {
    let talk = Talk::new();
    let other = json!({"sessionId": "s1", "workspace": {"hostPath": "/other"}});
    let (first, second) = tokio::join!(talk.start("s1"), talk.ask("start_session", other));
    assert_eq!(first["workspace"]["hostPath"], "/w");
    assert_eq!(second["error"]["code"], "session_exists");
    assert_eq!(talk.status("s1").await["workspace"]["hostPath"], "/w");
    assert_eq!(talk.kinds().await.len(), 1);
}

#[tokio::test]
async fn what_cannot_be_done_has_a_code() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.start("closed").await;
    talk.start("broken").await;
    talk.done("close_session", json!({"sessionId": "closed"})).await;
    talk.said("broken", "t1", "break").await;
    talk.said("s1", "t0", "hello").await;
    talk.say("s1", "t1", "stay").await;
    let say =
        |session: &str, turn: &str| json!({"sessionId": session, "turnId": turn, "input": {"text": "x"}});
    let table = [
        ("start_turn", say("nobody", "t"), "session_not_found"),
        ("cancel_turn", json!({"sessionId": "nobody"}), "session_not_found"),
        ("close_session", json!({"sessionId": "nobody"}), "session_not_found"),
        (
            "resolve_approval",
            json!({"sessionId": "nobody", "approvalId": "a", "decision": "allow"}),
            "session_not_found",
        ),
        ("start_turn", say("closed", "t"), "session_closed"),
        ("start_turn", say("broken", "t"), "session_unusable"),
        ("start_turn", say("s1", "t2"), "turn_already_running"),
        ("cancel_turn", json!({"sessionId": "closed"}), "turn_not_found"),
        ("cancel_turn", json!({"sessionId": "s1", "turnId": "t0"}), "turn_not_found"),
        (
            "resolve_approval",
            json!({"sessionId": "s1", "approvalId": "a", "decision": "allow"}),
            "approval_not_found",
        ),
        ("start_session", json!({"workspace": {"hostPath": "/w"}, "model": "none"}), "provider_unavailable"),
    ];
    for (method, params, code) in table {
        let error = talk.refused(method, params.clone()).await;
        assert_eq!(error["code"], code, "{method} {params}");
        let retryable = (code == "turn_already_running").then_some(&Value::Bool(true));
        assert_eq!(error.get("retryable"), retryable, "{method} {params}");
    }
    talk.script.gate.notify_one();
    talk.ended("s1", "t1").await;
    assert_eq!(talk.refused("start_turn", say("s1", "t1")).await["code"], "turn_exists");
    assert_eq!(talk.done("status", json!({"sessionId": "nobody"})).await, json!({"sessions": []}));
}

#[tokio::test]
async fn a_turn_that_fails_says_why_and_leaves_the_session_usable() {
    let talk = Talk::new();
    talk.start("s1").await;
    assert_eq!(talk.said("s1", "t1", "fail").await["error"]["code"], "provider_unavailable");
    assert_eq!(talk.said("s1", "t2", "panic").await["error"]["code"], "internal_error");
    assert_eq!(talk.status("s1").await["status"], "idle");
    assert_eq!(talk.said("s1", "t3", "hello").await["status"], "completed");
    let turns = talk.done("list_turns", json!({"sessionId": "s1", "status": "failed"})).await;
    assert_eq!(turns["turns"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_session_whose_record_is_gone_fails_for_good() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.said("s1", "t1", "break").await;
    talk.event("error").await;
    assert_eq!(names(&talk.kinds().await), ["session_started", "turn_started", "turn_failed", "error"]);
    assert_eq!(talk.event("error").await["fatal"], true);
    let status = talk.status("s1").await;
    assert_eq!((&status["status"], &status["reusable"]), (&json!("failed"), &json!(false)));
}

#[tokio::test]
async fn cancelling_ends_a_turn_and_nothing_more_is_told_of_it() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.say("s1", "t1", "speak after the end").await;
    let status =
        talk.done("cancel_turn", json!({"sessionId": "s1", "turnId": "t1", "reason": "enough"})).await;
    assert_eq!((&status["status"], &status["reusable"]), (&json!("canceling"), &json!(false)));
    assert_eq!(status["activeTurn"]["cancelReason"], "enough");
    let turn = talk.ended("s1", "t1").await;
    assert_eq!((&turn["status"], &turn["cancelReason"]), (&json!("canceled"), &json!("enough")));
    assert_eq!(
        names(&talk.kinds().await),
        ["session_started", "turn_started", "turn_canceled", "status_changed"]
    );
    assert_eq!(talk.event("status_changed").await["session"]["status"], "idle");
    assert_eq!(talk.said("s1", "t2", "hello").await["status"], "completed");
}

#[tokio::test]
async fn until_a_cancelled_turn_has_ended_there_is_no_other() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.say("s1", "t1", "stay").await;
    talk.done("cancel_turn", json!({"sessionId": "s1"})).await;
    let another = json!({"sessionId": "s1", "turnId": "t2", "input": {"text": "x"}});
    assert_eq!(talk.refused("start_turn", another).await["code"], "turn_already_running");
    let again = talk.done("cancel_turn", json!({"sessionId": "s1"})).await;
    assert_eq!(again["status"], "canceling");
    talk.script.gate.notify_one();
    assert_eq!(talk.ended("s1", "t1").await["status"], "canceled");
    let expected = ["session_started", "turn_started", "turn_canceled", "turn_canceled", "status_changed"];
    assert_eq!(names(&talk.kinds().await), expected);
}

#[tokio::test]
async fn closing_a_session_ends_its_turn_first() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.say("s1", "t1", "wait").await;
    let closed = talk.done("close_session", json!({"sessionId": "s1", "reason": "done"})).await;
    assert_eq!(closed["status"], "closed");
    assert_eq!(talk.ended("s1", "t1").await["status"], "canceled");
    let expected = ["session_started", "turn_started", "turn_canceled", "status_changed", "session_closed"];
    assert_eq!(names(&talk.kinds().await), expected);
    let again = talk.done("close_session", json!({"sessionId": "s1"})).await;
    assert_eq!(again["closedAt"], closed["closedAt"]);
    assert_eq!(talk.kinds().await.len(), 6);
}

#[tokio::test]
async fn a_turn_that_does_not_end_does_not_keep_its_session_open() {
    let talk = Talk::with(None, Settings { patience: Duration::from_millis(1), ..Settings::default() });
    talk.start("s1").await;
    talk.say("s1", "t1", "stay").await;
    let closed = talk.done("close_session", json!({"sessionId": "s1"})).await;
    assert_eq!(closed["status"], "closed");
    assert_eq!(talk.ended("s1", "t1").await["status"], "canceled");
    talk.script.gate.notify_one();
    talk.service.drain().await;
    assert_eq!(
        names(&talk.kinds().await),
        ["session_started", "turn_started", "turn_canceled", "session_closed"]
    );
}

#[tokio::test]
async fn a_turn_that_cannot_be_written_down_never_was() {
    let directory = tempfile::tempdir().unwrap();
    let talk = Talk::on(Some(&directory.path().join("chat.db")));
    talk.start("s1").await;
    talk.forbid("NEW.kind = 'turn_started'");
    let ask = json!({"sessionId": "s1", "turnId": "t1", "input": {"text": "hello"}});
    assert_eq!(talk.refused("start_turn", ask).await["code"], "internal_error");
    assert_eq!(talk.done("list_turns", json!({})).await["turns"], json!([]));
    assert_eq!(talk.status("s1").await["status"], "idle");
    talk.permit();
    assert_eq!(talk.said("s1", "t1", "hello").await["status"], "completed");
    assert_eq!(talk.kinds().await.len(), 5);
}

#[tokio::test]
async fn a_turn_ends_when_what_happens_in_it_cannot_be_written_down() {
    let directory = tempfile::tempdir().unwrap();
    let talk = Talk::on(Some(&directory.path().join("chat.db")));
    talk.start("s1").await;
    talk.forbid("NEW.kind = 'assistant_completed'");
    let turn = talk.said("s1", "t1", "hello").await;
    assert_eq!((&turn["status"], &turn["error"]["code"]), (&json!("failed"), &json!("internal_error")));
    assert_eq!(
        names(&talk.kinds().await),
        ["session_started", "turn_started", "assistant_delta", "turn_failed"]
    );
}

#[tokio::test]
async fn the_end_of_a_turn_is_written_down_late_rather_than_never() {
    let directory = tempfile::tempdir().unwrap();
    let talk = Talk::on(Some(&directory.path().join("chat.db")));
    talk.start("s1").await;
    talk.forbid("NEW.kind = 'turn_completed'");
    talk.say("s1", "t1", "hello").await;
    talk.until(async || !talk.complaints.lock().unwrap().is_empty()).await;
    assert_eq!(talk.status("s1").await["status"], "turn_running");
    talk.permit();
    assert_eq!(talk.said("s1", "t2", "hello").await["status"], "completed");
    assert_eq!(talk.ended("s1", "t1").await["status"], "completed");
}

#[tokio::test]
async fn the_run_of_a_session_is_on_record() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.said("s1", "t1", "a run").await;
    talk.said("s1", "t2", "hello").await;
    assert_eq!(talk.status("s1").await["harnessRunId"], "run-1");
    assert_eq!(talk.script.orders.lock().unwrap()[1].session.harness_run_id.as_deref(), Some("run-1"));
}

#[tokio::test]
async fn persons_are_asked_and_their_answer_counts_once() {
    for (decision, text) in [("allow", "allowed"), ("deny", "denied")] {
        let talk = Talk::new();
        talk.start("s1").await;
        talk.say("s1", "t1", "ask").await;
        let approval = talk.event("approval_requested").await["approval"].clone();
        assert_eq!(approval["tool"], json!({"toolCallId": "call-1", "toolId": "bash"}));
        assert_eq!(approval["input"], json!({"command": "make"}));
        let answer = json!({"sessionId": "s1", "approvalId": approval["approvalId"], "decision": decision});
        assert_eq!(talk.done("resolve_approval", answer.clone()).await["sessionId"], "s1");
        talk.ended("s1", "t1").await;
        let resolved = talk.event("approval_resolved").await;
        assert_eq!((&resolved["decision"], &resolved["by"]), (&json!(decision), &json!("client")));
        assert_eq!(talk.event("turn_completed").await["finalText"], text);
        assert_eq!(talk.refused("resolve_approval", answer).await["code"], "approval_not_found");
    }
}

#[tokio::test]
async fn a_question_of_a_turn_that_is_cancelled_is_answered_with_no() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.say("s1", "t1", "ask").await;
    talk.event("approval_requested").await;
    talk.done("cancel_turn", json!({"sessionId": "s1"})).await;
    talk.ended("s1", "t1").await;
    let expected = [
        "session_started",
        "turn_started",
        "approval_requested",
        "approval_resolved",
        "turn_canceled",
        "status_changed",
    ];
    assert_eq!(names(&talk.kinds().await), expected);
    let resolved = talk.event("approval_resolved").await;
    assert_eq!((&resolved["decision"], &resolved["by"]), (&json!("deny"), &json!("canceled")));
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_any_more_is_answered_with_no() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.say("s1", "t1", "ask").await;
    talk.event("approval_requested").await;
    talk.service.drain().await;
    assert_eq!(talk.event("approval_resolved").await["by"], "expired");
    assert_eq!(talk.event("turn_completed").await["finalText"], "denied");
}

#[tokio::test]
async fn events_are_listed_from_any_point() {
    let talk = Talk::new();
    talk.start("s1").await;
    talk.start("s2").await;
    talk.said("s1", "t1", "hello").await;
    let listed = async |params: Value| {
        let answer = talk.done("list_events", params).await;
        let events = answer["events"].as_array().unwrap();
        let sequences: Vec<u64> = events.iter().map(|one| one["sequence"].as_u64().unwrap()).collect();
        (sequences, answer["latestSequence"].as_u64().unwrap())
    };
    assert_eq!(listed(json!({"afterSequence": 2, "limit": 2})).await, (vec![3, 4], 6));
    assert_eq!(listed(json!({"sessionId": "s2"})).await, (vec![2], 6));
    assert_eq!(listed(json!({"sessionId": "s1", "afterSequence": 6})).await, (vec![], 6));
    assert_eq!(
        talk.line(&request("list_events", &json!({"limit": 0}))).await["error"]["details"]["path"],
        "params.limit"
    );
}
