//! What servers send, in all the ways in which they send it.

use fullsend_model::{FinishReason, Message};
use fullsend_testkit::gateway::{GatewayReply, ScriptedGateway};
use serde_json::{Value, json};

use super::support::{answer_to, block_on, complete_with, question, quick};

/// Wraps a delta into an event.
fn delta(delta: Value) -> Value {
    json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// The event that ends an answer.
fn finish(reason: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// A piece of a call.
fn piece(call: Value) -> Value {
    delta(json!({"tool_calls": [call]}))
}

/// What came of an answer: text, calls as `id name arguments`, and the reason.
fn outcome(reply: GatewayReply) -> (String, Vec<String>, FinishReason) {
    let completion = answer_to(reply).unwrap();
    let calls = completion.message.tool_calls.iter();
    let calls = calls.map(|call| format!("{} {} {}", call.id, call.name, call.arguments)).collect();
    (completion.message.content, calls, completion.finish)
}

#[test]
fn calls_come_whole_in_pieces_numbered_and_not() {
    let cases: Vec<(&str, Vec<Value>, &[&str])> = vec![
        (
            "pieces by index, the other call between them",
            vec![
                piece(
                    json!({"index": 0, "id": "a", "type": "function", "function": {"name": "bash", "arguments": ""}}),
                ),
                piece(
                    json!({"index": 1, "id": "b", "type": "function", "function": {"name": "read", "arguments": "{\"p\""}}),
                ),
                piece(json!({"index": 0, "function": {"arguments": "{\"c\":"}})),
                piece(json!({"index": 1, "function": {"arguments": ":1}"}})),
                piece(json!({"index": 0, "id": null, "function": {"name": null, "arguments": "\"ls\"}"}})),
            ],
            &["a bash {\"c\":\"ls\"}", "b read {\"p\":1}"],
        ),
        (
            "pieces without index and without ids after the first",
            vec![
                piece(json!({"id": "a", "function": {"name": "bash", "arguments": "{\"c\""}})),
                piece(json!({"function": {"arguments": ":1}"}})),
                piece(json!({"id": "b", "function": {"name": "bash", "arguments": "{}"}})),
            ],
            &["a bash {\"c\":1}", "b bash {}"],
        ),
        (
            "every piece repeats id and name",
            vec![
                piece(json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{\"c\""}})),
                piece(json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": ":1}"}})),
            ],
            &["a bash {\"c\":1}"],
        ),
        (
            "whole calls that all claim to be the first",
            vec![
                piece(json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{\"c\":1}"}})),
                piece(json!({"index": 0, "id": "b", "function": {"name": "bash", "arguments": "{\"c\":2}"}})),
            ],
            &["a bash {\"c\":1}", "b bash {\"c\":2}"],
        ),
        (
            "whole calls that all claim to be the first, and have no ids",
            vec![
                piece(json!({"index": 0, "function": {"name": "bash", "arguments": "{\"c\":1}"}})),
                piece(json!({"index": 0, "id": "", "function": {"name": "bash", "arguments": "{\"c\":2}"}})),
            ],
            &["call_2_0 bash {\"c\":1}", "call_2_1 bash {\"c\":2}"],
        ),
    ];
    check_calls(cases);
}

#[test]
fn calls_come_with_parts_missing_or_misplaced() {
    let cases: Vec<(&str, Vec<Value>, &[&str])> = vec![
        (
            "several whole calls in one event, arguments as objects, no ids",
            vec![delta(json!({"tool_calls": [
                {"function": {"name": "bash", "arguments": {"c": [1, "ä"]}}},
                {"function": {"name": "read", "arguments": {}}},
            ]}))],
            &["call_2_0 bash {\"c\":[1,\"ä\"]}", "call_2_1 read {}"],
        ),
        (
            "two calls with the same id",
            vec![
                piece(json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{}"}})),
                piece(json!({"index": 1, "id": "a", "function": {"name": "read", "arguments": "{}"}})),
            ],
            &["a bash {}", "call_2_1 read {}"],
        ),
        (
            "no arguments at all",
            vec![piece(json!({"index": 0, "id": "a", "function": {"name": "list"}}))],
            &["a list {}"],
        ),
        (
            "the form with room for one call",
            vec![
                delta(json!({"function_call": {"name": "bash", "arguments": "{\"c\""}})),
                delta(json!({"function_call": {"arguments": ":1}"}})),
            ],
            &["call_2_0 bash {\"c\":1}"],
        ),
        (
            "arguments that are no JSON stay as they are",
            vec![piece(
                json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{\"c\": \"l"}}),
            )],
            &["a bash {\"c\": \"l"],
        ),
        (
            "null in every place",
            vec![
                delta(json!({"content": null, "tool_calls": null, "function_call": null, "refusal": null})),
                piece(json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{}"}})),
                piece(json!({"index": null, "id": null, "function": null})),
            ],
            &["a bash {}"],
        ),
    ];
    check_calls(cases);
}

fn check_calls(cases: Vec<(&str, Vec<Value>, &[&str])>) {
    for (name, mut events, expected) in cases {
        events.push(finish(json!("tool_calls")));
        let (text, calls, reason) = outcome(GatewayReply::events(&events));
        assert_eq!((text.as_str(), reason), ("", FinishReason::ToolCalls), "{name}");
        assert_eq!(calls, expected, "{name}");
    }
}

