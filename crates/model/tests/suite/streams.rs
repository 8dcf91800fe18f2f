//! Streams, cut anywhere and written in every way.

use fullsend_model::FinishReason;
use fullsend_testkit::gateway::{Ending, GatewayReply, ScriptedGateway};
use proptest::prelude::*;

use super::support::{answer_to, block_on, complete_with, question, quick};

const CALL: &str = r#"{"choices":[{"index":0,"delta":{"content":"Grüße 🦀","tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"c\":\"ä\"}"}}]}}]}"#;
const END: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}"#;

/// The same stream with each kind of line end, with comments, names and data of several lines.
fn samples() -> Vec<Vec<u8>> {
    let plain = format!("data: {CALL}\n\ndata: {END}\n\ndata: {USAGE}\n\ndata: [DONE]\n\n");
    let several_lines = CALL.replacen(",", ",\ndata: ", 1);
    let odd = format!(
        "\u{feff}: ping\n\n:\nevent: message\nid: 1\nretry: 10\ndata:{several_lines}\n\n\n\ndata\ndata: {END}\n\n: ping\n\ndata: {USAGE}\n\ndata:[DONE]"
    );
    vec![
        plain.clone().into_bytes(),
        plain.replace('\n', "\r\n").into_bytes(),
        plain.replace('\n', "\r").into_bytes(),
        odd.into_bytes(),
        format!("data: {CALL}\ndata: {END}\ndata: {USAGE}\ndata: [DONE]\n").into_bytes(),
    ]
}

fn check(completion: fullsend_model::Completion, name: &str) {
    assert_eq!(completion.message.content, "Grüße 🦀", "{name}");
    assert_eq!(completion.message.tool_calls.len(), 1, "{name}");
    assert_eq!(completion.message.tool_calls[0].arguments, "{\"c\":\"ä\"}", "{name}");
    assert_eq!(completion.finish, FinishReason::ToolCalls, "{name}");
    assert_eq!(completion.usage.total_tokens, Some(12), "{name}");
}

#[test]
fn a_stream_may_be_cut_at_every_byte() {
    for (number, sample) in samples().into_iter().enumerate() {
        let cuts = sample.len();
        let server = ScriptedGateway::start(move |request: &fullsend_testkit::gateway::GatewayRequest| {
            let (head, tail) = sample.split_at(request.number % sample.len());
            GatewayReply::stream_in_pieces(&[head, tail])
        });
        let gateway = fullsend_model::Gateway::new(quick(&server.url())).unwrap();
        block_on(async {
            for cut in 0..cuts {
                let (outcome, _) = complete_with(&gateway, &question(), &[]).await;
                check(outcome.unwrap(), &format!("sample {number}, cut {cut}"));
            }
        });
        assert_eq!(server.requests().len(), cuts);
    }
}

#[test]
fn a_stream_may_come_byte_by_byte() {
    for sample in samples() {
        let pieces: Vec<&[u8]> = sample.chunks(1).collect();
        check(answer_to(GatewayReply::stream_in_pieces(&pieces)).unwrap(), "bytes");
    }
}

#[test]
fn the_end_may_be_missing_when_the_reason_is_there() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let text = format!("{head}data: {CALL}\n\ndata: {END}\n\ndata: {USAGE}\n\n");
    check(answer_to(GatewayReply::raw(text, Ending::Close)).unwrap(), "no end");
    let text = format!("data: {CALL}\n\ndata: {END}\n\ndata: {USAGE}\n\n");
    check(answer_to(GatewayReply::stream(&text).cut()).unwrap(), "cut after the reason");
    let text = format!("data: {CALL}\n\ndata: {USAGE}\n\ndata: [DONE]\n\n");
    check(answer_to(GatewayReply::stream(text)).unwrap(), "no reason, but calls");
}

#[test]
fn pieces_are_reported_as_they_come() {
    let text = concat!(
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\",\"reasoning\":\"hm\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"reasoning\":\"so\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    let server = ScriptedGateway::sequence(vec![GatewayReply::stream(text)]);
    let (outcome, heard) = super::support::complete(quick(&server.url()));
    assert_eq!(heard, ["reasoning hm", "reasoning so", "text a", "text b"]);
    assert_eq!(outcome.unwrap().message.content, "ab");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever comes, there is an answer or an error.
    #[test]
    fn nothing_panics(body in proptest::collection::vec(any::<u8>(), 0..200), lead in prop_oneof!["", "data: ", "\\{", "data: \\{\"choices\":"]) {
        let body = [lead.replace('\\', "").as_bytes(), &body].concat();
        let _whatever = answer_to(GatewayReply::stream(body));
    }
}
