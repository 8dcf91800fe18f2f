//! Failures that may pass by themselves.

use std::time::Duration;

use fullsend_testkit::Reply;

use super::network::{Answer, Network};

fn network(reply: Reply, max_retries: u32) -> Network {
    let mut network = Network::replying(reply);
    network.rules.retries.max_retries = max_retries;
    network
}

#[test]
fn a_server_that_recovers_is_forgiven() {
    let cut = Reply::Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello".to_vec());
    let failures = [
        Reply::status(429).header("Retry-After", "0"),
        Reply::status(502),
        Reply::status(503),
        Reply::status(504),
        Reply::Cut(Vec::new()),
        cut,
    ];
    for failure in failures {
        let network = network(Reply::flapping(2, failure.clone(), Reply::ok("hello")), 2);
        assert_eq!(network.get().unwrap().bytes, b"hello", "{failure:?}");
        assert_eq!(network.server.connections(), 3);
    }
}

#[test]
fn attempts_are_counted() {
    let network = network(Reply::status(503), 2);
    assert_eq!(network.refused().refusal().unwrap().status, 503);
    assert_eq!(network.server.connections(), 3);
}

#[test]
fn what_will_not_change_is_not_tried_again() {
    for reply in [
        Reply::status(404),
        Reply::status(403),
        Reply::status(500),
        Reply::redirect(301, "https://other.test/"),
        Reply::ok("").header("Content-Encoding", "gzip"),
        Reply::Raw(b"garbage\r\n\r\n".to_vec()),
        Reply::endless_body(),
    ] {
        let network = network(reply.clone(), 5);
        network.refused();
        assert_eq!(network.server.connections(), 1, "{reply:?}");
    }
}

#[test]
fn a_server_that_asks_for_too_much_time_is_not_waited_for() {
    for value in ["3600", "99999999999999999999", "Fri, 31 Dec 2100 23:59:59 GMT"] {
        let network = network(Reply::status(429).header("Retry-After", value), 5);
        let error = network.refused();
        assert_eq!(error.refusal().unwrap().headers.get("retry-after"), Some(value));
        assert_eq!(network.server.connections(), 1, "{value}");
    }
}

#[test]
fn no_pause_outlasts_the_total_limit() {
    let mut network = network(Reply::status(503).header("Retry-After", "9"), 5);
    network.rules.total_timeout = Duration::from_secs(8);
    assert_eq!(network.refused_code(), "fetch-status");
    assert_eq!(network.server.connections(), 1);
}

#[test]
fn a_name_that_is_not_found_at_first_is_looked_up_again() {
    let mut network = Network::with_answers(&[Answer::Failure, Answer::of(&[]), Answer::of(&["127.0.0.1"])]);
    network.server.route("/x", Reply::ok("hello"));
    network.rules.retries.max_retries = 2;
    assert_eq!(network.get().unwrap().bytes, b"hello");
    assert_eq!(network.resolver.calls(), 3);
}
