//! Connections: kept while they last, opened again when they do not, and to nobody else.

use std::time::Duration;

use fullsend_fetch::get::ExtraRoots;
use fullsend_model::gateway::{Auth, Gateway, GatewayConfig};
use fullsend_model::{Message, ModelError};
use fullsend_testkit::gateway::{Ending, GatewayReply, ScriptedGateway, ShellTurns};
use fullsend_testkit::{Reply, Server, TestCa, Validity};

use super::support::{block_on, complete_with, question, quick, says, tools};

/// Waits for something that another thread does.
async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn one_connection_serves_a_run() {
    let server = ScriptedGateway::start(ShellTurns { parallel: 3, ..ShellTurns::new(20) });
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    let mut conversation = question();
    block_on(async {
        loop {
            let completion = complete_with(&gateway, &conversation, &tools()).await.0.unwrap();
            let calls = completion.message.tool_calls.clone();
            conversation.push(Message::Assistant(completion.message));
            if calls.is_empty() {
                break;
            }
            for call in calls {
                conversation.push(Message::Tool { call_id: call.id, content: "ok".to_owned() });
            }
        }
    });
    assert_eq!(server.requests().len(), 21);
    assert_eq!(server.connections(), 1);
}

#[test]
fn refusals_do_not_cost_the_connection() {
    let server = ScriptedGateway::sequence(vec![GatewayReply::status(500, "x"), says("ok")]);
    super::support::complete(quick(&server.url())).0.unwrap();
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_closed_connection_is_opened_again_without_an_attempt() {
    let server = ScriptedGateway::sequence(vec![says("ok").ending(Ending::Close)]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    block_on(async {
        for round in 1..=3 {
            let completion = complete_with(&gateway, &question(), &[]).await.0.unwrap();
            assert_eq!(completion.attempts.len(), 1);
            until(|| server.closed() == round).await;
        }
    });
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_connection_that_dies_under_a_request_is_tried_again() {
    let server = ScriptedGateway::sequence(vec![says("a"), GatewayReply::raw("", Ending::Close), says("b")]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    block_on(async {
        complete_with(&gateway, &question(), &[]).await.0.unwrap();
        let second = complete_with(&gateway, &question(), &[]).await.0.unwrap();
        assert_eq!((second.message.content.as_str(), second.attempts.len()), ("b", 2));
    });
    assert_eq!(server.connections(), 2);
}

#[test]
fn requests_at_the_same_time_do_not_wait_for_each_other() {
    let server = ScriptedGateway::sequence(vec![says("ok").paced(Duration::from_millis(20))]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    let conversation = question();
    block_on(async {
        let (first, second) = tokio::join!(
            complete_with(&gateway, &conversation, &[]),
            complete_with(&gateway, &conversation, &[]),
        );
        assert!(first.0.is_ok() && second.0.is_ok());
        assert_eq!(server.connections(), 2);
        complete_with(&gateway, &conversation, &[]).await.0.unwrap();
    });
    assert_eq!(server.connections(), 2);
}

#[test]
fn a_gateway_outlives_a_runtime() {
    let server = ScriptedGateway::sequence(vec![says("ok")]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    for _ in 0..2 {
        block_on(complete_with(&gateway, &question(), &[])).0.unwrap();
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn dropping_the_answer_ends_the_request() {
    let server = ScriptedGateway::sequence(vec![GatewayReply::raw("", Ending::Hang), says("ok")]);
    let gateway = Gateway::new(quick(&server.url())).unwrap();
    block_on(async {
        let conversation = question();
        tokio::select! {
            (outcome, _) = complete_with(&gateway, &conversation, &[]) => panic!("{outcome:?}"),
            () = until(|| server.requests().len() == 1) => {}
        }
        assert_eq!(complete_with(&gateway, &conversation, &[]).await.0.unwrap().message.content, "ok");
    });
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn https_needs_a_certificate_that_counts() {
    let ca = TestCa::new();
    let server = Server::start(&ca.leaf(&["localhost"], Validity::Current), &["127.0.0.1:0"]);
    let body = r#"{"choices":[{"message":{"content":"over TLS"},"finish_reason":"stop"}]}"#;
    server.route("/v1/chat/completions", Reply::ok(body));
    let base = format!("https://localhost:{}", server.address().port());
    let mut config = GatewayConfig::new(base, Auth::None);
    config.extra_roots = vec![ExtraRoots::Pem(ca.pem().into_bytes())];
    let completion = super::support::complete(config.clone()).0.unwrap();
    assert_eq!(completion.message.content, "over TLS");
    config.extra_roots.clear();
    let error = super::support::complete(config).0.unwrap_err();
    assert!(matches!(&error, ModelError::Transport { .. }), "{error}");
    assert!(error.to_string().contains("cannot prove its name"), "{error}");
    assert_eq!(error.attempts().len(), 1);
}
