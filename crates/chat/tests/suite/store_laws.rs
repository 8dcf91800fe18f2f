//! Whatever threads do at once, numbers have no gap and every session keeps its order.

use std::sync::Barrier;

use fullsend_chat::protocol::{ChatEvent, EventEnvelope, ListEvents};
use fullsend_chat::store::{Store, StoreError};
use proptest::prelude::*;

use crate::support::records::{
    all_events, begin_session, begin_turn, delta, end_turn, only, open, temporary,
};

/// What one thread does: for each step the session it speaks in; a step may also be one that is refused.
fn scripts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(0_u8..5, 1..40), 1..5)
}

fn run(store: &Store, scripts: &[Vec<u8>]) -> Vec<Vec<(u64, String)>> {
    for session in 0..4 {
        begin_session(store, &format!("s{session}")).unwrap();
    }
    let barrier = Barrier::new(scripts.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = scripts
            .iter()
            .enumerate()
            .map(|(thread, steps)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    steps
                        .iter()
                        .enumerate()
                        .filter_map(|(step, session)| speak(store, thread, step, *session))
                        .collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// One event of a thread. The fifth session does not exist.
fn speak(store: &Store, thread: usize, step: usize, session: u8) -> Option<(u64, String)> {
    let text = format!("{thread}:{step}");
    match store.commit(only(&format!("s{session}"), None, &delta(&text))) {
        Ok(stored) => Some((stored.sequence, text)),
        Err(StoreError::SessionNotFound { .. }) if session == 4 => None,
        Err(error) => panic!("{error}"),
    }
}

fn check(store: &Store, scripts: &[Vec<u8>], told: &[Vec<(u64, String)>]) {
    let events = all_events(store, None);
    let numbers: Vec<u64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, (1..=u64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    assert!(events.is_sorted_by_key(|event| &event.emitted_at), "times follow numbers");
    for (steps, told) in scripts.iter().zip(told) {
        assert_eq!(told.len(), steps.iter().filter(|session| **session < 4).count());
        assert!(told.is_sorted_by_key(|(number, _)| *number), "each thread's order is kept");
        for (number, text) in told {
            let found = &events[usize::try_from(*number).unwrap() - 1];
            assert_eq!(found.event, delta(text));
        }
    }
    assert_eq!(events.len(), 4 + told.iter().map(Vec::len).sum::<usize>(), "and nothing else is there");
    for session in 0..4 {
        let id = format!("s{session}");
        let all: Vec<&EventEnvelope> = events.iter().filter(|event| event.session_id == id).collect();
        assert_eq!(all_events(store, Some(&id)).iter().collect::<Vec<_>>(), all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_gives_numbers_without_a_gap(scripts in scripts()) {
        let directory = tempfile::tempdir().unwrap();
        for store in [temporary(None), open(&directory.path().join("chat.db"))] {
            let told = run(&store, &scripts);
            check(&store, &scripts, &told);
        }
    }

    #[test]
    fn any_text_comes_back(text in any::<String>(), id in "\\PC{1,20}") {
        let store = temporary(None);
        begin_session(&store, &id).unwrap();
        let stored = store.commit(only(&id, Some(&text), &delta(&text))).unwrap();
        let envelope: EventEnvelope = serde_json::from_str(&stored.line).unwrap();
        prop_assert_eq!(&serde_json::to_string(&envelope).unwrap(), &*stored.line);
        prop_assert_eq!(envelope.event, ChatEvent::AssistantDelta { text: text.clone() });
        prop_assert_eq!(envelope.turn_id, Some(text));
        prop_assert_eq!(store.line(2).unwrap(), &*stored.line);
    }
}

/// One that replays sees a beginning of what there is, without a gap, and `latest_sequence` never promises an event that a
/// reader who goes on from there would miss.
#[test]
fn replay_while_others_write_sees_no_gap() {
    let directory = tempfile::tempdir().unwrap();
    let store = &open(&directory.path().join("chat.db"));
    begin_session(store, "s").unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for index in 0..2_000 {
                store.commit(only("s", None, &delta(&index.to_string()))).unwrap();
            }
        });
        for _ in 0..2 {
            scope.spawn(move || {
                let mut cursor = 0;
                while cursor < 2_001 {
                    let page =
                        store.events(&ListEvents { after_sequence: Some(cursor), ..ListEvents::default() });
                    let page = page.unwrap();
                    for line in &page.lines {
                        cursor += 1;
                        assert_eq!(serde_json::from_str::<EventEnvelope>(line).unwrap().sequence, cursor);
                    }
                    assert_eq!(page.latest_sequence, cursor, "all up to the newest of that moment was given");
                }
            });
        }
        writer.join().unwrap();
    });
}

#[test]
fn of_threads_that_begin_a_turn_at_once_one_does() {
    let directory = tempfile::tempdir().unwrap();
    for store in [temporary(None), open(&directory.path().join("chat.db"))] {
        begin_session(&store, "s").unwrap();
        for round in 0..20 {
            let begun: usize = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|thread| (thread, &store))
                    .map(|(thread, store)| {
                        scope.spawn(move || match begin_turn(store, "s", &format!("{round}-{thread}")) {
                            Ok(_) => 1,
                            Err(StoreError::TurnRunning { elsewhere: false, .. }) => 0,
                            Err(error) => panic!("{error}"),
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(begun, 1);
            let turn = store.sessions(None).unwrap().pop().unwrap().active_turn_id.unwrap();
            end_turn(&store, "s", &turn).unwrap();
        }
    }
}
