//! A gateway that sends what no model should: too much, too little, nothing, and what is not text.

use fullsend_testkit::gateway::{Ending, GatewayReply, ScriptedGateway, call as gateway_call, sse_of};
use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::hostile_run::Target;

fn said(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}}]})
}

fn finished(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn done() -> GatewayReply {
    GatewayReply::events(&[said("done"), finished("stop")])
}

/// A call whose arguments come in pieces.
fn call_in_pieces(name: &str, pieces: &[String]) -> GatewayReply {
    let mut events = vec![gateway_call(0, "c", name, "")];
    let piece = |text: &String| {
        let call = json!({"index": 0, "function": {"arguments": text}});
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    };
    events.extend(pieces.iter().map(piece));
    events.push(finished("tool_calls"));
    GatewayReply::events(&events)
}

#[test]
fn ten_megabytes_of_arguments_are_refused_for_their_length_and_not_sent_back() {
    let Some(target) = Target::new(test_name!()) else { return };
    let mut pieces = vec![r#"{"path":"big","content":""#.to_owned()];
    pieces.extend(vec!["x".repeat(1 << 20); 10]);
    pieces.push(r#""}"#.to_owned());
    for tool in ["write_file", "list_files", "no_such_tool"] {
        let gateway = ScriptedGateway::sequence(vec![call_in_pieces(tool, &pieces), done()]);
        let ended = target.ask(&gateway, &[]);
        assert_eq!(ended.ran.code, Some(0), "{:?}", ended.ran);
        let results = ended.results();
        let expected = if tool == "no_such_tool" { "unknown-tool" } else { "arguments-too-long" };
        assert_eq!(results[0]["reason"], expected);
        let second = &gateway.requests()[1];
        assert!(second.body.len() < 64 << 10, "{}", second.body.len());
        let journal = std::fs::metadata(ended.directory.join("journal.jsonl")).unwrap();
        assert!(journal.len() < 64 << 10);
    }
    assert!(!target.workspace().join("big").exists());
}

#[test]
fn a_name_or_an_id_without_end_is_not_repeated() {
    let Some(target) = Target::new(test_name!()) else { return };
    let long = "n".repeat(3 << 20);
    let events = [gateway_call(0, &long, &long, "{}"), gateway_call(1, "", "", "{}"), finished("tool_calls")];
    let gateway = ScriptedGateway::sequence(vec![GatewayReply::events(&events), done()]);
    let ended = target.ask(&gateway, &[]);
    assert_eq!((ended.ran.code, &ended.results()[0]["reason"]), (Some(0), &json!("unknown-tool")));
    assert!(gateway.requests()[1].body.len() < 64 << 10);
    let journal = std::fs::metadata(ended.directory.join("journal.jsonl")).unwrap();
    assert!(journal.len() < 64 << 10);
}

#[test]
fn what_is_not_text_on_the_wire_ends_in_an_answer_or_in_a_clean_failure() {
    let Some(target) = Target::new(test_name!()) else { return };
    let nul = sse_of(&[said("a\0b"), finished("stop")]);
    let invalid =
        [b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n" as &[u8], b"data: [DONE]\n\n"];
    let noise: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let calls = sse_of(&[gateway_call(0, "c\0", "bash\0", "\0"), finished("tool_calls")]);
    let lone = b"data: {\"choices\":[{\"delta\":{\"content\":\"\\ud800\"},\"finish_reason\":\"stop\"}]}\n\n";
    for (what, reply) in [
        ("nul", GatewayReply::stream(nul)),
        ("invalid", GatewayReply::stream(invalid.concat())),
        ("noise", GatewayReply::stream(noise.clone())),
        ("half a pair", GatewayReply::stream(lone)),
        ("no http", GatewayReply::raw(noise, Ending::Close)),
        ("nul in a call", GatewayReply::stream(calls)),
    ] {
        let gateway = ScriptedGateway::sequence(vec![reply, done()]);
        let ended = target.ask(&gateway, &[]);
        assert!(!ended.ran.stderr.contains(['\0', '\u{1b}']), "{what}: {:?}", ended.ran);
    }
}

#[test]
fn an_enormous_answer_is_taken_and_an_endless_one_is_not() {
    let Some(target) = Target::new(test_name!()) else { return };
    let mut events = vec![said(&"x".repeat(1 << 20)); 24];
    events.push(finished("stop"));
    let gateway = ScriptedGateway::sequence(vec![GatewayReply::events(&events)]);
    let ended = target.ask(&gateway, &[]);
    assert_eq!(ended.ran.code, Some(0));
    assert!(ended.ran.stdout.len() >= 24 << 20);

    let piece = format!("data: {}\n\n", said(&"x".repeat(1 << 20)));
    let endless = format!("{:x}\r\n{piece}\r\n", piece.len());
    let reply = GatewayReply::stream("").cut().then(endless).ending(Ending::Endless);
    let gateway = ScriptedGateway::sequence(vec![reply]);
    let ended = target.ask(&gateway, &["--output-mode", "batch"]);
    assert_eq!((ended.ran.code, ended.reason()), (Some(1), "prompt_loop_error"));
    assert!(ended.ran.stderr.contains("32 MiB"), "{}", ended.ran.stderr);
}

#[test]
fn enormous_answers_one_after_the_other_end_at_the_budget() {
    let Some(target) = Target::new(test_name!()) else { return };
    let mut events = vec![said(&"x".repeat(1 << 20)); 20];
    events.push(gateway_call(0, "c", "bash", r#"{"command":"echo more"}"#));
    events.push(finished("tool_calls"));
    let gateway = ScriptedGateway::sequence(vec![GatewayReply::events(&events)]);
    let ended = target.ask(&gateway, &["--output-mode", "batch"]);
    assert_eq!((ended.ran.code, ended.turns(), ended.reason()), (Some(1), 2, "budget_exhausted"));
}

#[test]
fn thousands_of_tiny_pieces_are_one_answer() {
    let Some(target) = Target::new(test_name!()) else { return };
    let mut events = vec![said("y"); 20_000];
    events.push(finished("stop"));
    let text = sse_of(&events);
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(17).collect();
    let gateway = ScriptedGateway::sequence(vec![GatewayReply::stream_in_pieces(&pieces)]);
    let ended = target.ask(&gateway, &[]);
    assert_eq!(ended.ran.code, Some(0));
    assert!(ended.ran.stdout.starts_with(&"y".repeat(20_000)));
}

#[test]
fn more_calls_than_make_sense_are_no_answer() {
    let Some(target) = Target::new(test_name!()) else { return };
    let mut events: Vec<Value> =
        (0..5_000).map(|number| gateway_call(number, &format!("c{number}"), "bash", "{}")).collect();
    events.push(finished("tool_calls"));
    let gateway = ScriptedGateway::sequence(vec![GatewayReply::events(&events)]);
    let ended = target.ask(&gateway, &[]);
    assert_eq!((ended.ran.code, ended.results().len()), (Some(1), 0));
}

#[test]
fn a_gateway_that_fails_or_hangs_forever_is_given_up() {
    let Some(target) = Target::new(test_name!()) else { return };
    let begun = GatewayReply::stream(format!("data: {}\n\n", said("and")));
    for (what, reply) in [
        ("fails", GatewayReply::status(500, "\u{1b}[31mboom")),
        ("is silent", GatewayReply::raw("", Ending::Hang)),
        ("stops", begun.hang()),
        ("closes", GatewayReply::raw("", Ending::Close)),
    ] {
        let gateway = ScriptedGateway::sequence(vec![reply]);
        let ended = target.ask(&gateway, &["--gateway-timeout-seconds", "1"]);
        assert_eq!((ended.ran.code, ended.reason()), (Some(1), "prompt_loop_error"), "{what}");
        assert!(!ended.rows_of("model_attempt").is_empty(), "{what}");
        assert!(!ended.ran.stderr.contains('\u{1b}'), "{what}: {:?}", ended.ran);
    }
    let gateway = ScriptedGateway::sequence(vec![GatewayReply::raw("", Ending::Hang)]);
    let ended = target.ask(&gateway, &["--max-seconds", "2"]);
    assert_eq!((ended.ran.code, ended.reason()), (Some(1), "budget_exhausted"));
}
