//! The key goes to the gateway, and nowhere else.

use fullsend_model::ModelError;
use fullsend_model::gateway::{ApiKey, Auth, Gateway, GatewayConfig};
use fullsend_testkit::gateway::{GatewayReply, GatewayRequest, ScriptedGateway};

use super::support::{block_on, complete_with, question, quick, says};

const KEY: &str = "sk-0123456789abcdef";

fn with_key(url: &str) -> GatewayConfig {
    let auth = Auth::Bearer { key: ApiKey::new(&format!(" {KEY}\n")), source: "MY_GATEWAY_KEY".to_owned() };
    GatewayConfig { auth, ..quick(url) }
}

#[test]
fn the_key_is_sent_without_blanks() {
    let server = ScriptedGateway::sequence(vec![says("ok")]);
    super::support::complete(with_key(&server.url())).0.unwrap();
    assert_eq!(server.requests()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[test]
fn a_key_that_a_server_quotes_is_in_no_record_and_no_output() {
    let quote = |status: u16| {
        move |request: &GatewayRequest| {
            let key = request.header("authorization").unwrap_or_default().to_owned();
            let headers = format!("X-Request-Id: {key}\r\nX-Other: {key}\r\n");
            GatewayReply::with_headers(
                status,
                &headers,
                format!("{{\"error\":{{\"message\":\"bad {key}\"}}}}"),
            )
        }
    };
    for status in [200, 307, 401, 403, 500] {
        let server = ScriptedGateway::start(quote(status));
        let gateway = Gateway::new(with_key(&server.url())).unwrap();
        let error = block_on(complete_with(&gateway, &question(), &[])).0.unwrap_err();
        let records = serde_json::to_string(error.attempts()).unwrap();
        for text in [
            format!("{gateway:?}"),
            format!("{gateway:#?}"),
            format!("{error:?}"),
            error.to_string(),
            records,
        ] {
            assert!(!text.contains(KEY), "{status}: {text}");
        }
        let headers = &error.attempts()[0].response_headers;
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-request-id"], "{status}");
        assert_eq!(error.attempts()[0].request_id.as_deref(), Some("Bearer [key]"));
    }
}

#[test]
fn who_is_to_blame_is_named() {
    for status in [401, 403] {
        let server = ScriptedGateway::sequence(vec![GatewayReply::status(status, "")]);
        let error = super::support::complete(with_key(&server.url())).0.unwrap_err();
        assert!(error.to_string().contains("MY_GATEWAY_KEY"), "{error}");
        let error = super::support::complete(quick(&server.url())).0.unwrap_err();
        assert!(error.to_string().contains("without a key"), "{error}");
    }
}

#[test]
fn excerpts_are_short_and_harmless() {
    let body = format!("\u{1b}[2J\u{202e}{}", "ä\u{7}".repeat(50_000));
    let server = ScriptedGateway::sequence(vec![GatewayReply::status(400, body)]);
    let error = super::support::complete(quick(&server.url())).0.unwrap_err();
    let ModelError::Refused { problem, attempts, .. } = error else { panic!("{error}") };
    let excerpt = attempts[0].response_body_excerpt.as_deref().unwrap();
    for text in [problem.as_str(), excerpt] {
        assert!(text.starts_with("\\u{1b}[2J\\u{202e}ä\\u{7}"), "{text}");
        assert!(text.chars().count() <= 2048 && !text.contains(char::is_control), "{text}");
    }
    assert_eq!(attempts[0].response_body_truncated, Some(true));
}
