//! What is taken away, and what must stay.

use std::fs;
use std::time::Duration;

use fullsend_chat::protocol::{ListEvents, SessionStatus};
use fullsend_chat::store::{Place, Pruned, Retention, Store};

use crate::support::records::{
    Ticking, begin_session, begin_turn, close_session, delta, end_turn, only, open, say, sequences,
};

const DAY: u64 = 24 * 60 * 60;

fn older_than(days: u64) -> Retention {
    Retention { older_than: Some(Duration::from_secs(days * DAY)), keep_events: None }
}

fn newest(keep_events: u64) -> Retention {
    Retention { older_than: None, keep_events: Some(keep_events) }
}

/// What was removed, apart from the bytes.
fn removed(store: &Store, what: &Retention) -> [u64; 3] {
    let Pruned { events, turns, sessions, freed_bytes: _ } = store.prune(what).unwrap();
    [events, turns, sessions]
}

/// Four sessions of one day: closed, idle after a turn, with a turn under way, and idle without one; and a week later an
/// event in a fifth one.
fn a_week(path: &std::path::Path) -> Store {
    let clock = Ticking::new();
    let store = Store::open(&Place::File(path.to_owned()), clock.clone()).unwrap();
    for id in ["closed", "idle", "live", "bare"] {
        begin_session(&store, id).unwrap();
    }
    for id in ["closed", "idle"] {
        begin_turn(&store, id, "t").unwrap();
        say(&store, id, "t", "x").unwrap();
        end_turn(&store, id, "t").unwrap();
    }
    close_session(&store, "closed", "2026-01-01T00:00:05.000Z").unwrap();
    begin_turn(&store, "live", "t").unwrap();
    say(&store, "live", "t", "x").unwrap();
    clock.pass(7 * 86_400);
    begin_session(&store, "new").unwrap();
    store
}

#[test]
fn what_is_old_and_over_goes() {
    let directory = tempfile::tempdir().unwrap();
    let store = a_week(&directory.path().join("chat.db"));
    assert_eq!(removed(&store, &older_than(8)), [0, 0, 0]);
    assert_eq!(removed(&store, &Retention::default()), [0, 0, 0]);
    let before: Vec<SessionStatus> = store.sessions(None).unwrap();
    assert_eq!(removed(&store, &older_than(6)), [7, 2, 1]);
    let kept: Vec<SessionStatus> =
        before.into_iter().filter(|session| session.session_id != "closed").collect();
    assert_eq!(store.sessions(None).unwrap(), kept, "those that stay stand as they stood, times included");
    assert_eq!(sequences(&store, Some("live")), [3, 12, 13], "nothing of a session with a turn under way");
    assert_eq!(sequences(&store, Some("idle")), [10], "the newest of a session that stays");
    assert_eq!(sequences(&store, Some("bare")), [4]);
    assert_eq!(sequences(&store, Some("closed")), [] as [u64; 0]);
    assert_eq!(store.turns(None, None).unwrap().len(), 1);
    assert_eq!(store.commit(only("new", None, &delta("x"))).unwrap().sequence, 15);
    assert_eq!(removed(&store, &older_than(6)), [0, 0, 0]);
}

#[test]
fn what_is_beyond_a_number_goes() {
    let directory = tempfile::tempdir().unwrap();
    let store = a_week(&directory.path().join("chat.db"));
    let all = sequences(&store, None).len();
    assert_eq!(removed(&store, &newest(u64::MAX)), [0, 0, 0]);
    assert_eq!(removed(&store, &newest(u64::try_from(all).unwrap())), [0, 0, 0]);
    assert_eq!(removed(&store, &newest(0)), [7, 0, 0]);
    assert_eq!(sequences(&store, None), [3, 4, 10, 11, 12, 13, 14]);
    assert_eq!(store.turns(None, None).unwrap().len(), 3);
    assert_eq!(store.sessions(None).unwrap().len(), 5);
}

#[test]
fn numbers_go_on_even_if_everything_is_over_and_old() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let clock = Ticking::new();
    let store = Store::open(&Place::File(path.clone()), clock.clone()).unwrap();
    for id in ["a", "b"] {
        begin_session(&store, id).unwrap();
        close_session(&store, id, "2026-01-01T00:00:05.000Z").unwrap();
    }
    clock.pass(7 * 86_400);
    assert_eq!(
        removed(&store, &Retention { older_than: Some(Duration::ZERO), keep_events: Some(0) }),
        [2, 0, 1]
    );
    drop(store);
    let store = open(&path);
    assert_eq!(store.events(&ListEvents::default()).unwrap().latest_sequence, 4);
    assert_eq!(begin_session(&store, "c").unwrap().sequence, 5);
}

#[test]
fn any_age_can_be_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let store = a_week(&directory.path().join("chat.db"));
    let forever = Retention { older_than: Some(Duration::MAX), keep_events: None };
    assert_eq!(removed(&store, &forever), [0, 0, 0]);
}

#[test]
fn the_space_is_given_back_and_what_was_said_is_gone_from_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let store = open(&path);
    begin_session(&store, "s").unwrap();
    begin_turn(&store, "s", "t").unwrap();
    for index in 0..3_000 {
        say(&store, "s", "t", &format!("a-secret-{index} {}", "x".repeat(300))).unwrap();
    }
    end_turn(&store, "s", "t").unwrap();
    store.prune(&Retention::default()).unwrap();
    let large = fs::metadata(&path).unwrap().len();
    assert!(large > 1 << 20);
    let pruned = store.prune(&newest(1)).unwrap();
    let small = fs::metadata(&path).unwrap().len();
    assert_eq!(pruned, Pruned { events: 3_002, turns: 0, sessions: 0, freed_bytes: large - small });
    assert!(small < 100 << 10, "{small}");
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let found = bytes.windows(9).any(|window| window == b"a-secret-");
        // The session's index of shared memory holds page numbers only; the log is empty.
        assert!(!found, "{}", path.display());
    }
    assert_eq!(store.sessions(None).unwrap()[0].turn_count, 1);
}
