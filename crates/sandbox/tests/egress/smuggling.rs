//! Requests that two readers would read differently, and clients that play for time.

use std::time::Duration;

use fullsend_sandbox::egress::Entrance;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::support::{Origin, Proxy, allow, read_all};

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_requests_are_refused_and_nothing_of_them_arrives() {
    let origin = Origin::start().await;
    let a = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&a]));
    let get = format!("GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n");
    let post = format!("POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\n");
    let many: String = (0..101).map(|number| format!("X-{number}: y\r\n")).collect();
    let cases = [
        (format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "body-ambiguous"),
        (format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), "body-ambiguous"),
        (format!("{post}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"), "body-ambiguous"),
        (format!("{post}Content-Length: 5, 5\r\n\r\nhello"), "body-ambiguous"),
        (format!("{post}Content-Length: +5\r\n\r\nhello"), "body-ambiguous"),
        (format!("{post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "body-ambiguous"),
        (
            format!("{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "body-ambiguous",
        ),
        (
            format!("POST http://{a}/ HTTP/1.0\r\nHost: {a}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "body-ambiguous",
        ),
        (format!("{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"), "request-malformed"),
        (format!("{post}X: y\r\n folded\r\n\r\n"), "request-malformed"),
        (format!("{get}X: a\rb\r\n\r\n"), "request-malformed"),
        (format!("{get}X\0: b\r\n\r\n"), "request-malformed"),
        (format!("{get}{many}\r\n"), "too-many-headers"),
        (format!("{get}X: {}\r\n\r\n", "y".repeat(1024 * 1024)), "headers-too-large"),
        (format!("GET http://{a}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"), "host-mismatch"),
        (format!("GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nHost: evil.test\r\n\r\n"), "host-mismatch"),
        (format!("GET http://{a}/ HTTP/1.1\r\nHost: {a}@evil.test\r\n\r\n"), "host-mismatch"),
        (format!("GET http://{a}/ HTTP/1.1\r\n\r\n"), "host-missing"),
        (format!("GET https://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "scheme-not-allowed"),
        (format!("GET ftp://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "scheme-not-allowed"),
        (format!("GET http://user@{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "host-malformed"),
        (format!("GET http://evil.test\\@{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "host-malformed"),
        (format!("GET http://{a}%2f@evil.test/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "host-malformed"),
        (format!("GET http://{a}#@evil.test/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "request-malformed"),
        (format!("GET / HTTP/1.1\r\nHost: {a}\r\n\r\n"), "request-target"),
        (format!("GET //{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "request-target"),
        ("GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_owned(), "host-not-allowed"),
        (format!("{get}Upgrade: websocket\r\nConnection: upgrade\r\n\r\n"), "upgrade"),
        (format!("TRACE http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"), "method-not-allowed"),
        (format!("CONNECT {a} HTTP/1.1\r\nHost: {a}\r\nContent-Length: 4\r\n\r\nbody"), "body-ambiguous"),
        (format!("CONNECT {a} HTTP/1.1\r\nHost: evil.test:443\r\n\r\n"), "host-mismatch"),
        ("CONNECT ok.test HTTP/1.1\r\nHost: ok.test\r\n\r\n".to_owned(), "host-malformed"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "request-malformed"),
    ];
    for (request, code) in cases {
        let answer = proxy.send(&request).await;
        let shown: String = request.chars().take(200).collect();
        assert!(answer.starts_with("HTTP/1.1 4"), "{shown}: {answer}");
        assert!(answer.contains(&format!("X-Fullsend-Reason: {code}\r\n")), "{code}: {shown}: {answer}");
        proxy.logged(&[("decision", json!("deny")), ("reason", json!(code))]).await;
    }
    assert_eq!(origin.requests(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_a_body_is_a_request_of_its_own_and_is_judged() {
    let origin = Origin::start().await;
    let a = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&a]));
    let hidden = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    for request in [
        format!("POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nxx{hidden}"),
        format!(
            "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n{hidden}"
        ),
    ] {
        let answer = proxy.send(request).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\r\n\r\nokHTTP/1.1 403"), "{answer}");
    }
    assert!(origin.requests().iter().all(|request| !request.contains("evil")), "{:?}", origin.requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_chunk_is_never_passed_off_as_a_whole_body() {
    let origin = Origin::start().await;
    let a = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&a]));
    for body in ["2\nxx\r\n0\r\n\r\n", "2\r\nxxx\r\n0\r\n\r\n", "0x2\r\nxx\r\n0\r\n\r\n", "-1\r\n\r\n"] {
        let head = format!("POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert_eq!(proxy.send(head + body).await, "", "{body:?}");
    }
    assert!(
        origin.requests().iter().all(|request| !request.ends_with("0\r\n\r\n")),
        "{:?}",
        origin.requests()
    );
}

#[tokio::test(start_paused = true)]
async fn slow_beginnings_run_out_of_time() {
    let proxy = Proxy::start(&allow(&["ok.test"]));
    for beginning in
        [&b"GET http://ok.test/ HTTP/1.1\r\nHost: ok"[..], b"\x05\x01", b"\x05\x01\x00\x05\x01\x00\x03\x07ok"]
    {
        let (mut client, server) = tokio::io::duplex(1024);
        proxy.egress.serve(Entrance::Proxy, None, server);
        client.write_all(beginning).await.unwrap();
        let started = tokio::time::Instant::now();
        let answer = read_paused(&mut client).await;
        let waited = started.elapsed();
        assert!(waited >= Duration::from_secs(10) && waited < Duration::from_secs(15), "{waited:?}");
        if beginning.starts_with(b"GET") {
            assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("headers-too-slow"), "{answer}");
        }
    }
    // Dribbling does not help: the time is for the whole head.
    let (mut client, server) = tokio::io::duplex(1024);
    proxy.egress.serve(Entrance::Proxy, None, server);
    client.write_all(b"GET http://ok.test/ HTTP/1.1\r\n").await.unwrap();
    for _ in 0..12 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let _ = client.write_all(b"X: y\r\n").await;
    }
    assert!(read_paused(&mut client).await.contains("headers-too-slow"));
}

/// Without the patience of other tests, which a paused clock would use up.
async fn read_paused(client: &mut tokio::io::DuplexStream) -> String {
    use tokio::io::AsyncReadExt as _;
    let mut text = Vec::new();
    let _ = client.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn other_protocols_at_the_proxy_get_nowhere() {
    let proxy = Proxy::start(&allow(&["ok.test"]));
    for bytes in [
        &b"\x16\x03\x01\x00\x05hello\r\n\r\n"[..],
        b"\x04\x01\0\x50\x7f\0\0\x01\0\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let mut stream = proxy.connect().await;
        stream.write_all(bytes).await.unwrap();
        let answer = read_all(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
}
