//! Models that follow a script.

use std::path::Path;

use fullsend_model::replay::ReplayError;
use fullsend_model::{
    Completion, Conversation, FinishReason, Message, ModelClient, ModelError, Replay, Usage,
};
use serde_json::{Value, json};

use super::support::{block_on, complete_with};

fn script(text: &str) -> Replay {
    Replay::from_text(Path::new("model.yaml"), text).unwrap_or_else(|error| panic!("{error}"))
}

fn start(prompt: &str) -> Conversation {
    let mut conversation = Conversation::default();
    conversation.push(Message::User { content: prompt.to_owned(), images: Vec::new() });
    conversation
}

/// Asks for the next turn.
fn next(replay: &Replay, conversation: &Conversation) -> Result<Completion, ModelError> {
    block_on(complete_with(replay, conversation, &[])).0
}

/// Plays a turn, and answers its calls in order.
fn step(replay: &Replay, conversation: &mut Conversation, results: &[Value]) -> Completion {
    let completion = next(replay, conversation).unwrap_or_else(|error| panic!("{error}"));
    conversation.push(Message::Assistant(completion.message.clone()));
    assert_eq!(completion.message.tool_calls.len(), results.len(), "{completion:?}");
    for (call, result) in completion.message.tool_calls.iter().zip(results) {
        let content = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
        conversation.push(Message::Tool { call_id: call.id.clone(), content });
    }
    completion
}

fn arguments(completion: &Completion) -> Vec<&str> {
    completion.message.tool_calls.iter().map(|call| call.arguments.as_str()).collect()
}