#[test]
fn ids_of_earlier_calls_are_not_used_again() {
    let call = piece(json!({"index": 0, "id": "call_0", "function": {"name": "bash", "arguments": "{}"}}));
    let server = ScriptedGateway::sequence(vec![GatewayReply::events(&[call, finish(json!("tool_calls"))])]);
    let gateway = fullsend_model::Gateway::new(quick(&server.url())).unwrap();
    let mut conversation = question();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let said = block_on(complete_with(&gateway, &conversation, &[])).0.unwrap().message;
        let id = said.tool_calls[0].id.clone();
        conversation.push(Message::Assistant(said));
        conversation.push(Message::Tool { call_id: id.clone(), content: "ok".to_owned() });
        ids.push(id);
    }
    assert_eq!(ids, ["call_0", "call_4_0", "call_6_0"]);
}

#[test]
fn reasons_mean_what_is_meant() {
    let call = || piece(json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{}"}}));
    let other = |word: &str| FinishReason::Other(Some(word.to_owned()));
    let cases = [
        (json!("stop"), FinishReason::Stop, FinishReason::ToolCalls),
        (json!("eos"), FinishReason::Stop, FinishReason::ToolCalls),
        (json!("function_call"), other("function_call"), FinishReason::ToolCalls),
        (json!("tool_calls"), other("tool_calls"), FinishReason::ToolCalls),
        (json!(""), FinishReason::Other(None), FinishReason::ToolCalls),
        (json!(null), FinishReason::Other(None), FinishReason::ToolCalls),
        (json!(7), FinishReason::Other(None), FinishReason::ToolCalls),
        (json!("strange"), other("strange"), FinishReason::ToolCalls),
        (json!("length"), FinishReason::Length, FinishReason::Length),
        (json!("max_tokens"), FinishReason::Length, FinishReason::Length),
        (json!("content_filter"), FinishReason::ContentFilter, FinishReason::ContentFilter),
    ];
    for (word, without_calls, with_calls) in cases {
        let text = delta(json!({"content": "hi"}));
        let plain = outcome(GatewayReply::events(&[text.clone(), finish(word.clone())]));
        assert_eq!(plain, ("hi".to_owned(), Vec::new(), without_calls), "{word}");
        let called = outcome(GatewayReply::events(&[text, call(), finish(word.clone())]));
        assert_eq!(called.2, with_calls, "{word}");
        assert_eq!(called.1, ["a bash {}"], "{word}");
    }
}

#[test]
fn content_is_text_or_parts_or_missing() {
    let cases = [
        (json!("hi"), "hi"),
        (json!(null), ""),
        (
            json!([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b\n"}]),
            "ab\n",
        ),
        (json!([]), ""),
        (json!(12), ""),
        (json!({"text": "no"}), ""),
    ];
    for (content, expected) in cases {
        let streamed = GatewayReply::events(&[delta(json!({"content": content})), finish(json!("stop"))]);
        assert_eq!(outcome(streamed).0, expected, "{content}");
        let whole = json!({"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]});
        assert_eq!(outcome(GatewayReply::json(&whole)).0, expected, "{content}");
    }
    let absent = json!({"choices": [{"message": {"role": "assistant"}, "finish_reason": "stop"}]});
    assert_eq!(outcome(GatewayReply::json(&absent)).0, "");
    let refusal =
        [delta(json!({"refusal": "I will"})), delta(json!({"refusal": " not"})), finish(json!("stop"))];
    assert_eq!(outcome(GatewayReply::events(&refusal)).0, "I will not");
}

#[test]
fn servers_that_do_not_stream_are_understood() {
    let whole = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Let me see.",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{\"c\":1}"}},
                           {"type": "function", "function": {"name": "bash", "arguments": {"c": 2}}}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    });
    for reply in [
        GatewayReply::json(&whole),
        GatewayReply::with_headers(200, "Content-Type: text/event-stream\r\n", format!("\n {whole}")),
        GatewayReply::stream(whole.to_string()),
    ] {
        let (text, calls, reason) = outcome(reply);
        assert_eq!((text.as_str(), reason), ("Let me see.", FinishReason::ToolCalls));
        assert_eq!(calls, ["a bash {\"c\":1}", "call_2_1 bash {\"c\":2}"]);
    }
}

#[test]
fn the_first_choice_counts() {
    let other = |text: &str| json!({"choices": [{"index": 1, "delta": {"content": text}, "finish_reason": "length"}]});
    let events = [
        delta(json!({"content": "a"})),
        other("x"),
        delta(json!({"content": "b"})),
        other("y"),
        finish(json!("stop")),
    ];
    assert_eq!(outcome(GatewayReply::events(&events)), ("ab".to_owned(), Vec::new(), FinishReason::Stop));
    let message = |text: &str| json!({"message": {"content": text}, "finish_reason": "stop"});
    let whole = json!({"choices": [message("a"), message("b")]});
    assert_eq!(outcome(GatewayReply::json(&whole)).0, "a");
}

#[test]
fn half_characters_do_not_spoil_an_answer() {
    let events = concat!(
        r#"data: {"choices":[{"delta":{"content":"a\ud83d"}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}"#,
        "\n\n",
    );
    let (text, _, _) = outcome(GatewayReply::stream(events));
    assert!(text.starts_with('a') && text.ends_with('b'), "{text}");
}
