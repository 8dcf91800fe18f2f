//! What is tried again, how often, and when not.

use std::time::Duration;

use fullsend_model::{AttemptOutcome, ModelError};
use fullsend_testkit::gateway::{Ending, GatewayReply, ScriptedGateway};
use serde_json::json;

use super::support::{complete, quick, says};

/// A stream that breaks off after some text.
fn broken() -> GatewayReply {
    GatewayReply::stream("data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n").cut()
}

#[test]
fn passing_failures_are_tried_again_and_on_record() {
    let error = |code: serde_json::Value| {
        GatewayReply::stream(format!("data: {}\n\n", json!({"error": {"message": "busy", "code": code}})))
    };
    let early = GatewayReply::stream("data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n");
    let cases: Vec<(&str, GatewayReply, Option<u16>, AttemptOutcome)> = vec![
        ("408", GatewayReply::status(408, ""), Some(408), AttemptOutcome::HttpResponse),
        ("409", GatewayReply::status(409, ""), Some(409), AttemptOutcome::HttpResponse),
        ("429", GatewayReply::status(429, "slow"), Some(429), AttemptOutcome::HttpResponse),
        ("500", GatewayReply::status(500, ""), Some(500), AttemptOutcome::HttpResponse),
        ("529", GatewayReply::status(529, ""), Some(529), AttemptOutcome::HttpResponse),
        ("closed at once", GatewayReply::raw("", Ending::Close), None, AttemptOutcome::TransportError),
        (
            "closed in the head",
            GatewayReply::raw("HTTP/1.1 200 O", Ending::Close),
            None,
            AttemptOutcome::TransportError,
        ),
        ("cut", broken(), Some(200), AttemptOutcome::TransportError),
        ("early end", early, Some(200), AttemptOutcome::TransportError),
        ("empty answer", GatewayReply::status(200, ""), Some(200), AttemptOutcome::TransportError),
        (
            "cut JSON",
            GatewayReply::status(200, "{\"choices\":[{\"mess"),
            Some(200),
            AttemptOutcome::TransportError,
        ),
        ("error in the stream", error(json!(503)), Some(200), AttemptOutcome::HttpResponse),
        ("nameless error in the stream", error(json!(null)), Some(200), AttemptOutcome::HttpResponse),
    ];
    for (name, reply, status, outcome) in cases {
        let server = ScriptedGateway::sequence(vec![reply.clone(), reply, says("ok")]);
        let completion = complete(quick(&server.url())).0.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(completion.message.content, "ok", "{name}");
        let seen: Vec<_> =
            completion.attempts.iter().map(|a| (a.attempt, a.http_status, a.outcome)).collect();
        let expected =
            [(1, status, outcome), (2, status, outcome), (3, Some(200), AttemptOutcome::HttpResponse)];
        assert_eq!(seen, expected, "{name}");
        assert!(
            completion.attempts[0].error_detail.is_some() && completion.attempts[2].error_detail.is_none()
        );
        assert!(completion.attempts.iter().all(|a| a.max_attempts == 4 && a.started_at.len() == 24));
    }
}

#[test]
fn attempts_have_an_end() {
    let server =
        ScriptedGateway::sequence(vec![GatewayReply::status(503, "{\"error\":\"down\\u001b[31m\"}")]);
    let error = complete(quick(&server.url())).0.unwrap_err();
    assert_eq!(server.requests().len(), 4);
    assert_eq!(error.attempts().len(), 4);
    let ModelError::Refused { status, problem, .. } = &error else { panic!("{error}") };
    assert_eq!((*status, problem.as_str()), (503, "down\\u{1b}[31m"));
    let server = ScriptedGateway::sequence(vec![broken()]);
    let (outcome, heard) = complete(quick(&server.url()));
    assert!(matches!(outcome, Err(ModelError::Transport { timed_out: false, .. })), "{outcome:?}");
    assert_eq!(
        heard,
        ["text par", "restarted", "text par", "restarted", "text par", "restarted", "text par"]
    );
}

#[test]
fn a_restart_is_reported_only_after_a_beginning() {
    let server = ScriptedGateway::sequence(vec![broken(), GatewayReply::status(500, ""), says("ok")]);
    let (outcome, heard) = complete(quick(&server.url()));
    assert_eq!(outcome.unwrap().message.content, "ok");
    assert_eq!(heard, ["text par", "restarted", "text ok"]);
}

#[test]
fn other_refusals_are_final() {
    for status in [400, 401, 402, 403, 404, 413, 422, 451] {
        let server = ScriptedGateway::sequence(vec![GatewayReply::status(status, "no")]);
        let error = complete(quick(&server.url())).0.unwrap_err();
        assert_eq!(server.requests().len(), 1, "{status}");
        let ModelError::Refused { status: found, problem, attempts, .. } = &error else { panic!("{error}") };
        assert_eq!(*found, status);
        assert!(problem.starts_with("no"), "{problem}");
        assert_eq!(attempts[0].response_body_excerpt.as_deref(), Some("no"));
        assert_eq!(
            (attempts[0].response_body_bytes, attempts[0].response_body_truncated),
            (Some(2), Some(false))
        );
    }
    let invalid = json!({"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}});
    let server = ScriptedGateway::sequence(vec![GatewayReply::events(&[invalid])]);
    let error = complete(quick(&server.url())).0.unwrap_err();
    assert!(
        matches!(&error, ModelError::Refused { status: 400, problem, .. } if problem == "too long"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_wish_to_wait_is_honoured() {
    let past = "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
    for headers in ["Retry-After: 0\r\n", past, "Retry-After: nonsense\r\n", "Retry-After: 0.001\r\n"] {
        let server =
            ScriptedGateway::sequence(vec![GatewayReply::with_headers(429, headers, ""), says("ok")]);
        let completion = complete(quick(&server.url())).0.unwrap();
        assert!(completion.attempts[0].response_headers.contains_key("retry-after"));
        assert_eq!(completion.attempts.len(), 2);
    }
    let server = ScriptedGateway::sequence(vec![
        GatewayReply::with_headers(429, "Retry-After: 1\r\n", ""),
        says("ok"),
    ]);
    let began = std::time::Instant::now();
    complete(quick(&server.url())).0.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_wish_to_wait_beyond_the_deadline_ends_it_at_once() {
    let future = "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\n";
    for headers in ["Retry-After: 3600\r\n", "Retry-After: 99999999999999999999999\r\n", future] {
        let server = ScriptedGateway::sequence(vec![GatewayReply::with_headers(429, headers, "later")]);
        let mut config = quick(&server.url());
        config.timeouts.total = Duration::from_secs(60);
        let error = complete(config).0.unwrap_err();
        assert_eq!(server.requests().len(), 1);
        assert!(error.to_string().contains("asks to wait"), "{error}");
    }
}
