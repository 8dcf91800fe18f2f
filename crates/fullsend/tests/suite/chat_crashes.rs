//! A chat service that is killed at any moment has kept all that it told, and goes on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::suite::agent_crashes::Chance;
use crate::suite::agent_place::AgentPlace;
use crate::suite::chat_process::{Chat, Heard, session, turn, without_gap};

const KILLS: usize = 200;
/// Each has a store of its own; they are killed side by side.
const PLACES: usize = 4;
/// Pieces of an answer.
const PIECES: usize = 200;

#[test]
fn killed_two_hundred_times_it_has_kept_every_event_that_it_told() {
    let places: Vec<_> =
        (0..PLACES).map(|number| std::thread::spawn(move || kill_again_and_again(number))).collect();
    let hit: Vec<Hit> = places.into_iter().map(|place| place.join().unwrap()).collect();
    let sum = |of: fn(&Hit) -> usize| hit.iter().map(of).sum::<usize>();
    assert!(
        sum(|hit| hit.in_turn) >= KILLS / 4 && sum(|hit| hit.in_ending) > 0,
        "too few in a turn: {hit:?}"
    );
}

/// What was hit.
#[derive(Debug, Default)]
struct Hit {
    /// A turn that was under way.
    in_turn: usize,
    /// One that was being ended.
    in_ending: usize,
    /// The middle of a line.
    in_line: usize,
}

fn kill_again_and_again(number: usize) -> Hit {
    let mut chance = Chance::new();
    let place = AgentPlace::new(&script(number));
    let (mut keeper, length) = undisturbed(&place);
    for kill in 0..KILLS / PLACES {
        let id = format!("t{kill}");
        let mut chat = keeper.resumed(&place);
        assert!(chat.send("start_turn", &turn("s", &id)));
        let mut after = Duration::from_nanos(chance.below(length.as_nanos() as usize * 5 / 4) as u64);
        if chance.below(4) == 0 {
            // Ended a moment before it is killed.
            chat.answer().unwrap().unwrap();
            std::thread::sleep(after / 2);
            chat.send("cancel_turn", &json!({"sessionId": "s"}));
            after /= 2;
        }
        kill_after(&mut chat, after, chance.below(2) == 0);
        keeper.remember(chat, Some(id));
    }
    let mut chat = keeper.resumed(&place);
    chat.result("start_turn", &turn("s", "last"));
    let end = chat.until(&["turn_completed", "turn_failed"]).unwrap();
    assert_eq!(end["event"]["finalText"], answer(number), "{end}");
    let stored = chat.listed(None, 0);
    assert!(chat.end().success());
    without_gap(&stored, 1);
    keeper.remember(chat, None);
    keeper.told.values().for_each(|told| assert_eq!(&stored[told.sequence as usize - 1], told));
    keeper.hit
}

/// A first turn, and how long it takes.
fn undisturbed(place: &AgentPlace) -> (Keeper, Duration) {
    let mut chat = Chat::start(place, &[]);
    chat.result("start_session", &session(place, "s"));
    let start = Instant::now();
    chat.result("start_turn", &turn("s", "first"));
    let end = chat.until(&["turn_completed", "turn_failed"]).unwrap();
    assert_eq!(end["event"]["kind"], "turn_completed", "{end}");
    let length = start.elapsed();
    assert!(chat.end().success());
    let mut keeper = Keeper::default();
    keeper.remember(chat, None);
    (keeper, length)
}

/// Reads all that a service tells until it is killed: it alone, or its sandbox with it.
fn kill_after(chat: &mut Chat, after: Duration, with_all: bool) {
    let pid = Pid::from_child(&chat.child);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        // It is not waited for before this, so the id is still its own.
        if with_all { kill_process_group(pid, Signal::KILL) } else { kill_process(pid, Signal::KILL) }
            .unwrap();
    });
    while chat.answer().is_some() {}
    killer.join().unwrap();
    chat.child.wait().unwrap();
}

/// What a client remembers of the services that it talked to.
#[derive(Default)]
struct Keeper {
    /// Every event that was told, by its number.
    told: BTreeMap<u64, Heard>,
    /// The beginning of a line that was cut.
    cut: Option<String>,
    /// The turn that was begun last, if it was killed.
    turn: Option<String>,
    /// Up to here the store was looked through.
    seen: u64,
    hit: Hit,
}

impl Keeper {
    fn remember(&mut self, chat: Chat, turn: Option<String>) {
        for event in &chat.events {
            assert!(self.told.insert(event.sequence, event.clone()).is_none(), "told twice: {}", event.line);
        }
        self.cut.clone_from(&chat.cut);
        self.turn = turn;
    }

