//! What is put into a store, all of it or nothing, and what is read back.

use fullsend_chat::protocol::{
    ChatContext, ChatError, ChatEvent, ErrorCode, EventEnvelope, EventTag, ImageAttachment, ListEvents,
    SessionStatus, TurnRecord, TurnState, TurnStatus,
};
use fullsend_chat::store::{Change, Expect, MOST_EVENTS, Store, StoreError, TurnChange};
use serde_json::json;

use crate::support::records::{
    all_events, begin_session, begin_session_as, begin_turn, busy, close_session, delta, end_turn, only,
    open, record, say, sequences, session, temporary, turn,
};

/// Every test of behaviour holds for both kinds of store.
fn both(work: impl Fn(&Store)) {
    work(&temporary(None));
    let directory = tempfile::tempdir().unwrap();
    work(&open(&directory.path().join("chat.db")));
}

fn code(result: Result<impl std::fmt::Debug, StoreError>) -> String {
    format!("{:?}", result.unwrap_err())
}

#[test]
fn a_session_a_turn_and_its_events_come_back_as_they_went_in() {
    both(|store| {
        let numbers = [
            begin_session(store, "s1").unwrap().sequence,
            begin_turn(store, "s1", "t1").unwrap().sequence,
            say(store, "s1", "t1", "Hi").unwrap().sequence,
            end_turn(store, "s1", "t1").unwrap().sequence,
        ];
        assert_eq!(numbers, [1, 2, 3, 4]);
        let events = all_events(store, None);
        let kinds: Vec<_> = events.iter().map(|event| event.event.kind()).collect();
        assert_eq!(kinds, ["session_started", "turn_started", "assistant_delta", "turn_completed"]);
        let expected = EventEnvelope {
            tag: EventTag::Event,
            protocol_version: 1,
            emitted_at: "2026-01-01T00:00:00.002Z".to_owned(),
            session_id: "s1".to_owned(),
            turn_id: Some("t1".to_owned()),
            sequence: 3,
            event: delta("Hi"),
        };
        assert_eq!(events[2], expected);
        let sessions = store.sessions(None).unwrap();
        let updated_at = "2026-01-01T00:00:00.003Z".to_owned();
        assert_eq!(sessions, [SessionStatus { turn_count: 1, updated_at, ..session("s1") }]);
        let ended = TurnRecord { turn: turn("t1", TurnState::Completed), ..record("s1", "t1") };
        assert_eq!(store.turns(None, None).unwrap(), [ended]);
    });
}

#[test]
fn lines_are_what_serialising_the_envelope_gives() {
    both(|store| {
        let hostile = "s\"1\\\n\u{1f600}\u{2028}\u{0}\u{7f}é";
        let mut told = vec![begin_session(store, hostile).unwrap()];
        told.push(begin_turn(store, hostile, hostile).unwrap());
        told.push(say(store, hostile, hostile, hostile).unwrap());
        let page = store.events(&ListEvents::default()).unwrap();
        for (stored, line) in told.iter().zip(&page.lines) {
            assert_eq!(&*stored.line, line);
            assert_eq!(store.line(stored.sequence).unwrap(), *line);
            let envelope: EventEnvelope = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&envelope).unwrap(), *line);
            assert_eq!(envelope.session_id, hostile);
            assert!(!line.contains('\n'));
        }
        assert_eq!(page.lines.len(), told.len());
    });
}

