//! Servers that hang, flood or lead astray.

use std::time::Duration;

use fullsend_model::ModelError;
use fullsend_testkit::gateway::{Ending, GatewayReply, ScriptedGateway};
use serde_json::json;

use super::support::{answer_to, complete, quick};

#[test]
fn silence_has_an_end() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n";
    let cases = [
        ("no head", GatewayReply::raw("", Ending::Hang)),
        ("half a head", GatewayReply::raw("HTTP/1.1 200 OK\r\n", Ending::Hang)),
        ("half an answer", GatewayReply::stream(text).hang()),
    ];
    for (name, reply) in cases {
        let server = ScriptedGateway::sequence(vec![reply]);
        let mut config = quick(&server.url());
        config.timeouts.first_byte = Duration::from_millis(50);
        config.timeouts.idle = Duration::from_millis(50);
        config.retries.max_attempts = 2;
        let error = complete(config).0.unwrap_err();
        assert!(matches!(&error, ModelError::Transport { timed_out: true, .. }), "{name}: {error}");
        assert!(error.to_string().contains("timed out"), "{name}: {error}");
        assert_eq!(error.attempts().len(), 2, "{name}");
    }
}

#[test]
fn everything_together_has_an_end() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n".as_bytes();
    let reply = GatewayReply::stream_in_pieces(&vec![text; 1000]).paced(Duration::from_millis(20));
    let server = ScriptedGateway::sequence(vec![reply]);
    let mut config = quick(&server.url());
    config.timeouts.total = Duration::from_millis(200);
    let error = complete(config).0.unwrap_err();
    assert!(matches!(&error, ModelError::Transport { timed_out: true, .. }), "{error}");
    assert_eq!(error.attempts().len(), 1);
}

#[test]
fn nobody_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = complete(quick(&url)).0.unwrap_err();
    assert!(matches!(&error, ModelError::Transport { timed_out: false, .. }), "{error}");
    assert_eq!(error.attempts().len(), 4);
}

#[test]
fn floods_are_cut_off() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let block = "x".repeat(1 << 16);
    let event = format!("data: {}\n\n", json!({"choices": [{"delta": {"content": block}}]}));
    let calls: Vec<_> = (0..5000)
        .map(|index| json!({"index": index, "id": format!("c{index}"), "function": {"name": "bash", "arguments": "{}"}}))
        .collect();
    let calls = json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let cases = [
        ("a line without end", format!("{head}data: {block}"), Ending::Endless, "8 MiB"),
        ("lines without end", format!("{head}data: {block}\n"), Ending::Endless, "8 MiB"),
        ("JSON without end", format!("{head}{{{block}"), Ending::Endless, "32 MiB"),
        ("events without end", format!("{head}{event}"), Ending::Endless, "32 MiB"),
        ("comments without end", format!("{head}:{block}\n"), Ending::Endless, "32 MiB"),
        ("headers without end", format!("HTTP/1.1 200 OK\r\nX: {block}\r\n"), Ending::Endless, "HTTP/1.1"),
        ("too many calls", format!("{head}data: {calls}\n\n"), Ending::Close, "4096"),
    ];
    for (name, text, ending, expected) in cases {
        // The head must not be repeated, so what follows it is a piece of its own.
        let reply = match text.strip_prefix(head) {
            Some(rest) => GatewayReply::raw(head, ending).then(rest),
            None => GatewayReply::raw(text, ending),
        };
        let error = answer_to(reply).unwrap_err();
        assert!(matches!(&error, ModelError::Malformed { .. }), "{name}: {error}");
        assert!(error.to_string().contains(expected), "{name}: {error}");
        assert!(error.to_string().len() < 4096, "{name}");
    }
}

#[test]
fn deep_nesting_and_wide_lists_cost_nothing() {
    let deep = format!("data: {{\"choices\":{}\n\n", "[".repeat(100_000));
    assert!(answer_to(GatewayReply::stream(deep)).is_err());
    let wide = format!("{{\"choices\":[{}0]}}", "0,".repeat(2_000_000));
    assert!(matches!(answer_to(GatewayReply::status(200, wide)), Err(ModelError::Malformed { .. })));
}

#[test]
fn nonsense_is_malformed_at_once() {
    let cases = [
        ("<html>login</html>", "web page"),
        ("{\"choices\":[]}", "no message"),
        ("{}", "no message"),
        ("{\"choices\":[{\"finish_reason\":\"stop\"}]}", "no message"),
        ("data: {\"a\" 1}\n\n", "not the JSON"),
        ("data: [DONE]\n\n", "no message"),
        ("{\"choices\":[1,2]}", "no message"),
    ];
    for (body, expected) in cases {
        let server = ScriptedGateway::sequence(vec![GatewayReply::status(200, body)]);
        let error = complete(quick(&server.url())).0.unwrap_err();
        assert!(matches!(&error, ModelError::Malformed { .. }), "{body}: {error}");
        assert!(error.to_string().contains(expected), "{body}: {error}");
        assert_eq!(server.requests().len(), 1, "{body}");
    }
}

#[test]
fn encodings_that_were_not_asked_for_are_named() {
    let error = answer_to(GatewayReply::with_headers(200, "Content-Encoding: gzip\r\n", "x")).unwrap_err();
    assert!(error.to_string().contains("`gzip`"), "{error}");
    let plain = r#"{"choices":[{"message":{"content":"x"}}]}"#;
    assert!(answer_to(GatewayReply::with_headers(200, "Content-Encoding: identity\r\n", plain)).is_ok());
}

#[test]
fn redirects_are_not_followed() {
    let other = ScriptedGateway::sequence(vec![super::support::says("stolen")]);
    for status in [301, 302, 303, 307, 308] {
        let location = format!("Location: {}/elsewhere?token=1\r\n", other.url());
        let server = ScriptedGateway::sequence(vec![GatewayReply::with_headers(status, &location, "")]);
        let error = complete(quick(&server.url())).0.unwrap_err();
        assert!(matches!(&error, ModelError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("redirect") && !error.to_string().contains("token"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
    assert_eq!(other.connections(), 0);
}