    /// A service on the same store, once all is as it should be.
    fn resumed(&mut self, place: &AgentPlace) -> Chat {
        let mut chat = Chat::start(place, &[]);
        let stored = chat.listed(None, self.seen);
        without_gap(&stored, self.seen + 1);
        self.holds_what_was_told(&stored);
        self.killed_turn_is_marked(&mut chat, &stored);
        self.seen += stored.len() as u64;
        let now = chat.result("status", &json!({}));
        let now = &now["sessions"][0];
        assert_eq!((&now["status"], &now["reusable"]), (&json!("idle"), &json!(true)), "{now}");
        assert_eq!(now.get("activeTurn"), None);
        chat
    }

    fn holds_what_was_told(&mut self, stored: &[Heard]) {
        let at = |sequence: u64| stored.get((sequence - self.seen) as usize - 1);
        for told in self.told.range(self.seen + 1..).map(|(_, told)| told) {
            assert_eq!(at(told.sequence), Some(told), "told, and not kept");
        }
        let Some(cut) = self.cut.take() else { return };
        self.hit.in_line += 1;
        let next = self.told.keys().next_back().map_or(1, |last| last + 1);
        let is_event = cut.starts_with(r#"{"type":"fullsend.chat.event""#);
        assert!(!is_event || at(next).is_some_and(|event| event.line.starts_with(&cut)), "not kept: {cut}");
    }

    /// A turn that was cut short is marked by the next service, which tells of it before it answers anything.
    fn killed_turn_is_marked(&mut self, chat: &mut Chat, stored: &[Heard]) {
        let Some(id) = self.turn.take() else { return };
        let all = chat.result("list_turns", &json!({"sessionId": "s"}));
        let all = all["turns"].as_array().unwrap();
        let Some(record) = all.iter().map(|record| &record["turn"]).find(|turn| turn["turnId"] == json!(id))
        else {
            assert!(!stored.iter().any(|event| event.line.contains(&format!(r#""turnId":"{id}""#))));
            return;
        };
        let events: Vec<Value> =
            stored.iter().map(Heard::value).filter(|event| event["turnId"] == json!(id)).collect();
        let is_there = |kind: &str| events.iter().filter(|event| event["event"]["kind"] == kind).count();
        let marked = chat.events.first().map(Heard::value);
        let marked = marked.as_ref().map(|event| &event["event"]);
        let canceled = is_there("turn_canceled") > 0;
        assert_eq!(is_there("turn_started"), 1);
        match record["status"].as_str().unwrap() {
            "completed" => assert_eq!((is_there("turn_completed"), canceled, marked), (1, false, None)),
            "canceled" => {
                assert!(canceled);
                let last =
                    events.iter().rev().find(|event| event["event"]["kind"] != "status_changed").unwrap();
                assert_eq!(last["event"]["kind"], "turn_canceled", "told after the turn was ended");
                self.hit.in_ending += usize::from(marked.is_some());
                assert!(marked.is_none_or(|event| event["kind"] == "status_changed"), "{marked:?}");
            }
            "failed" => {
                let details = json!({"terminalReason": "process_interrupted", "priorStatus": "running"});
                assert_eq!(record["error"]["details"], details);
                assert_eq!(record["error"]["code"], "internal_error");
                assert_eq!((is_there("turn_failed"), is_there("turn_completed"), canceled), (1, 0, false));
                assert_eq!(marked.unwrap()["kind"], "turn_failed");
                self.hit.in_turn += 1;
            }
            other => panic!("a turn of a dead process is {other}"),
        }
    }
}

fn answer(number: usize) -> String {
    format!("{number}: ") + &"abcd ".repeat(PIECES)
}

/// Every turn is the same; in some places a tool is called first.
fn script(number: usize) -> Value {
    let says = json!({"say": answer(number), "stream": 5, "repeat": 1});
    let writes =
        json!({"say": "I write.", "calls": [{"tool": "write_file", "args": {"path": "f", "content": "x"}}]});
    let runs = json!({"calls": [{"tool": "bash", "args": {"command": "echo x >> f"}}]});
    let one: &[Value] = match number % PLACES {
        1 => &[writes, says],
        2 => &[runs, says],
        _ => &[says],
    };
    // A turn that is cut short between two answers leaves the next one to begin in the middle.
    json!({"turns": (0..KILLS).flat_map(|_| one.iter().cloned()).collect::<Vec<_>>()})
}