/// The first block of code in the documentation.
fn documented() -> String {
    let page = include_str!("../../../../docs/replay.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_documented_script_plays() {
    let replay = script(&documented());
    assert_eq!((replay.turns(), replay.provider()), (7, "replay"));
    let mut conversation = start("List the files.");
    let listing = json!({"exitCode": 0, "stdout": "README.md\nsrc\n", "files": ["README.md", "src"]});
    let first = step(&replay, &mut conversation, &[listing]);
    assert_eq!(first.message.content, "Let me look at the files.");
    assert_eq!(first.finish, FinishReason::ToolCalls);
    let usage = Usage {
        input_tokens: Some(120),
        output_tokens: Some(15),
        total_tokens: Some(135),
        ..Usage::default()
    };
    assert_eq!(first.usage, usage);
    let second = step(&replay, &mut conversation, &[json!("text"), json!({"exitCode": 0})]);
    assert_eq!(arguments(&second), [r#"{"path":"README.md"}"#, r#"{"command":"make install"}"#]);
    for iteration in 1..=3 {
        let third = step(&replay, &mut conversation, &[json!("ok")]);
        assert_eq!(arguments(&third), [format!("{{\"command\":\"echo {iteration}\"}}")]);
    }
    assert_eq!(arguments(&step(&replay, &mut conversation, &[json!("bad")])), [r#"{"command": "ls"#]);
    let (last, heard) = block_on(complete_with(&replay, &conversation, &[]));
    let last = last.unwrap();
    assert_eq!(last.message.content, "There are 7 results. Done.\n");
    assert_eq!(last.finish, FinishReason::Stop);
    assert_eq!(heard.first().map(String::as_str), Some("text There ar"));
    assert_eq!(heard.iter().map(|piece| piece.trim_start_matches("text ").len()).max(), Some(8));
    conversation.push(Message::Assistant(last.message));
    let error = next(&replay, &conversation).unwrap_err().to_string();
    assert!(error.contains("model.yaml:") && error.contains("ends after 7 turns"), "{error}");
}

#[test]
fn the_documented_departure_is_what_comes() {
    let replay = script(&documented());
    let mut conversation = start("files");
    step(&replay, &mut conversation, &[json!({"exitCode": 2, "stdout": ""})]);
    let error = next(&replay, &conversation).unwrap_err().to_string();
    let page = include_str!("../../../../docs/replay.md");
    assert!(page.contains(&error), "{error}");
}

#[test]
fn an_interrupted_call_has_a_turn_of_its_own_as_often_as_needed() {
    let replay = script(&documented());
    let interrupted = json!({"type": "fullsend.interrupted", "detail": "…"});
    let mut conversation = start("files");
    step(&replay, &mut conversation, &[json!({"exitCode": 0, "stdout": "README.md src"})]);
    step(&replay, &mut conversation, &[json!("text"), interrupted.clone()]);
    for result in [interrupted, json!("ok")] {
        // Another process knows the file and the conversation, and goes on at the same place.
        let replay = script(&documented());
        let inserted = step(&replay, &mut conversation, &[result]);
        assert_eq!(arguments(&inserted), [r#"{"command":"make status"}"#]);
    }
    let third = step(&replay, &mut conversation, &[json!("ok")]);
    assert_eq!(arguments(&third), [r#"{"command":"echo 1"}"#]);
    let ids: std::collections::BTreeSet<String> = conversation
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool { call_id, .. } => Some(call_id.clone()),
            Message::System { .. } | Message::User { .. } | Message::Assistant(_) => None,
        })
        .collect();
    assert_eq!(ids.len(), 6);
    let quoted = json!({"stdout": "{\"type\":\"fullsend.interrupted\"}"});
    let mut conversation = start("files");
    step(&replay, &mut conversation, &[json!({"exitCode": 0, "stdout": "README.md src"})]);
    step(&replay, &mut conversation, &[json!("text"), quoted]);
    assert_eq!(arguments(&next(&replay, &conversation).unwrap()), [r#"{"command":"echo 1"}"#]);
}

#[test]
fn departures_say_where_and_how() {
    let cases: &[(&str, Value, &[&str])] = &[
        (
            "json: {exitCode: 0}",
            json!({"exitCode": 2, "stdout": "x"}),
            &["-  \"exitCode\": 0", "+  \"exitCode\": 2", "   \"stdout\""],
        ),
        ("json: {a: [{b: 1}]}", json!({"a": []}), &["+  \"a\": []"]),
        ("{json: 1, at: /a/b}", json!({"a": 2}), &["nothing at `/a/b`"]),
        ("json: 1", json!("plain"), &["is not JSON"]),
        (
            "contains: needle {{ turn }}",
            json!("hay\nstack\u{1b}[2J"),
            &["-needle 2", "+hay", "+stack\\u{1b}[2J"],
        ),
        ("matches: '^b'", json!("abc"), &["-^b", "+abc"]),
        ("{result: 5, contains: x}", json!("x"), &["result 5", "there are 1 results"]),
        ("{result: -2, contains: x}", json!("x"), &["result -2"]),
        ("user: nobody said this", json!("x"), &["last user message", "-nobody said this", "+hello"]),
    ];
    for (expect, result, expected) in cases {
        let replay = script(&format!(
            "turns:\n  - calls: [{{tool: bash}}]\n  - expect:\n      - {expect}\n    say: x\n"
        ));
        let mut conversation = start("hello");
        step(&replay, &mut conversation, std::slice::from_ref(result));
        let ModelError::Departed { problem } = next(&replay, &conversation).unwrap_err() else { panic!() };
        assert!(problem.starts_with("model.yaml:4:") && problem.contains("turn 2:"), "{problem}");
        for part in *expected {
            assert!(problem.contains(part), "{part} in {problem}");
        }
    }
}

#[test]
fn expectations_that_hold() {
    let cases = [
        ("json: {exitCode: 0}", json!({"exitCode": 0, "more": [1]})),
        ("json: {exitCode: 0.0, a: {b: null}}", json!({"exitCode": 0, "a": {"b": null, "c": 1}})),
        ("{json: [{x: 1}, {}], at: /list}", json!({"list": [{"x": 1, "y": 2}, {"z": 3}]})),
        ("{contains: '{{ results[0].a }}', user: hel, matches: 'a.:'}", json!({"a": "b"})),
        ("{result: 0, contains: x}", json!("x")),
    ];
    for (expect, result) in cases {
        let replay = script(&format!(
            "turns:\n  - calls: [{{tool: bash}}]\n  - expect:\n      - {expect}\n    say: x\n"
        ));
        let mut conversation = start("hello");
        step(&replay, &mut conversation, &[result]);
        assert!(next(&replay, &conversation).is_ok(), "{expect}: {:?}", next(&replay, &conversation));
    }
}

#[test]
fn a_missing_result_is_a_departure() {
    let replay = script("turns:\n  - calls: [{tool: a}, {tool: b}]\n  - say: '{{ results[7] }}'\n");
    let mut conversation = start("x");
    let first = next(&replay, &conversation).unwrap();
    let id = first.message.tool_calls[0].id.clone();
    conversation.push(Message::Assistant(first.message));
    conversation.push(Message::Tool { call_id: id, content: "x".to_owned() });
    let error = next(&replay, &conversation).unwrap_err().to_string();
    assert!(error.contains("`replay_0_1` has no result"), "{error}");
    conversation.push(Message::Tool { call_id: "replay_0_1".to_owned(), content: "y".to_owned() });
    let error = next(&replay, &conversation).unwrap_err().to_string();
    assert!(error.contains("model.yaml:3:") && error.contains("cannot fill"), "{error}");
}

#[test]
fn only_double_braces_are_special() {
    let text = "turns:\n  - calls:\n      - tool: bash\n        args: {command: \"echo ${#a[@]} {% raw %} $((1)) '{{ turn }}' <b>&\\n\"}\n";
    let completion = next(&script(text), &start("x")).unwrap();
    let arguments: Value = serde_json::from_str(&completion.message.tool_calls[0].arguments).unwrap();
    assert_eq!(arguments["command"], "echo ${#a[@]} {% raw %} $((1)) '1' <b>&\n");
}

#[test]
fn templates_that_do_not_end_are_ended() {
    let text = "turns:\n  - say: '{{% for a in range(9999) %}}{{% for b in range(9999) %}}x{{% endfor %}}{{% endfor %}}'\n";
    let error = next(&script(text), &start("x")).unwrap_err().to_string();
    assert!(error.contains("fuel"), "{error}");
}

#[test]
fn wrong_scripts_are_refused_with_place_and_remedy() {
    let cases = [
        ("", "model.yaml:1:1", "turns"),
        ("turns: []", "model.yaml:1", "no turns"),
        ("turns:\n  - {}\n", "model.yaml:2:5", "says nothing"),
        ("turns:\n  - sai: x\n", "model.yaml:2:5", "did you mean `say`?"),
        ("turns:\n  - say: x\n    repeat: 0\n", "model.yaml:3:13", "from 1 to"),
        ("turns:\n  - say: x\n    finish: done\n", "model.yaml:3:13", "`stop`"),
        ("turns:\n  - say: '{{ x'\n", "model.yaml:2:10", "template"),
        ("turns:\n  - calls: [{tool: a, args: {b: ['{{ | }}']}}]\n", "model.yaml:2:", "template"),
        ("turns:\n  - calls: [{args: {}}]\n", "model.yaml:2:", "has no `tool`"),
        ("turns:\n  - calls: [{tool: a, args: {}, raw: x}]\n", "model.yaml:2:", "exclude each other"),
        ("turns:\n  - say: x\n    expect: [{matches: '('}]\n", "model.yaml:3:", "regular expression"),
        ("turns:\n  - say: x\n    expect: [{result: 1}]\n", "model.yaml:3:", "nothing is expected"),
        ("turns:\n  - say: x\n    expect: [{contains: a, at: b}]\n", "model.yaml:3:", "JSON pointer"),
        ("turns:\n  - say: x\n    usage: {input_tokens: -1}\n", "model.yaml:3:", "0 or more"),
        ("turns: [", "model.yaml:", ""),
    ];
    for (text, place, expected) in cases {
        let error = Replay::from_text(Path::new("model.yaml"), text).unwrap_err();
        let ReplayError::Invalid { problems } = &error else { panic!("{error}") };
        assert_eq!(problems.len(), 1, "{text}: {error}");
        assert!(problems[0].starts_with(place) && problems[0].contains(expected), "{text}: {error}");
    }
    assert!(matches!(Replay::open(Path::new("/does/not/exist")), Err(ReplayError::Read { .. })));
}

#[test]
fn many_turns_are_short_to_write() {
    let text = "turns:\n  - repeat: 200\n    calls: [{tool: bash, args: {command: 'echo {{ iteration }}'}}]\n  - say: done\n";
    let replay = script(text);
    let mut conversation = start("go");
    for iteration in 1..=200 {
        let completion = step(&replay, &mut conversation, &[json!("ok")]);
        assert_eq!(arguments(&completion), [format!("{{\"command\":\"echo {iteration}\"}}")]);
    }
    assert_eq!(next(&replay, &conversation).unwrap().message.content, "done");
}
