//! Several real processes on one database: together, and dying.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fullsend_chat::protocol::{ChatEvent, EventEnvelope, SessionStatus, TurnState};
use fullsend_chat::store::{Change, Expect, Store, StoreError, TurnChange};
use fullsend_testkit::{reexec, test_name};
use rusqlite::Connection;

use crate::support::records::{
    all_events, begin_session, begin_turn, close_session, only, open, record, say, session, turn,
};

/// Names the database to a child.
const DATABASE: &str = "FULLSEND_TEST_DATABASE";

fn database() -> PathBuf {
    std::env::var_os(DATABASE).unwrap().into()
}

fn child(test: &str, role: &str, path: &Path) -> Command {
    let mut command = reexec::command(test, role);
    command.env(DATABASE, path).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// A child that begins a turn in its own session, speaks, and then waits to be killed.
fn holder(test: &str, path: &Path) -> Child {
    let mut child = child(test, "holder", path).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.map_while(Result::ok).any(|line| line.ends_with("holding"));
    assert!(ready);
    child
}

fn hold() {
    let store = open(&database());
    begin_session(&store, "held").unwrap();
    begin_turn(&store, "held", "t").unwrap();
    say(&store, "held", "t", "so far").unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "holding").unwrap();
    out.flush().unwrap();
    let mut nothing = String::new();
    std::io::stdin().read_line(&mut nothing).unwrap();
}

#[test]
fn processes_that_make_and_fill_a_database_at_once_share_its_numbers() {
    const EACH: u64 = 150;
    if let Some(role) = reexec::role() {
        // All open at once, the file is not there yet.
        let store = open(&database());
        begin_session(&store, &role).unwrap();
        for index in 1..EACH {
            say(&store, &role, "t", &index.to_string()).unwrap();
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let children: Vec<Child> =
        ["a", "b", "c", "d"].map(|role| child(test_name!(), role, &path).spawn().unwrap()).into();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = open(&path);
    let events = all_events(&store, None);
    let numbers: Vec<u64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=4 * EACH).collect::<Vec<_>>());
    for role in ["a", "b", "c", "d"] {
        let said: Vec<String> = all_events(&store, Some(role)).into_iter().filter_map(said).collect();
        assert_eq!(said, (1..EACH).map(|index| index.to_string()).collect::<Vec<_>>());
    }
    drop(store);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside the database");
}

fn said(envelope: EventEnvelope) -> Option<String> {
    if let ChatEvent::AssistantDelta { text } = envelope.event { Some(text) } else { None }
}

