//! Many at once: sessions that stream side by side, clients that replay while another streams, and one that does not read.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use fullsend_testkit::gateway::{GatewayReply, GatewayRequest, ScriptedGateway, sse_of};
use serde_json::{Value, json};

use crate::suite::agent_place::AgentPlace;
use crate::suite::chat_process::{Chat, Heard, session, turn, without_gap};

const SESSIONS: usize = 100;
const PIECES: usize = 20;

fn text_of(name: &str) -> String {
    (0..PIECES).map(|piece| format!("{name} says {piece}. ")).collect()
}

/// Answers each conversation with a text of its own, piece by piece.
fn gateway() -> ScriptedGateway {
    ScriptedGateway::start(|request: &GatewayRequest| {
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let said = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
        let said = said["content"].to_string();
        let name = said.split("I am ").nth(1).unwrap().split('.').next().unwrap().to_owned();
        let mut pieces: Vec<String> = text_of(&name)
            .split_inclusive(". ")
            .map(|piece| {
                format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": piece}}]}))
            })
            .collect();
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let usage =
            json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}});
        pieces.push(sse_of(&[end, usage]));
        let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
        GatewayReply::stream_in_pieces(&pieces).paced(Duration::from_millis(5))
    })
}

#[test]
fn a_hundred_sessions_stream_side_by_side_and_nothing_is_lost_or_mixed_up() {
    let gateway = gateway();
    let place = AgentPlace::new(&json!({"turns": []}));
    let url = format!("{}/v1", gateway.url());
    let arguments =
        ["chat", "--stdio", "--chat-session-db", "../chat.db", "--chat-max-in-memory-events", "50"];
    let model = ["--model", "m", "--gateway-base-url", &url, "--gateway-auth-mode", "none"];
    let mut chat = Chat::spawn(place.command(&[&arguments[..], &model].concat()));
    let names: Vec<String> = (0..SESSIONS).map(|number| format!("s{number}")).collect();
    for name in &names {
        let workspace = place.beside(name);
        fs::create_dir(&workspace).unwrap();
        chat.result("start_session", &json!({"sessionId": name, "workspace": {"hostPath": workspace}}));
    }
    for name in &names {
        let said = json!({"sessionId": name, "turnId": "t", "input": {"text": format!("I am {name}.")}});
        chat.result("start_turn", &said);
    }
    assert!(chat.end().success());
    without_gap(&chat.events, 1);
    let mut told: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in chat.events.iter().map(Heard::value) {
        told.entry(event["sessionId"].as_str().unwrap().to_owned()).or_default().push(event["event"].clone());
    }
    assert_eq!(told.len(), SESSIONS);
    for (name, events) in &told {
        let kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds[..2], ["session_started", "turn_started"], "{name}");
        assert_eq!(kinds[kinds.len() - 2..], ["assistant_completed", "turn_completed"], "{name}");
        let pieces = &events[2..events.len() - 2];
        assert!(pieces.iter().all(|event| event["kind"] == "assistant_delta"), "{name}: {kinds:?}");
        let text: String = pieces.iter().map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!((text.as_str(), pieces.len() > 1), (text_of(name).as_str(), true), "{name}");
        assert_eq!(events[events.len() - 1]["usage"]["totalTokens"], 12);
    }
    let mut later = Chat::spawn(place.command(&[&arguments[..], &model].concat()));
    assert_eq!(later.listed(None, 0), chat.events);
    assert!(later.end().success());
}

#[test]
fn two_clients_replay_while_a_third_streams() {
    let text = "0123456789".repeat(400);
    let place = AgentPlace::new(&json!({"turns": [{"say": text, "stream": 4}]}));
    let mut streaming = Chat::start(&place, &[]);
    streaming.result("start_session", &session(&place, "s"));
    streaming.result("start_turn", &turn("s", "t"));
    let replayed: Vec<Vec<Heard>> = std::thread::scope(|scope| {
        let place = &place;
        let replaying = [3, 50].map(|limit| scope.spawn(move || replay(Chat::start(place, &[]), limit)));
        streaming.until(&["turn_completed", "turn_failed"]).unwrap();
        replaying.into_iter().map(|replay| replay.join().unwrap()).collect()
    });
    assert!(streaming.end().success());
    without_gap(&streaming.events, 1);
    assert!(streaming.events.len() > 1000);
    for replayed in replayed {
        assert_eq!(replayed, streaming.events);
    }
}

