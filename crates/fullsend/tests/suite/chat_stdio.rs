//! `fullsend chat --stdio`: how the service starts, what it tells of turns, and how it ends.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, finish, runs_with, send, wait_for};
use crate::suite::chat_place::{Chat, kinds};

fn bash(command: &str) -> Value {
    json!({"tool": "bash", "args": {"command": command}})
}

fn place(turns: &[Value]) -> AgentPlace {
    AgentPlace::new(&json!({ "turns": turns }))
}

#[test]
fn an_answer_comes_in_pieces_that_are_its_text() {
    let place = place(&[
        json!({"say": "Hello there, friend.", "stream": 6, "usage": {"input_tokens": 12, "output_tokens": 5}}),
        json!({"say": "Once more.", "stream": 4, "usage": {"input_tokens": 20, "output_tokens": 3}}),
    ]);
    let mut chat = Chat::start(&place, &[]);
    let session = chat.session(&json!({}));
    assert_eq!(session["model"], "replay");
    let end = chat.complete("t1", &json!({}));
    assert_eq!(end["finalText"], "Hello there, friend.");
    assert_eq!(end["usage"], json!({"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}));
    let deltas: Vec<&str> = chat
        .lines
        .iter()
        .filter(|line| line["event"]["kind"] == "assistant_delta")
        .filter_map(|line| line["event"]["text"].as_str())
        .collect();
    assert_eq!(deltas, ["Hello ", "there,", " frien", "d."]);
    // What a turn used is what it used, not what the session did.
    let end = chat.complete("t2", &json!({}));
    assert_eq!(end["usage"], json!({"inputTokens": 20, "outputTokens": 3, "totalTokens": 23}));
    let (code, stderr, lines) = chat.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let sequences: Vec<u64> = lines.iter().filter_map(|line| line["sequence"].as_u64()).collect();
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
}

#[test]
fn calls_and_what_they_change_are_told() {
    let place = place(&[
        json!({"say": "First this.", "calls": [
            {"tool": "write_file", "args": {"path": "a.txt", "content": "one\n"}},
            {"tool": "edit_file", "args": {"path": "a.txt", "edits": [{"oldText": "one", "newText": "two"}]}},
            bash("exit 3"),
            {"tool": "web_fetch", "args": {"url": "http://127.0.0.1:1/"}},
        ]}),
        json!({"say": "Done."}),
    ]);
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    chat.complete("t1", &json!({}));
    let told: Vec<(&str, String)> = chat
        .lines
        .iter()
        .filter_map(|line| {
            let event = &line["event"];
            let kind = event["kind"].as_str()?;
            let what = match kind {
                "tool_started" => {
                    format!("{} {}", event["tool"]["toolId"].as_str()?, event["summary"].as_str()?)
                }
                "tool_completed" => {
                    format!("{} {}", event["tool"]["toolId"].as_str()?, event["status"].as_str()?)
                }
                "file_changed" => {
                    format!("{} {}", event["change"]["path"].as_str()?, event["change"]["summary"].as_str()?)
                }
                _ => return None,
            };
            Some((kind, what))
        })
        .collect();
    let expected = [
        ("tool_started", "write_file a.txt"),
        ("tool_completed", "write_file completed"),
        ("file_changed", "/workspace/a.txt write_file replace"),
        ("tool_started", "edit_file a.txt"),
        ("tool_completed", "edit_file completed"),
        ("file_changed", "/workspace/a.txt edit_file applied 1 edit(s), 1 replacement(s)"),
        ("tool_started", "bash exit 3"),
        ("tool_completed", "bash completed"),
        ("tool_started", "web_fetch http://127.0.0.1:1/"),
        ("tool_completed", "web_fetch denied"),
    ];
    assert_eq!(told, expected.map(|(kind, what)| (kind, what.to_owned())));
    let of = |tool: &str| {
        let is_it = |line: &&Value| {
            line["event"]["kind"] == "tool_completed" && line["event"]["tool"]["toolId"] == tool
        };
        chat.lines.iter().find(is_it).unwrap()["event"].clone()
    };
    assert!(of("edit_file")["diff"].as_str().unwrap().contains("-one\n+two\n"));
    assert_eq!(of("web_fetch")["reason"], "the tool is not allowed in this run");
    assert_eq!(fs::read_to_string(place.workspace().join("a.txt")).unwrap(), "two\n");
}

#[test]
fn subagents_are_told_and_paid_for() {
    let place = AgentPlace::new(&json!({
        "turns": [
            {"calls": [{"tool": "delegate_task", "args": {"goal": "Say hi"}}], "usage": {"input_tokens": 1, "output_tokens": 1}},
            {"say": "Done.", "usage": {"input_tokens": 1, "output_tokens": 1}},
        ],
        "conversations": [{"user": "Task:", "turns": [{"say": "hi", "usage": {"input_tokens": 10, "output_tokens": 10}}]}],
    }));
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    let end = chat.complete("t1", &json!({}));
    assert_eq!(end["usage"]["totalTokens"], 24);
    let expected = ["tool_started", "subagent_started", "subagent_completed", "tool_completed"];
    assert_eq!(chat.kinds()[2..6], expected);
}

#[test]
fn cancelling_ends_the_command_that_runs() {
    let place = place(&[json!({"calls": [bash("sleep 86531")]}), json!({"say": "Going on."})]);
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    chat.turn("t1", &json!({}));
    chat.event("tool_started");
    assert!(wait_for(&mut chat.child, || runs_with("86531")));
    let status = chat.done("cancel_turn", &json!({"sessionId": "s1", "reason": "enough"}));
    assert_eq!(status["status"], "canceling");
    chat.event("status_changed");
    assert!(!runs_with("86531"));
    // The call is not made again, and what the model is told about it is nothing new to the client.
    chat.complete("t2", &json!({}));
    let told = kinds(&chat.lines);
    assert_eq!(
        told[told.len() - 4..],
        ["turn_started", "assistant_delta", "assistant_completed", "turn_completed"]
    );
    let turns = chat.done("list_turns", &json!({"status": "canceled"}));
    assert_eq!(turns["turns"][0]["turn"]["cancelReason"], "enough");
}

#[test]
fn closing_ends_the_turn_and_then_the_session() {
    let place = place(&[json!({"calls": [bash("sleep 86532")]})]);
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    chat.turn("t1", &json!({}));
    chat.event("tool_started");
    assert!(wait_for(&mut chat.child, || runs_with("86532")));
    assert_eq!(chat.done("close_session", &json!({"sessionId": "s1"}))["status"], "closed");
    assert_eq!(chat.kinds()[3..], ["turn_canceled", "status_changed", "session_closed"]);
    assert!(!runs_with("86532"));
    assert_eq!(chat.end().0, Some(0));
}

#[test]
fn a_signal_ends_turns_and_the_service() {
    let place = place(&[json!({"calls": [bash("sleep 86533")]})]);
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    chat.turn("t1", &json!({}));
    assert!(wait_for(&mut chat.child, || runs_with("86533")));
    send(&chat.child, Signal::TERM);
    let event = chat.until(|line| line["event"]["kind"] == "status_changed");
    assert_eq!(event["event"]["session"]["status"], "idle");
    assert!(!runs_with("86533"));
    assert_eq!(chat.end().0, Some(0));
}

#[test]
fn the_end_of_the_input_waits_for_the_turn() {
    let place = place(&[json!({"calls": [bash("sleep 0.3; echo late > log")]}), json!({"say": "Done."})]);
    let mut chat = Chat::start(&place, &[]);
    chat.session(&json!({}));
    chat.turn("t1", &json!({}));
    let (code, _, lines) = chat.end();
    assert_eq!(code, Some(0));
    assert_eq!(*kinds(&lines).last().unwrap(), "turn_completed");
    assert_eq!(fs::read_to_string(place.workspace().join("log")).unwrap(), "late\n");
}

#[test]
fn a_client_that_is_gone_does_not_cut_a_turn_short() {
    let place = place(&[json!({"calls": [bash("sleep 0.3; echo late > log")]}), json!({"say": "Done."})]);
    let mut chat = Chat::kept(&place, &[]);
    chat.session(&json!({}));
    chat.turn("t1", &json!({}));
    chat.event("tool_started");
    chat.stop_reading();
    let ran = chat.child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot be written"), "{ran:?}");
    assert_eq!(fs::read_to_string(place.workspace().join("log")).unwrap(), "late\n");
    let mut again = Chat::kept(&place, &[]);
    let listed = again.done("list_events", &json!({}));
    assert_eq!(*kinds(listed["events"].as_array().unwrap()).last().unwrap(), "turn_completed");
}

#[test]
fn a_service_that_cannot_start_says_so_to_people_only() {
    let place = place(&[json!({"say": "Hi."})]);
    let stdio = ["chat", "--stdio", "--replay", "../model.yaml"];
    let table: [(&[&str], i32, &str); 6] = [
        (&["--chat-session-db", "nowhere/chat.db"], 1, "nowhere/chat.db"),
        (&["--chat-max-in-memory-events", "many"], 2, "--chat-max-in-memory-events"),
        (&["--unheard-of"], 2, "--unheard-of"),
        (&["--cwd", "."], 2, "workspace.cwd"),
        (&["--workspace", "nowhere"], 1, "nowhere"),
        (&["--cfc-enforcement-mode", "x"], 1, "cfc enforcement mode"),
    ];
    for (more, code, message) in table {
        let ran = finish(place.command(&[&stdio[..], more].concat()));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        assert!(ran.stderr.contains(message), "{ran:?}");
    }
    let ran = finish(place.command(&["chat", "--stdio"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("--gateway-base-url"), "{ran:?}");
    let ran = finish(place.command(&["chat", "--replay", "../model.yaml"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("--stdio"), "{ran:?}");
}

#[test]
fn sessions_are_kept_where_the_environment_says() {
    let place = place(&[json!({"say": "Hi."})]);
    for name in ["FULLSEND_CHAT_SESSION_DB", "CF_HARNESS_CHAT_SESSION_DB"] {
        let file = place.beside(name);
        let mut command = place.command(&["chat", "--stdio", "--replay", "../model.yaml"]);
        let ran = finish({
            command.env(name, &file).stdin(Stdio::null());
            command
        });
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
        assert!(file.is_file());
    }
}

#[test]
fn a_session_needs_a_place_that_is_there_and_may_be_used() {
    let place = place(&[json!({"say": "Hi."})]);
    fs::create_dir(place.workspace().join("inside")).unwrap();
    let mut chat = Chat::start(&place, &["--workspace", "inside"]);
    let mut start =
        |workspace: Value| chat.ask("start_session", &json!({ "workspace": workspace }))["error"].clone();
    let inside = place.workspace().join("inside");
    let error = start(json!({"hostPath": inside.join("nowhere")}));
    assert_eq!(
        (&error["code"], &error["details"]["path"]),
        (&json!("invalid_request"), &json!("params.workspace.hostPath"))
    );
    let error = start(json!({"hostPath": inside, "cwd": "/workspace/nowhere"}));
    assert_eq!(
        (&error["code"], &error["details"]["path"]),
        (&json!("invalid_request"), &json!("params.workspace.cwd"))
    );
    assert_eq!(start(json!({"hostPath": place.workspace()}))["code"], "policy_denied");
    assert_eq!(start(json!({"hostPath": inside, "cwd": "/workspace"})), Value::Null);
}

#[test]
fn many_turns_have_room_for_their_files() {
    let place = place(&[json!({"say": "Hello."})]);
    let service = place.command(&["chat", "--stdio", "--replay", "../model.yaml"]);
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -Sn 100 && exec \"$0\" \"$@\""])
        .arg(service.get_program())
        .args(service.get_args());
    limited.current_dir(place.workspace()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = limited.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let [now, most] = files.split_whitespace().take(2).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(now, most, "{limits}");
    drop(input);
    assert!(child.wait().unwrap().success());
}
