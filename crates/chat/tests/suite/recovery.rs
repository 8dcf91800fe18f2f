//! What becomes of turns whose process has ended, and of stores that several processes use.

use std::path::Path;

use serde_json::{Value, json};

use super::scripted::Talk;

fn on_a_runtime<T>(work: impl AsyncFnOnce() -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work())
}

/// Leaves a turn behind that was under way when everything ended.
fn leave_behind(database: &Path, cancelled: bool) {
    on_a_runtime(async || {
        let talk = Talk::on(Some(database));
        talk.start("s1").await;
        talk.say("s1", "t1", "stay").await;
        if cancelled {
            talk.done("cancel_turn", json!({"sessionId": "s1", "reason": "enough"})).await;
        }
    });
}

#[test]
fn a_turn_that_was_interrupted_is_marked_and_the_session_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("chat.db");
    leave_behind(&database, false);
    on_a_runtime(async || {
        let talk = Talk::on(Some(&database));
        let events = talk.events().await;
        assert_eq!(events[2]["event"]["kind"], "turn_failed");
        let error = &events[2]["event"]["error"];
        assert_eq!(error["code"], "internal_error");
        assert_eq!(
            error["details"],
            json!({"terminalReason": "process_interrupted", "priorStatus": "running"})
        );
        assert_eq!(talk.ended("s1", "t1").await["status"], "failed");
        assert_eq!(talk.status("s1").await["status"], "idle");
        assert_eq!(talk.said("s1", "t2", "hello").await["status"], "completed");
        talk.kinds().await;
    });
}

#[test]
fn a_session_knows_its_conversation_before_anything_is_said_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("chat.db");
    on_a_runtime(async || {
        let talk = Talk::on(Some(&database));
        talk.start("s1").await;
        talk.say("s1", "t1", "a run that stays").await;
        while talk.status("s1").await["harnessRunId"].is_null() {
            tokio::task::yield_now().await;
        }
        assert_eq!(talk.kinds().await, ["session_started", "turn_started"]);
    });
    on_a_runtime(async || {
        let talk = Talk::on(Some(&database));
        assert_eq!(talk.status("s1").await["harnessRunId"], "run-1");
    });
}

#[test]
fn a_turn_that_was_being_ended_is_marked_as_ended() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("chat.db");
    leave_behind(&database, true);
    on_a_runtime(async || {
        let talk = Talk::on(Some(&database));
        let turn = talk.ended("s1", "t1").await;
        assert_eq!((&turn["status"], &turn["cancelReason"]), (&json!("canceled"), &json!("enough")));
        assert_eq!(talk.events().await[3]["event"]["kind"], "status_changed");
        assert_eq!(talk.status("s1").await["status"], "idle");
    });
}

#[test]
fn a_turn_of_another_process_is_left_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("chat.db");
    on_a_runtime(async || {
        let (one, other) = (Talk::on(Some(&database)), Talk::on(Some(&database)));
        one.start("s1").await;
        one.say("s1", "t1", "stay").await;
        let another = json!({"sessionId": "s1", "turnId": "t2", "input": {"text": "x"}});
        let error = other.refused("start_turn", another).await;
        assert_eq!(
            (&error["code"], &error["retryable"]),
            (&json!("turn_already_running"), &Value::Bool(true))
        );
        for method in ["cancel_turn", "close_session"] {
            assert_eq!(other.refused(method, json!({"sessionId": "s1"})).await["code"], "turn_elsewhere");
        }
        assert_eq!(other.status("s1").await["status"], "turn_running");
        one.script.gate.notify_one();
        assert_eq!(other.ended("s1", "t1").await["status"], "completed");
        assert_eq!(other.said("s1", "t2", "hello").await["status"], "completed");
        assert_eq!(one.kinds().await.len(), 9);
    });
}

#[test]
fn a_dead_process_is_noticed_when_somebody_wants_a_turn() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("chat.db");
    // Started before the other one dies, so that it has nothing to put in order at its start.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let talk = Talk::on(Some(&database));
    leave_behind(&database, false);
    runtime.block_on(async {
        assert_eq!(talk.said("s1", "t2", "hello").await["status"], "completed");
        assert_eq!(talk.ended("s1", "t1").await["status"], "failed");
    });
}