/// Asks for page after page until the turn is over.
fn replay(mut chat: Chat, limit: usize) -> Vec<Heard> {
    let mut listed: Vec<Heard> = Vec::new();
    loop {
        let after = listed.last().map_or(0, |event| event.sequence);
        listed.extend(chat.page(&json!({"sessionId": "s", "afterSequence": after, "limit": limit})));
        if listed.last().is_some_and(|event| event.kind() == "turn_completed") {
            assert!(chat.events.is_empty(), "told what another process did");
            return listed;
        }
    }
}

/// The turn of another process is seen by all, and only its own process can end it.
#[test]
fn a_turn_belongs_to_the_process_that_began_it() {
    let place = AgentPlace::new(&json!({"turns": [{"say": "Late.", "delay_ms": 600_000}]}));
    let mut one = Chat::start(&place, &[]);
    let mut two = Chat::start(&place, &[]);
    one.result("start_session", &session(&place, "s"));
    one.result("start_turn", &turn("s", "t"));
    let error = two.ask("start_turn", &turn("s", "u")).unwrap_err();
    assert_eq!(
        (&error["code"], &error["retryable"]),
        (&json!("turn_already_running"), &json!(true)),
        "{error}"
    );
    assert_eq!(two.ask("cancel_turn", &json!({"sessionId": "s"})).unwrap_err()["code"], "turn_elsewhere");
    assert_eq!(two.ask("close_session", &json!({"sessionId": "s"})).unwrap_err()["code"], "turn_elsewhere");
    assert_eq!(two.result("status", &json!({}))["sessions"][0]["activeTurnId"], "t");
    // Its owner gone, the turn is over, and the session goes on without a restart.
    one.child.kill().unwrap();
    one.child.wait().unwrap();
    let mut begun = two.ask("start_turn", &turn("s", "u"));
    while begun.as_ref().is_err_and(|error| error["retryable"] == true) {
        // Its sandbox was just being started, and has all that its parent had open until it is a program of its own.
        std::thread::sleep(Duration::from_millis(5));
        begun = two.ask("start_turn", &turn("s", "u"));
    }
    begun.unwrap();
    assert_eq!(two.events.iter().map(Heard::kind).collect::<Vec<_>>(), ["turn_failed", "turn_started"]);
    two.result("cancel_turn", &json!({"sessionId": "s"}));
    assert_eq!(two.until(&["status_changed"]).unwrap()["event"]["session"]["status"], "idle");
    assert!(two.end().success());
}

#[test]
fn a_client_that_does_not_read_costs_no_memory_and_then_reads_everything() {
    let text = "a".repeat(50_000);
    let place = AgentPlace::new(&json!({"turns": [{"say": "Hello."}, {"say": text, "stream": 1}]}));
    let mut slow = Chat::start(&place, &["--chat-max-in-memory-events", "10"]);
    slow.result("start_session", &session(&place, "s"));
    // What a first turn needs once is not counted.
    slow.result("start_turn", &turn("s", "first"));
    slow.until(&["turn_completed"]).unwrap();
    let before = resident(&slow);
    slow.send("start_turn", &turn("s", "t"));
    let mut watching = Chat::start(&place, &[]);
    // Not the end of the first turn, not of the second: the beginning of the second.
    while watching.page(&json!({"afterSequence": slow.events.len()})).is_empty() {}
    let mut most = 0;
    let under_way = json!({"status": "running"});
    while watching.result("list_turns", &under_way)["turns"] != json!([]) {
        most = most.max(resident(&slow));
        std::thread::sleep(Duration::from_millis(20));
    }
    most = most.max(resident(&slow));
    let stored = watching.listed(None, 0);
    slow.answer().unwrap().unwrap();
    assert!(slow.end().success());
    assert_eq!(slow.events, stored);
    without_gap(&stored, 1);
    let bytes: usize = stored.iter().map(|event| event.line.len()).sum();
    assert!(stored.len() > 50_000 && bytes > 8 << 20, "{} events, {bytes} bytes", stored.len());
    // The pages of the database that SQLite keeps, the answer itself, and little else.
    assert!(most - before < bytes / 2, "{before} bytes before, {most} at most, {bytes} told");
}

/// Bytes of memory that a process has.
fn resident(chat: &Chat) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", chat.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
