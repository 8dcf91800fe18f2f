//! Changes while connections are open, limits, the log, and the end.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use fullsend_sandbox::NetworkPolicy;
use fullsend_sandbox::egress::{CompiledPolicy, Egress, EgressConfig, Entrance};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::support::{Origin, Proxy, allow, listen, names, read_all, read_head};

/// A server that sends back what it hears.
async fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
    port
}

async fn exchange_byte(stream: &mut TcpStream) {
    stream.write_all(b"\0").await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_that_the_new_policy_forbids_is_cut_and_others_live_on() {
    let port = echo().await;
    let (ok, other) = (format!("ok.test:{port}"), format!("other.test:{port}"));
    let proxy = Proxy::start(&allow(&[&ok, &other]));
    let mut doomed = proxy.tunnel(&ok).await;
    let mut kept = proxy.tunnel(&other).await;
    exchange_byte(&mut doomed).await;
    exchange_byte(&mut kept).await;
    proxy.egress.apply(CompiledPolicy::compile(&allow(&[&other])).unwrap());
    assert_eq!(read_all(&mut doomed).await, "");
    exchange_byte(&mut kept).await;
    let line = proxy.logged(&[("event", json!("close")), ("reason", json!("cut"))]).await;
    assert_eq!((&line["host"], &line["bytes_up"]), (&json!("ok.test"), &json!(1)));
    assert_eq!(proxy.denials().len(), 1);
    let refused = proxy.send(format!("CONNECT {ok} HTTP/1.1\r\nHost: {ok}\r\n\r\n")).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    proxy.egress.apply(CompiledPolicy::compile(&allow(&[&ok, &other])).unwrap());
    exchange_byte(&mut proxy.tunnel(&ok).await).await;
    proxy.egress.apply(CompiledPolicy::compile(&NetworkPolicy::none()).unwrap());
    assert_eq!(read_all(&mut kept).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_is_cut_whether_or_not_anybody_has_spoken() {
    let origin = Origin::start().await;
    let authority = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&authority]));
    let mut silent = proxy.tunnel(&authority).await;
    let mut between_requests = proxy.tunnel(&authority).await;
    between_requests.write_all(b"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n").await.unwrap();
    read_head(&mut between_requests).await;
    between_requests.read_exact(&mut [0; 2]).await.unwrap();
    proxy.egress.apply(CompiledPolicy::default());
    assert_eq!(read_all(&mut silent).await, "");
    assert_eq!(read_all(&mut between_requests).await, "");
    assert_eq!(proxy.denials()[0].count, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_way_is_cut_too() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = format!("ok.test:{}", listener.local_addr().unwrap().port());
    let proxy = Proxy::start(&allow(&[&authority]));
    let mut client = proxy.connect().await;
    client
        .write_all(format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    read_head(&mut server).await;
    proxy.egress.apply(CompiledPolicy::default());
    assert_eq!(read_all(&mut client).await, "");
    assert_eq!(read_all(&mut server).await, "");
    proxy.logged(&[("event", json!("close")), ("reason", json!("cut")), ("entrance", json!("http"))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_closes_everything() {
    let port = echo().await;
    for drops in [false, true] {
        let Proxy { egress, address, .. } = {
            let proxy = Proxy::start(&allow(&[&format!("ok.test:{port}")]));
            let mut tunnel = proxy.tunnel(&format!("ok.test:{port}")).await;
            exchange_byte(&mut tunnel).await;
            tokio::spawn(async move { read_all(&mut tunnel).await });
            proxy
        };
        let mut idle = TcpStream::connect(address).await.unwrap();
        if drops {
            drop(egress);
        } else {
            egress.shutdown().await;
            assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
        }
        assert_eq!(read_all(&mut idle).await, "");
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_an_end_to_the_number_of_connections() {
    let proxy = Proxy::start(&allow(&["ok.test"]));
    let mut held = Vec::new();
    for _ in 0..1024 {
        let (client, server) = tokio::io::duplex(64);
        proxy.egress.serve(Entrance::Proxy, None, server);
        held.push(client);
    }
    let (mut surplus, server) = tokio::io::duplex(64);
    proxy.egress.serve(Entrance::Proxy, None, server);
    assert_eq!(read_all(&mut surplus).await, "");
    proxy.logged(&[("reason", json!("too-many-connections")), ("decision", json!("deny"))]).await;
    held.clear();
    loop {
        let (mut client, server) = tokio::io::duplex(1024);
        proxy.egress.serve(Entrance::Proxy, None, server);
        let _ = client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        if read_all(&mut client).await.starts_with("HTTP/1.1 400") {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_written_with_the_command_that_asked() {
    let origin = Origin::start().await;
    let authority = format!("ok.test:{}", origin.port());
    let proxy = Proxy::start(&allow(&[&authority]));
    proxy.egress.attribute(Some("curl -s http://ok.test".to_owned()));
    let get = format!("GET http://{authority}/a HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    proxy.send(&get).await;
    proxy.egress.attribute(None);
    proxy.send("GET http://evil.test/b?token=1 HTTP/1.1\r\nHost: evil.test\r\n\r\n").await;
    proxy.logged(&[("event", json!("close"))]).await;
    let mut log = proxy.log();
    log.retain(|line| line["event"] == "decision");
    for line in &mut log {
        let time = line["time"].take();
        time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert!(line["connection"].take().is_u64());
    }
    let expected = json!([
        {"time": null, "session": "session-1", "command": "curl -s http://ok.test", "event": "decision",
         "entrance": "http", "connection": null, "host": "ok.test", "port": origin.port(),
         "address": origin.address.to_string(), "decision": "allow", "reason": "allowed", "method": "GET", "path": "/a"},
        {"time": null, "session": "session-1", "command": null, "event": "decision", "entrance": "http",
         "connection": null, "host": "evil.test", "port": 80, "decision": "deny", "reason": "host-not-allowed",
         "method": "GET", "path": "/b"},
    ]);
    assert_eq!(json!(log), expected);
}

fn with_log(path: &std::path::Path) -> Result<Egress, fullsend_sandbox::SandboxError> {
    Egress::start(EgressConfig {
        policy: CompiledPolicy::default(),
        endpoints: vec![],
        log: Some(path.to_owned()),
        session: "s".into(),
        resolver: Arc::new(names()),
        roots: vec![],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_record_nothing_passes() {
    let directory = tempfile::tempdir().unwrap();
    let error = with_log(&directory.path().join("missing/egress.jsonl")).unwrap_err();
    assert_eq!(error.code(), "sandbox-io");
    let private = directory.path().join("egress.jsonl");
    drop(with_log(&private).unwrap());
    assert_eq!(std::fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o600);

    let full = directory.path().join("full.jsonl");
    std::fs::File::create(&full).unwrap().set_len(256 * 1024 * 1024).unwrap();
    for (path, why) in [(std::path::Path::new("/dev/full"), "No space left"), (&full, "256 MiB")] {
        refuses_everything(with_log(path).unwrap(), why).await;
    }
}

async fn refuses_everything(egress: Egress, why: &str) {
    let origin = Origin::start().await;
    let authority = format!("ok.test:{}", origin.port());
    egress.apply(CompiledPolicy::compile(&allow(&[&authority])).unwrap());
    let address = listen(&egress, Entrance::Proxy);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let answer = read_all(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 403") && answer.contains("log-unwritable") && answer.contains(why),
        "{answer}"
    );
    assert_eq!(origin.requests(), Vec::<String>::new());
    assert!(egress.take_denials()[0].reason.contains("log"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_know_nothing_of_each_other() {
    let origin = Origin::start().await;
    let authority = format!("ok.test:{}", origin.port());
    let (open, closed) = (Proxy::start(&allow(&[&authority])), Proxy::start(&NetworkPolicy::none()));
    let get = format!("GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    assert!(open.send(&get).await.starts_with("HTTP/1.1 200"));
    assert!(closed.send(&get).await.starts_with("HTTP/1.1 403"));
    // A proxy's own port is a loopback address like any other.
    let through =
        format!("CONNECT 127.0.0.1:{0} HTTP/1.1\r\nHost: 127.0.0.1:{0}\r\n\r\n", open.address.port());
    assert!(closed.send(through).await.contains("address-not-allowed"));
    assert_eq!((open.denials().len(), closed.denials().len()), (0, 2));
}
