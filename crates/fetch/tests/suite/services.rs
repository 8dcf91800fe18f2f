//! Services that the operator named: what is sent there stays there, and what comes back is bounded.

use std::time::Duration;

use fullsend_fetch::get::ExtraRoots;
use fullsend_fetch::service::{
    Channel, ServiceAnswer, ServiceClient, ServiceError, ServiceLimits, ServiceMethod, ServiceRequest,
    ServiceUrl,
};
use fullsend_testkit::gateway::{Ending, GatewayReply, ScriptedGateway};
use fullsend_testkit::{Reply, Server, TestCa, Validity};
use serde_json::json;

const TOKEN: &str = "s3cret-of-the-operator";

/// Sends a document with a token to a service.
fn send(url: &str, extra: &[ExtraRoots], limits: ServiceLimits) -> Result<ServiceAnswer, ServiceError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = ServiceUrl::parse(url, Channel::Confidential).unwrap();
    let request = match url.to_string().starts_with("https") {
        // The other server does not read bodies.
        true => ServiceRequest::new(ServiceMethod::Get, &url),
        false => ServiceRequest::new(ServiceMethod::Post, &url).json(&json!({"a": 1})),
    };
    let request = request.bearer(TOKEN).unwrap();
    runtime.block_on(ServiceClient::new(extra).unwrap().send(&request, limits))
}

fn ask(service: &ScriptedGateway) -> Result<ServiceAnswer, ServiceError> {
    send(&format!("{}/x?y=z", service.url()), &[], ServiceLimits::default())
}

#[test]
fn a_request_arrives_as_it_was_meant() {
    let service = ScriptedGateway::sequence(vec![GatewayReply::status(201, r#"{"id": 5}"#)]);
    let answer = ask(&service).unwrap();
    assert_eq!((answer.status, answer.json().unwrap()), (201, json!({"id": 5})));
    let [request] = &service.requests()[..] else { panic!("{service:?}") };
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/x?y=z"));
    assert_eq!(request.json(), json!({"a": 1}));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(request.header("host"), Some(service.address().to_string().as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
}

#[test]
fn nobody_is_sent_elsewhere_with_a_token() {
    let elsewhere = ScriptedGateway::sequence(vec![GatewayReply::status(200, "{}")]);
    for status in [301, 302, 303, 307, 308] {
        let location = format!("Location: {}/stolen\r\n", elsewhere.url());
        let service = ScriptedGateway::sequence(vec![GatewayReply::with_headers(status, &location, "")]);
        let refused = ask(&service).unwrap_err();
        assert!(
            matches!(refused, ServiceError::Redirect { status: found, .. } if found == status),
            "{refused}"
        );
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn an_answer_is_short_plain_and_comes_in_time() {
    let limits =
        ServiceLimits { total: Duration::from_millis(300), largest: 1000, ..ServiceLimits::default() };
    let large = "x".repeat(1001);
    let endless = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for (reply, expected) in [
        (GatewayReply::status(200, &large), "`127.0.0.1` answered with more than 1000 bytes"),
        (
            GatewayReply::raw(endless, Ending::KeepOpen).then("4\r\nxxxx\r\n").ending(Ending::Endless),
            "`127.0.0.1` answered with more than 1000 bytes",
        ),
        (GatewayReply::raw("", Ending::Hang), "`127.0.0.1` did not answer in time"),
        (GatewayReply::raw("HTTP/1.1 200 OK\r\n", Ending::Hang), "`127.0.0.1` did not answer in time"),
        (GatewayReply::raw("what?\r\n\r\n", Ending::Close), "the conversation with `127.0.0.1` broke off"),
        (GatewayReply::raw("", Ending::Close), "the conversation with `127.0.0.1` broke off"),
        (
            GatewayReply::with_headers(200, "Content-Encoding: gzip\r\n", "x"),
            "`127.0.0.1` encoded its answer, which was not asked for",
        ),
    ] {
        let service = ScriptedGateway::sequence(vec![reply]);
        let refused = send(&service.url(), &[], limits).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    let service = ScriptedGateway::sequence(vec![GatewayReply::status(200, "x".repeat(1000))]);
    assert_eq!(send(&service.url(), &[], limits).unwrap().body.len(), 1000);
}

#[test]
fn a_refusal_is_quoted_without_what_was_sent() {
    let said = format!("Bad token {TOKEN}\n\u{1b}[31mnow\u{202e}");
    for (body, expected) in [
        (json!({ "message": said }).to_string(), Some("Bad token [secret]  [31mnow")),
        (json!({"error": "x".repeat(500)}).to_string(), Some("x".repeat(200).as_str())),
        (json!({"error": 5}).to_string(), None),
        ("<html>".to_owned(), None),
        (String::new(), None),
    ] {
        let service = ScriptedGateway::sequence(vec![GatewayReply::status(401, &body)]);
        let answer = ask(&service).unwrap();
        assert_eq!((answer.is_success(), answer.reason().as_deref()), (false, expected));
        assert!(!format!("{answer:?}").contains(TOKEN));
    }
}

#[test]
fn a_server_proves_its_name_before_it_is_told_anything() {
    let ca = TestCa::new();
    let url = |server: &Server| format!("https://localhost:{}/x", server.address().port());
    let roots = [ExtraRoots::Pem(ca.pem().into())];
    let known = Server::start(&ca.leaf(&["localhost"], Validity::Current), &["127.0.0.1:0"]);
    known.route("/x", Reply::ok("{}"));
    assert_eq!(send(&url(&known), &roots, ServiceLimits::default()).unwrap().status, 200);
    assert_eq!(known.requests().len(), 1);
    let other = Server::start(&ca.leaf(&["other.example"], Validity::Current), &["127.0.0.1:0"]);
    let refused = send(&url(&other), &roots, ServiceLimits::default()).unwrap_err();
    assert!(matches!(refused, ServiceError::Tls { .. }), "{refused}");
    let unknown = send(&url(&known), &[], ServiceLimits::default()).unwrap_err();
    assert!(matches!(unknown, ServiceError::Tls { .. }), "{unknown}");
    assert_eq!((other.requests().len(), known.requests().len()), (0, 1));
}