#[test]
fn every_part_of_a_turn_is_kept() {
    both(|store| {
        begin_session(store, "s1").unwrap();
        let mut whole = record("s1", "t1");
        whole.input.image_attachments.push(ImageAttachment { path: "a.png".to_owned() });
        whole.context = Some(ChatContext::CommentThread { thread_id: Some("c".to_owned()), subject: None });
        whole.browser_lease_id = Some("l1".to_owned());
        whole.metadata = json!({"a": [1, null]}).as_object().cloned();
        let event = ChatEvent::TurnStarted { turn: whole.turn.clone() };
        let create = Change { turn: Some(TurnChange::Create(&whole)), ..only("s1", Some("t1"), &event) };
        store.commit(create).unwrap();
        assert_eq!(store.turns(Some("s1"), Some(TurnState::Running)).unwrap(), std::slice::from_ref(&whole));
        let failed = TurnStatus {
            cancel_reason: Some("why".to_owned()),
            error: Some(ChatError::new(ErrorCode::InternalError, "no").with("a", 1)),
            ..turn("t1", TurnState::Failed)
        };
        let update = Change { turn: Some(TurnChange::Update(&failed)), ..create };
        store.commit(update).unwrap();
        assert_eq!(store.turns(Some("s1"), None).unwrap(), [TurnRecord { turn: failed, ..whole }]);
        assert_eq!(store.turns(Some("s1"), Some(TurnState::Running)).unwrap(), []);
        assert_eq!(store.turns(Some("s2"), None).unwrap(), []);
    });
}

#[test]
fn when_a_turn_began_does_not_change() {
    both(|store| {
        begin_session(store, "s1").unwrap();
        begin_turn(store, "s1", "t1").unwrap();
        let later = TurnStatus { started_at: "2030".to_owned(), ..turn("t1", TurnState::Canceling) };
        let event = delta("x");
        let update = Change { turn: Some(TurnChange::Update(&later)), ..only("s1", Some("t1"), &event) };
        store.commit(update).unwrap();
        assert_eq!(store.turns(None, None).unwrap()[0].turn, turn("t1", TurnState::Canceling));
    });
}

#[test]
fn the_turn_of_a_session_is_the_one_in_its_own_row() {
    both(|store| {
        begin_session(store, "s1").unwrap();
        begin_turn(store, "s1", "t1").unwrap();
        let canceling = TurnStatus {
            updated_at: "2026-01-01T00:00:09.000Z".to_owned(),
            cancel_reason: Some("enough".to_owned()),
            ..turn("t1", TurnState::Canceling)
        };
        let event = ChatEvent::TurnCanceled { turn_id: "t1".to_owned(), reason: "enough".to_owned() };
        let update = Change { turn: Some(TurnChange::Update(&canceling)), ..only("s1", Some("t1"), &event) };
        store.commit(update).unwrap();
        let found = store.sessions(Some("s1")).unwrap().pop().unwrap();
        assert_eq!((found.active_turn_id, found.active_turn), (Some("t1".to_owned()), Some(canceling)));
    });
}

#[test]
fn what_must_be_so_is_seen_to_and_nothing_is_left_behind() {
    both(|store| {
        begin_session(store, "s1").unwrap();
        begin_session(store, "closed").unwrap();
        close_session(store, "closed", "2026-01-01T00:00:05.000Z").unwrap();
        begin_turn(store, "s1", "t1").unwrap();
        let before =
            (store.sessions(None).unwrap(), store.turns(None, None).unwrap(), sequences(store, None));
        let event = delta("x");
        let refused = [
            (code(begin_session(store, "s1")), "SessionExists { session_id: \"s1\" }"),
            (code(begin_turn(store, "no", "t1")), "SessionNotFound { session_id: \"no\" }"),
            (code(say(store, "no", "t1", "x")), "SessionNotFound { session_id: \"no\" }"),
            (code(end_turn(store, "no", "t1")), "SessionNotFound { session_id: \"no\" }"),
            (code(end_turn(store, "s1", "t2")), "TurnNotFound { session_id: \"s1\", turn_id: \"t2\" }"),
            (code(begin_turn(store, "closed", "t1")), "SessionClosed { session_id: \"closed\" }"),
            (
                code(begin_turn(store, "s1", "t2")),
                "TurnRunning { session_id: \"s1\", turn_id: \"t1\", elsewhere: false }",
            ),
            (
                code(store.commit(Change { expect: Expect::TurnUnderWay, ..only("s1", Some("t2"), &event) })),
                "TurnOver { session_id: \"s1\", turn_id: \"t2\" }",
            ),
        ];
        for (found, expected) in refused {
            assert_eq!(found, expected);
        }
        let after = (store.sessions(None).unwrap(), store.turns(None, None).unwrap(), sequences(store, None));
        assert_eq!(after, before);
        end_turn(store, "s1", "t1").unwrap();
        assert_eq!(code(begin_turn(store, "s1", "t1")), "TurnExists { session_id: \"s1\", turn_id: \"t1\" }");
        assert_eq!(store.sessions(Some("s1")).unwrap()[0].active_turn_id, None);
        let over = store.commit(Change { expect: Expect::TurnUnderWay, ..only("s1", Some("t1"), &event) });
        assert_eq!(code(over), "TurnOver { session_id: \"s1\", turn_id: \"t1\" }");
        assert_eq!(begin_turn(store, "s1", "t2").unwrap().sequence, 6);
    });
}

