//! CONNECT and SOCKS: who gets through, and what the first bytes must show.

use fullsend_sandbox::{Denial, Denied};
use fullsend_testkit::{Reply, Server, TestCa, Validity};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::support::{Origin, Proxy, allow, client_config, handshake, read_all, read_head};

/// A TLS server for `ok.test` and `evil.test`, and the authority behind it.
fn secure() -> (TestCa, Server) {
    let ca = TestCa::new();
    let server = Server::start(&ca.leaf(&["ok.test", "evil.test"], Validity::Current), &["127.0.0.1:0"]);
    server.route("/", Reply::ok("hello"));
    (ca, server)
}

fn listed(server: &Server) -> String {
    format!("ok.test:{}", server.address().port())
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_to_a_listed_host_passes_by_connect_and_socks() {
    let (ca, server) = secure();
    let proxy = Proxy::start(&allow(&[&listed(&server)]));
    let by_connect = proxy.tunnel(&listed(&server)).await;
    let (reply, by_socks) = proxy.socks(b"OK.test.", server.address().port()).await;
    assert_eq!(reply, 0);
    for stream in [by_connect, by_socks] {
        let mut tls = handshake(client_config(&ca.pem()), "ok.test", stream).await.unwrap();
        tls.write_all(b"GET / HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n").await.unwrap();
        let answer = read_all(&mut tls).await;
        assert!(answer.contains("hello"), "{answer}");
    }
    let line = proxy.logged(&[("event", json!("decision")), ("entrance", json!("socks"))]).await;
    assert_eq!((&line["host"], &line["decision"]), (&json!("ok.test"), &json!("allow")));
    assert_eq!(line["address"], json!(server.address().to_string()));
    assert_eq!(proxy.denials(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tls_connection_for_another_host_is_cut() {
    let (ca, server) = secure();
    let proxy = Proxy::start(&allow(&[&listed(&server)]));
    let port = server.address().port();
    let mut silent = client_config(&ca.pem());
    silent.enable_sni = false;
    for (config, name, code) in
        [(client_config(&ca.pem()), "evil.test", "sni-mismatch"), (silent, "ok.test", "sni-missing")]
    {
        let stream = proxy.tunnel(&listed(&server)).await;
        assert!(handshake(config, name, stream).await.is_err(), "{code}");
        proxy.logged(&[("decision", json!("deny")), ("reason", json!(code))]).await;
        let [Denial { what, reason, remedy, count: 1 }] = &proxy.denials()[..] else { panic!("one denial") };
        assert_eq!(*what, Denied::Host { host: "ok.test".into(), port });
        assert!(reason.contains("ok.test") && remedy.is_none(), "{reason}");
    }
    assert_eq!(server.requests(), [], "not a byte of a refused hello may arrive");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_in_many_pieces_is_put_together() {
    let (ca, server) = secure();
    let proxy = Proxy::start(&allow(&[&listed(&server)]));
    for (name, passes) in [("ok.test", true), ("evil.test", false)] {
        let name = rustls::pki_types::ServerName::try_from(name).unwrap();
        let config = std::sync::Arc::new(client_config(&ca.pem()));
        let mut hello = Vec::new();
        rustls::ClientConnection::new(config, name).unwrap().write_tls(&mut hello).unwrap();
        let mut stream = proxy.tunnel(&listed(&server)).await;
        for piece in hello[5..].chunks(40) {
            let record = [&[22, 3, 1, 0, u8::try_from(piece.len()).unwrap()], piece].concat();
            for part in record.chunks(17) {
                stream.write_all(part).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
        let mut first = [0];
        let answered = stream.read_exact(&mut first).await.is_ok() && first == [22];
        assert_eq!(answered, passes);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_listed_is_refused_at_once_with_the_line_that_would_allow_it() {
    let origin = Origin::start().await;
    let proxy = Proxy::start(&allow(&[&format!("ok.test:{}", origin.port())]));
    let answer = proxy.send("CONNECT evil.test:8443 HTTP/1.1\r\nHost: evil.test:8443\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    for part in [
        "evil.test",
        "host-not-allowed",
        "allowed_hosts: [\"evil.test:8443\"]",
        "--allow-host evil.test:8443",
    ] {
        assert!(answer.contains(part), "{part} is not in {answer}");
    }
    let (reply, mut stream) = proxy.socks(b"evil.test", 8443).await;
    assert_eq!((reply, read_all(&mut stream).await.as_str()), (2, ""));
    let denial = Denial {
        what: Denied::Host { host: "evil.test".into(), port: 8443 },
        reason: "`evil.test` is not on the allow-list".into(),
        remedy: Some("allowed_hosts: [\"evil.test:8443\"] or --allow-host evil.test:8443".into()),
        count: 2,
    };
    assert_eq!(proxy.denials(), [denial]);
    assert_eq!(proxy.denials(), [], "told once");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_exact_host_and_port_pass_however_they_are_spelled() {
    let origin = Origin::start().await;
    let port = origin.port();
    let proxy = Proxy::start(&allow(&[&format!("ok.test:{port}"), &format!("*.wild.test:{port}")]));
    for host in ["ok.test", "OK.TEST.", "a.wild.test"] {
        drop(proxy.tunnel(&format!("{host}:{port}")).await);
        assert_eq!(proxy.socks(host.as_bytes(), port).await.0, 0, "{host}");
    }
    let before = origin.connections();
    for host in [
        "ok.test.evil.com",
        "evilok.test",
        "ok.test..",
        ".ok.test",
        "ok.test%00.evil",
        "user@ok.test@evil",
        "user@ok.test",
        "xn--k-0fa.test",
        "ok.test\u{0}.evil",
        "ok.test ",
        " ok.test",
        "wild.test",
        "xwild.test",
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f000001",
        "127.1",
        "localhost",
        "öк.test",
        "*.wild.test",
        "ok.test#",
        "ok.test/",
        "http://ok.test",
    ] {
        let answer =
            proxy.send(format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{host:?}: {answer}");
        assert_eq!(proxy.socks(host.as_bytes(), port).await.0, 2, "{host:?}");
    }
    for port in [22, 80, 443] {
        let answer =
            proxy.send(format!("CONNECT ok.test:{port} HTTP/1.1\r\nHost: ok.test:{port}\r\n\r\n")).await;
        assert!(answer.contains("port-not-allowed"), "{answer}");
    }
    assert_eq!(origin.connections(), before, "nothing that was refused may be dialled");
}

#[tokio::test(flavor = "multi_thread")]
async fn socks_does_connections_and_nothing_else() {
    let proxy = Proxy::start(&allow(&["ok.test"]));
    for (request, reply) in [
        (&b"\x05\x01\x00\x05\x03\x00\x01\x7f\0\0\x01\0\x50"[..], &b"\x05\x00\x05\x07"[..]),
        (b"\x05\x01\x00\x05\x02\x00\x01\x7f\0\0\x01\0\x50", b"\x05\x00\x05\x07"),
        (b"\x05\x01\x00\x05\x01\x00\x01\x7f\0\0\x01\0\x50", b"\x05\x00\x05\x02"),
        (b"\x05\x01\x02", b"\x05\xff"),
        (b"\x05\x01\x00\x05\x01\x00\x09", b"\x05\x00"),
    ] {
        let mut stream = proxy.connect().await;
        stream.write_all(request).await.unwrap();
        let mut answer = vec![0; reply.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, reply, "{request:?}");
        read_all(&mut stream).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_speak_first_on_a_listed_port() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"SSH-2.0-test\r\n").await.unwrap();
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).await.unwrap();
        stream.write_all(&heard).await.unwrap();
    });
    let proxy = Proxy::start(&allow(&[&format!("ok.test:{port}")]));
    let mut stream = proxy.tunnel(&format!("ok.test:{port}")).await;
    let mut banner = [0; 14];
    stream.read_exact(&mut banner).await.unwrap();
    assert_eq!(&banner, b"SSH-2.0-test\r\n");
    stream.write_all(b"\0\x01abc").await.unwrap();
    assert_eq!(read_all(&mut stream).await, "\0\x01abc");
    server.await.unwrap();
    drop(stream);
    let line = proxy.logged(&[("event", json!("close"))]).await;
    assert_eq!((&line["bytes_up"], &line["bytes_down"]), (&json!(5), &json!(19)));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_plain_request_in_a_tunnel_is_checked() {
    let origin = Origin::start().await;
    let other = format!("other.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&format!("ok.test:{}", origin.port()), &other]));
    let authority = format!("ok.test:{}", origin.port());
    for second in [
        "GET /2 HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        // Listed as well, but not what this tunnel was opened for.
        &format!("GET http://{other}/2 HTTP/1.1\r\nHost: {other}\r\n\r\n"),
        "GET http://evil.test/2 HTTP/1.1\r\nHost: ok.test\r\n\r\n",
    ] {
        let mut stream = proxy.tunnel(&authority).await;
        stream
            .write_all(format!("GET /1?secret HTTP/1.1\r\nHost: {authority}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
        stream.read_exact(&mut [0; 2]).await.unwrap();
        stream.write_all(second.as_bytes()).await.unwrap();
        let refusal = read_all(&mut stream).await;
        assert!(refusal.starts_with("HTTP/1.1 400") && refusal.contains("host-mismatch"), "{refusal}");
    }
    assert_eq!(origin.requests().len(), 3);
    let line = proxy.logged(&[("entrance", json!("connect")), ("path", json!("/1"))]).await;
    assert_eq!((&line["method"], &line["decision"]), (&json!("GET"), &json!("allow")));
    assert!(!proxy.log_text().contains("secret"), "queries are not written down");
}

#[tokio::test(flavor = "multi_thread")]
async fn http_that_cannot_be_checked_does_not_pass() {
    let origin = Origin::start().await;
    let authority = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&authority]));
    for (bytes, code) in [
        (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], "http-version"),
        (b"\x16\x03\x01\x00\x05\x02\0\0\0\0", "tls-malformed"),
    ] {
        let mut stream = proxy.tunnel(&authority).await;
        stream.write_all(bytes).await.unwrap();
        assert_eq!(read_all(&mut stream).await, "");
        proxy.logged(&[("reason", json!(code)), ("decision", json!("deny"))]).await;
    }
    assert_eq!(origin.requests(), Vec::<String>::new());
}
