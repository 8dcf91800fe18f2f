//! `fullsend chat sessions` and `fullsend chat prune`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use fullsend_chat::protocol::{Capabilities, ChatEvent, SessionStatus};
use fullsend_chat::store::{Change, Expect, Place as StorePlace, Store};
use fullsend_guard::SystemClock;
use serde_json::{Value, json};

use crate::suite::running::Place;

/// A database with a session, and so many events in it.
fn filled(path: &Path, session_id: &str, events: usize) {
    let store = Store::open(&StorePlace::File(path.to_owned()), Arc::new(SystemClock)).unwrap();
    let session: SessionStatus = serde_json::from_value(json!({
        "sessionId": session_id,
        "status": "idle",
        "reusable": true,
        "turnCount": 0,
        "createdAt": "2026-01-01T00:00:00.000Z",
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "workspace": {"hostPath": "/w\u{1b}[31m"},
        "model": "mock",
        "capabilities": Capabilities::default(),
        "policy": {
            "type": "fullsend.chat-policy",
            "toolMode": "workspace-write",
            "allowedToolIds": [],
            "allowedSubagentProfiles": [],
        },
    }))
    .unwrap();
    let begun = ChatEvent::SessionStarted { session: Box::new(session.clone()) };
    let delta = ChatEvent::AssistantDelta { text: "x".repeat(500) };
    let first = Change {
        session_id,
        turn_id: None,
        event: &begun,
        session: Some(&session),
        turn: None,
        expect: Expect::NewSession,
    };
    store.commit(first).unwrap();
    for _ in 1..events {
        store.commit(Change { event: &delta, session: None, expect: Expect::Anything, ..first }).unwrap();
    }
}

#[test]
fn sessions_are_listed_without_reaching_the_terminal() {
    let place = Place::new();
    filled(&place.path().join("chat.db"), "s1", 1);
    let listed = place.run(&["chat", "sessions", "--chat-session-db", "chat.db"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert!(
        listed.stdout.starts_with("s1 ")
            && listed.stdout.contains("idle")
            && listed.stdout.lines().count() == 1
            && !listed.stdout.contains('\u{1b}'),
        "{}",
        listed.stdout
    );
    let listed = place.run(&["chat", "sessions", "--chat-session-db", "chat.db", "--format", "json"]);
    let json: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(json["sessions"][0]["sessionId"], "s1");
    assert_ne!(json["sessions"][0]["updatedAt"], json["sessions"][0]["createdAt"], "of its newest event");
}

#[test]
fn what_is_not_wanted_any_more_is_removed() {
    let place = Place::new();
    let database = place.path().join("chat.db");
    filled(&database, "s1", 500);
    let prune = |arguments: &[&str]| {
        let given =
            [&["chat", "prune", "--chat-session-db", "chat.db", "--format", "json"], arguments].concat();
        let done = place.run(&given);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        serde_json::from_str::<Value>(&done.stdout).unwrap()
    };
    let nothing = json!({"events": 0, "turns": 0, "sessions": 0, "freedBytes": 0});
    assert_eq!(prune(&["--older-than", "30d"]), nothing);
    assert_eq!(prune(&["--older-than", "2w", "--keep-events", "500"]), nothing);
    let before = fs::metadata(&database).unwrap().len();
    let pruned = prune(&["--keep-events", "10"]);
    assert_eq!(pruned["events"], 490);
    assert_eq!(pruned["freedBytes"], before - fs::metadata(&database).unwrap().len());
    let told = place.run(&["chat", "prune", "--chat-session-db", "chat.db", "--keep-events", "0"]);
    assert!(told.stdout.starts_with("removed 9 events, 0 turns and 0 sessions"), "{}", told.stdout);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing is left beside the database");
}

#[test]
fn what_cannot_be_pruned_is_left_alone() {
    let place = Place::new();
    fs::write(place.path().join("notes.txt"), "something else ".repeat(100)).unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["--chat-session-db", "chat.db", "--keep-events", "1"], "there is no chat database `chat.db`"),
        (&["--chat-session-db", "notes.txt", "--keep-events", "1"], "is no chat database"),
        (&["--keep-events", "1"], "--chat-session-db"),
        (&["--chat-session-db", "chat.db"], "--older-than"),
        (&["--chat-session-db", "chat.db", "--older-than", "1 month"], "`30d`"),
        (&["--chat-session-db", "chat.db", "--older-than=-1d"], "`30d`"),
    ];
    for (arguments, expected) in cases {
        let refused = place.run(&[&["chat", "prune"], arguments].concat());
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
        assert_eq!(refused.stdout, "");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_service_does_not_start_on_a_database_that_it_cannot_have() {
    let place = Place::new();
    fs::write(place.path().join("notes.txt"), "something else ".repeat(100)).unwrap();
    for (database, expected) in [("no/chat.db", "`no/chat.db`"), ("notes.txt", "is no chat database")] {
        let started = place.run(&[
            "chat",
            "--stdio",
            "--chat-session-db",
            database,
            "--model",
            "mock",
            "--gateway-base-url",
            "http://127.0.0.1:9",
            "--gateway-auth-mode",
            "none",
        ]);
        assert_eq!((started.code, started.stdout.as_str()), (Some(1), ""), "{}", started.stderr);
        assert!(started.stderr.contains(expected), "{}", started.stderr);
    }
    assert!(!place.path().join("no").exists());
}
