//! Plain HTTP through the proxy: what arrives, what is left out, and which requests are allowed.

use fullsend_sandbox::{HttpRule, NetworkPolicy};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::support::{Origin, Proxy, allow, read_all, read_head, read_until};

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_written_anew_for_the_server() {
    let origin = Origin::start().await;
    let authority = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&authority]));
    let request = format!(
        "POST http://OK.test:{}/a/b?q=1 HTTP/1.1\r\nHost: ok.test\r\nX-Kept: Yes\r\nX-Hop: no\r\nConnection: close, X-Hop\r\n\
         Proxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: trailers\r\n\
         Content-Length: 4\r\n\r\nbody",
        origin.port()
    );
    let answer = proxy.send(request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"), "{answer}");
    let expected = format!(
        "POST /a/b?q=1 HTTP/1.1\r\nHost: {authority}\r\nX-Kept: Yes\r\nContent-Length: 4\r\n\r\nbody"
    );
    assert_eq!(origin.requests(), [expected]);
    let line = proxy.logged(&[("event", json!("close")), ("entrance", json!("http"))]).await;
    assert_eq!(
        (&line["bytes_up"], &line["bytes_down"], &line["path"]),
        (&json!(4), &json!(2), &json!("/a/b"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_serves_several_hosts_and_keeps_servers() {
    let (first, second) = (Origin::start().await, Origin::start().await);
    let (ok, other) = (format!("ok.test:{}", first.port()), format!("other.test:{}", second.port()));
    let proxy = Proxy::start(&allow(&[&ok, &other]));
    let mut stream = proxy.connect().await;
    for authority in [&ok, &ok, &other, &ok] {
        let request = format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        stream.read_exact(&mut [0; 2]).await.unwrap();
    }
    assert_eq!((first.requests().len(), first.connections()), (3, 2));
    assert_eq!((second.requests().len(), second.connections()), (1, 1));
    let request = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 403"));
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_pass_in_both_directions_as_they_come() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = format!("ok.test:{}", listener.local_addr().unwrap().port());
    let proxy = Proxy::start(&allow(&[&authority]));
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        assert!(
            head.contains("Expect: 100-continue\r\n") && head.ends_with("Transfer-Encoding: chunked\r\n\r\n"),
            "{head}"
        );
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
        assert_eq!(read_until(&mut stream, "one\r\n").await, "3\r\none\r\n");
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            .await
            .unwrap();
        assert_eq!(read_until(&mut stream, "0\r\n\r\n").await, "3\r\ntwo\r\n0\r\n\r\n");
        stream.write_all(b"4\r\nlast\r\n0\r\nTrailer: x\r\n\r\n").await.unwrap();
    });
    let mut stream = proxy.connect().await;
    let head = format!(
        "POST http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\nExpect: 100-continue\r\nTransfer-Encoding: Chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(read_head(&mut stream).await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"3;x=y\r\none\r\n").await.unwrap();
    // The answer begins while the request is still being sent.
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(read_until(&mut stream, "first\r\n").await, "5\r\nfirst\r\n");
    stream.write_all(b"3\r\ntwo\r\n0\r\nX: y\r\n\r\n").await.unwrap();
    assert_eq!(read_until(&mut stream, "0\r\n\r\n").await, "4\r\nlast\r\n0\r\n\r\n");
    server.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_end_where_the_server_ends_them() {
    for (reply, method, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"),
        ("HTTP/1.1 204 No Content\r\n\r\n", "GET", "HTTP/1.1 204 No Content\r\n"),
        ("HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", "GET", "HTTP/1.1 304 Not Modified\r\nETag: x\r\n"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET",
            "HTTP/1.1 502",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "GET", "HTTP/1.1 502"),
        ("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "GET", "HTTP/1.1 502"),
        ("HTTP/1.1 999999 Strange\r\n\r\n", "GET", "HTTP/1.1 502"),
    ] {
        let origin = Origin::on("127.0.0.1:0", reply).await;
        let authority = format!("ok.test:{}", origin.port());
        let proxy = Proxy::start(&allow(&[&authority]));
        let answer = proxy
            .send(format!(
                "{method} http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
            ))
            .await;
        assert!(answer.starts_with(expected), "{reply:?}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_clients_get_old_answers() {
    let reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let origin = Origin::on("127.0.0.1:0", reply).await;
    let authority = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&authority]));
    let answer = proxy.send(format!("GET http://{authority}/ HTTP/1.0\r\n\r\n")).await;
    assert_eq!(answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_with_rules_gets_matching_requests_only() {
    let origin = Origin::start().await;
    let authority = format!("ok.test:{}", origin.port());
    let NetworkPolicy::Limited { allowed_hosts, private_hosts, .. } = allow(&[&authority]) else {
        panic!("limited")
    };
    let rule =
        HttpRule { host: authority.clone(), methods: vec!["GET".into()], paths: vec!["/pub/*".into()] };
    let policy =
        NetworkPolicy::Limited { allowed_hosts, private_hosts, denied_hosts: vec![], http_rules: vec![rule] };
    let proxy = Proxy::start(&policy);
    let request = |method: &str, path: &str| {
        format!(
            "{method} http://{authority}{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
        )
    };
    assert!(proxy.send(request("GET", "/pub/x?y")).await.starts_with("HTTP/1.1 200"));
    let refused = proxy.send(request("DELETE", "/pub/x")).await;
    let line =
        format!(r#"http_rules: [{{"host": "{authority}", "methods": ["DELETE"], "paths": ["/pub/x"]}}]"#);
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains(&line), "{refused}");
    assert!(proxy.send(request("GET", "/private")).await.starts_with("HTTP/1.1 403"));
    assert!(proxy.send(request("GET", "/pub/../private")).await.starts_with("HTTP/1.1 400"));
    assert_eq!(origin.requests().len(), 1);
    // Inside a tunnel the rules hold too, and what cannot be read does not pass.
    let mut stream = proxy.tunnel(&authority).await;
    stream.write_all(b"POST /pub/ HTTP/1.1\r\nHost: ok.test\r\n\r\n").await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 403"));
    let mut stream = proxy.tunnel(&authority).await;
    stream.write_all(b"\0opaque").await.unwrap();
    assert_eq!(read_all(&mut stream).await, "");
    proxy.logged(&[("reason", json!("rules-need-plain-http"))]).await;
    assert_eq!(origin.requests().len(), 1);
}