#[test]
fn a_duplicate_session_leaves_the_first_one_as_it_was() {
    both(|store| {
        begin_session(store, "s1").unwrap();
        let mut other = session("s1");
        other.workspace.host_path = "/elsewhere".to_owned();
        begin_session_as(store, &other).unwrap_err();
        assert_eq!(store.sessions(Some("s1")).unwrap()[0].workspace.host_path, "/w");
    });
}

/// A fault in the very last step, the event, undoes the session and the turn that were written before it.
#[test]
fn a_fault_undoes_session_and_turn_and_takes_no_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let store = open(&path);
    begin_session(&store, "s1").unwrap();
    let saboteur = rusqlite::Connection::open(&path).unwrap();
    saboteur
        .execute_batch(
            "CREATE TRIGGER no BEFORE INSERT ON chat_event BEGIN SELECT raise(ABORT, 'sabotage'); END",
        )
        .unwrap();
    let before = store.sessions(None).unwrap();
    let error = begin_turn(&store, "s1", "t1").unwrap_err();
    assert!(matches!(error, StoreError::Sqlite { .. }), "{error:?}");
    assert!(error.to_string().contains("sabotage") && error.to_string().contains("chat.db"), "{error}");
    begin_session(&store, "s2").unwrap_err();
    assert_eq!(store.sessions(None).unwrap(), before);
    assert_eq!(store.turns(None, None).unwrap(), []);
    assert_eq!(store.events(&ListEvents::default()).unwrap().latest_sequence, 1);
    saboteur.execute_batch("DROP TRIGGER no").unwrap();
    assert_eq!(begin_turn(&store, "s1", "t1").unwrap().sequence, 2, "the same id is still free");
    assert_eq!(store.turns(None, None).unwrap(), [record("s1", "t1")]);
}

#[test]
fn events_are_listed_from_any_number_and_in_pages() {
    both(|store| {
        begin_session(store, "a").unwrap();
        begin_session(store, "b").unwrap();
        for index in 0..10 {
            let session = if index % 2 == 0 { "a" } else { "b" };
            store.commit(only(session, None, &delta(&index.to_string()))).unwrap();
        }
        let list = |session: Option<&str>, after_sequence, limit| {
            let query = ListEvents { session_id: session.map(str::to_owned), after_sequence, limit };
            let page = store.events(&query).unwrap();
            let numbers: Vec<u64> = page
                .lines
                .iter()
                .map(|line| serde_json::from_str::<EventEnvelope>(line).unwrap().sequence)
                .collect();
            (numbers, page.latest_sequence, page.more)
        };
        assert_eq!(list(None, None, None), ((1..=12).collect(), 12, false));
        assert_eq!(list(None, Some(10), None), (vec![11, 12], 12, false));
        assert_eq!(list(None, Some(2), Some(3)), (vec![3, 4, 5], 12, true));
        assert_eq!(list(Some("b"), None, None), (vec![2, 4, 6, 8, 10, 12], 12, false));
        assert_eq!(list(Some("b"), Some(4), Some(2)), (vec![6, 8], 12, true));
        assert_eq!(list(Some("b"), Some(8), Some(2)), (vec![10, 12], 12, false));
        assert_eq!(list(Some("a"), Some(11), None), (vec![], 12, false));
        assert_eq!(list(Some("no"), None, None), (vec![], 12, false));
        assert_eq!(list(None, Some(u64::MAX), Some(u64::MAX)), (vec![], 12, false));
        assert!(matches!(store.line(13), Err(StoreError::EventNotFound { sequence: 13 })));
    });
}