#[test]
fn a_turn_belongs_to_its_process_until_that_is_dead() {
    if reexec::role().is_some() {
        return hold();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let mut child = holder(test_name!(), &path);
    let store = open(&path);
    let nudge = ChatEvent::SessionClosed { reason: "closed".to_owned() };
    let close = Change { expect: Expect::NotElsewhere, ..only("held", None, &nudge) };

    assert_eq!(store.interrupted(None).unwrap(), [], "its process lives");
    let elsewhere = |error| matches!(error, StoreError::TurnRunning { elsewhere: true, .. });
    assert!(elsewhere(begin_turn(&store, "held", "u").unwrap_err()));
    assert!(elsewhere(store.commit(close).unwrap_err()));

    child.kill().unwrap();
    child.wait().unwrap();
    let found = store.interrupted(Some("held")).unwrap();
    let [(owner, interrupted)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((owner.session_id.as_str(), interrupted), ("held", &record("held", "t")));
    assert_eq!(store.interrupted(None).unwrap(), found);
    assert_eq!(store.interrupted(Some("another")).unwrap(), []);
    assert_eq!(all_events(&store, None).len(), 3, "what it had told is there");

    // Two that find it at the same time: the second is told that it is over.
    let event = ChatEvent::StatusChanged { session: Box::new(session("held")) };
    let failed = turn("t", TurnState::Failed);
    let idle = SessionStatus { turn_count: 1, ..session("held") };
    let end = Change {
        session: Some(&idle),
        turn: Some(TurnChange::Update(&failed)),
        expect: Expect::TurnUnderWay,
        ..only("held", Some("t"), &event)
    };
    let other = open(&path);
    store.commit(end).unwrap();
    assert!(matches!(other.commit(end), Err(StoreError::TurnOver { .. })));
    assert_eq!(store.interrupted(None).unwrap(), []);
    begin_turn(&store, "held", "u").unwrap();
}

#[test]
fn files_of_dead_processes_are_swept_and_those_of_the_living_are_not() {
    if reexec::role().is_some() {
        return hold();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let mut child = holder(test_name!(), &path);
    let owners = || {
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().contains("-owner-")).count()
    };
    fs::write(directory.path().join("chat.db-owner-notes"), "a user's own").unwrap();
    drop(open(&path));
    assert_eq!(owners(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(open(&path));
    assert_eq!(owners(), 1);
    assert!(directory.path().join("chat.db-owner-notes").exists());
}

/// The name of an owner comes out of the database; it must not lead anywhere else.
#[test]
fn an_owner_that_is_no_name_of_ours_is_dead() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let store = open(&path);
    begin_session(&store, "s").unwrap();
    begin_turn(&store, "s", "t").unwrap();
    for owner in ["", "../../../etc/passwd", "x", "00000000-0000-4000-8000-000000000000"] {
        Connection::open(&path).unwrap().execute("UPDATE chat_turn SET owner = ?1", [owner]).unwrap();
        assert_eq!(store.interrupted(None).unwrap().len(), 1, "{owner}");
    }
}

#[test]
fn a_process_that_is_killed_while_it_writes_loses_nothing_that_it_told() {
    if reexec::role().is_some() {
        let store = open(&database());
        let mut out = std::io::stdout().lock();
        for index in 0.. {
            let stored = say(&store, "s", "t", &index.to_string()).unwrap();
            writeln!(out, "{}", stored.line).unwrap();
            out.flush().unwrap();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    begin_session(&open(&path), "s").unwrap();
    for round in 0..8 {
        let mut child = child(test_name!(), "writer", &path).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = Vec::new();
        for line in lines
            .map_while(Result::ok)
            .filter_map(|line| line.find("{\"type\"").map(|at| line[at..].to_owned()))
        {
            told.push(line);
            if told.len() == 10 + round * 37 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        // The last line may be cut off in the pipe.
        told.retain(|line| line.ends_with('}') && serde_json::from_str::<EventEnvelope>(line).is_ok());
        assert!(told.len() >= 10 + round * 37);
        let store = open(&path);
        for line in told {
            let sequence = serde_json::from_str::<EventEnvelope>(&line).unwrap().sequence;
            assert_eq!(store.line(sequence).unwrap(), line);
        }
        let numbers: Vec<u64> = all_events(&store, None).iter().map(|event| event.sequence).collect();
        assert_eq!(numbers, (1..=u64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    }
}

/// One process prunes while another one writes: the one that writes neither waits in vain nor loses anything.
#[test]
fn pruning_does_not_get_in_the_way_of_another_process() {
    use fullsend_chat::store::Retention;
    if reexec::role().is_some() {
        let store = open(&database());
        for index in 0..300 {
            say(&store, "live", "t", &index.to_string()).unwrap();
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let store: Store = open(&path);
    begin_session(&store, "old").unwrap();
    for index in 0..5_000 {
        say(&store, "old", "t", &index.to_string()).unwrap();
    }
    close_session(&store, "old", "2026-01-01T00:00:05.000Z").unwrap();
    begin_session(&store, "live").unwrap();
    let mut child = child(test_name!(), "writer", &path).spawn().unwrap();
    let mut removed = 0;
    while child.try_wait().unwrap().is_none() {
        removed += store.prune(&Retention { keep_events: Some(400), older_than: None }).unwrap().events;
    }
    assert!(child.wait().unwrap().success());
    removed += store.prune(&Retention { keep_events: Some(400), older_than: None }).unwrap().events;
    assert!(removed >= 4_900, "{removed}");
    let said: Vec<String> = all_events(&store, Some("live")).into_iter().filter_map(said).collect();
    assert_eq!(said, (0..300).map(|index| index.to_string()).collect::<Vec<_>>());
}