#[test]
fn a_page_has_an_end_however_much_is_asked_for() {
    let store = temporary(None);
    begin_session(&store, "s").unwrap();
    for _ in 0..MOST_EVENTS {
        store.commit(only("s", None, &delta("x"))).unwrap();
    }
    let all = ListEvents { limit: Some(u64::MAX), ..ListEvents::default() };
    let page = store.events(&all).unwrap();
    assert_eq!((page.lines.len(), page.more), (MOST_EVENTS, true));
    assert_eq!(all_events(&store, None).len(), MOST_EVENTS + 1);

    let store = temporary(None);
    begin_session(&store, "s").unwrap();
    let large = delta(&"x".repeat(7 << 20));
    for _ in 0..4 {
        store.commit(only("s", None, &large)).unwrap();
    }
    let page = store.events(&all).unwrap();
    assert_eq!((page.lines.len(), page.more), (4, true), "16 MiB are passed by the third large one");
    assert_eq!(sequences(&store, None), [1, 2, 3, 4, 5]);
}

#[test]
fn a_temporary_store_lists_the_newest_events_and_has_the_others_for_slow_readers() {
    for (keep, listed) in
        [(None, vec![1, 2, 3]), (Some(2), vec![2, 3]), (Some(0), vec![]), (Some(9), vec![1, 2, 3])]
    {
        let store = temporary(keep);
        let first = begin_session(&store, "s").unwrap();
        begin_turn(&store, "s", "t").unwrap();
        say(&store, "s", "t", "x").unwrap();
        assert_eq!(sequences(&store, None), listed, "{keep:?}");
        assert_eq!(store.events(&ListEvents::default()).unwrap().latest_sequence, 3);
        assert_eq!(store.line(1).unwrap(), *first.line);
    }
}

#[test]
fn sessions_and_turns_are_in_the_order_of_their_beginning() {
    both(|store| {
        for (id, created_at) in [("c", "2026-01-02"), ("b", "2026-01-01"), ("a", "2026-01-02")] {
            let created = SessionStatus { created_at: created_at.to_owned(), ..session(id) };
            begin_session_as(store, &created).unwrap();
        }
        let ids: Vec<_> = store.sessions(None).unwrap().into_iter().map(|found| found.session_id).collect();
        assert_eq!(ids, ["b", "a", "c"]);
        for (session, id, started_at) in [("c", "z", "1"), ("b", "y", "3"), ("a", "x", "3"), ("a", "w", "2")]
        {
            let mut turn = record(session, id);
            started_at.clone_into(&mut turn.turn.started_at);
            turn.turn.status = TurnState::Completed;
            let event = delta("x");
            let create = TurnChange::Create(&turn);
            store.commit(Change { turn: Some(create), ..only(session, Some(id), &event) }).unwrap();
        }
        let ids: Vec<_> =
            store.turns(None, None).unwrap().into_iter().map(|found| found.turn.turn_id).collect();
        assert_eq!(ids, ["z", "w", "x", "y"]);
    });
}

#[test]
fn a_turn_of_this_process_is_not_interrupted() {
    both(|store| {
        begin_session(store, "s1").unwrap();
        begin_turn(store, "s1", "t1").unwrap();
        assert_eq!(store.interrupted(None).unwrap(), []);
        assert_eq!(store.sessions(Some("s1")).unwrap()[0].active_turn, busy("s1", "t1").active_turn);
        let event = delta("x");
        store.commit(Change { expect: Expect::NotElsewhere, ..only("s1", None, &event) }).unwrap();
    });
}
