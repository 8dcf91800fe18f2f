//! Servers that mean no good.

use std::time::Duration;

use fullsend_testkit::{Reply, Server, Validity, gzip, reexec, test_name};

use super::network::{NAME, Network};

/// Short, for tests in which the server never does what is waited for.
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn redirects_are_not_followed() {
    let network = Network::new();
    let elsewhere = Server::start(&network.ca.leaf(&[NAME], Validity::Current), &["127.0.0.1:0"]);
    let location = format!("https://{NAME}:{}/x?token=s3cret", elsewhere.address().port());
    for status in [300, 301, 302, 303, 307, 308] {
        network.server.route("/x", Reply::redirect(status, &location));
        let error = network.refused();
        assert_eq!(error.code(), "fetch-redirect");
        let text = error.to_string();
        assert!(text.contains(NAME) && text.contains(&status.to_string()), "{text}");
        assert!(!text.contains("s3cret") && !text.contains("token"), "{text}");
    }
    assert_eq!(elsewhere.connections(), 0);
    for (location, said) in
        [("/relative?s3cret", "the same host"), ("http://user:s3cret@evil.test/", "evil.test")]
    {
        network.server.route("/x", Reply::redirect(302, location));
        let text = network.refused().to_string();
        assert!(text.contains(said) && !text.contains("s3cret"), "{text}");
    }
}

#[test]
fn only_200_is_success() {
    let network = Network::new();
    for status in [201, 204, 206, 304, 400, 401, 404, 410, 418, 500] {
        network.server.route("/x", Reply::status(status));
        let error = network.refused();
        assert_eq!(error.code(), "fetch-status");
        assert_eq!(error.refusal().unwrap().status, status);
    }
}

#[test]
fn the_size_limit_is_inclusive() {
    let mut network = Network::new();
    network.rules.max_bytes = 1_000;
    let chunked = |size: usize| {
        let body = "x".repeat(size);
        Reply::Raw(
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n0\r\n\r\n")
                .into_bytes(),
        )
    };
    let until_close = |size: usize| Reply::Raw(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(size)).into());
    let with_length = |size: usize| Reply::ok("x".repeat(size));
    for make in [&chunked as &dyn Fn(usize) -> Reply, &until_close, &with_length] {
        network.server.route("/x", make(1_001));
        let target = super::support::url(&network.url("/x"));
        let request = fullsend_fetch::Request::new(&target);
        let error = super::network::run(network.fetcher().get(&request)).unwrap_err();
        assert_eq!(error.code(), "fetch-too-large");
        network.server.route("/x", make(1_000));
        assert_eq!(super::network::run(network.fetcher().get(&request)).unwrap().bytes.len(), 1_000);
    }
}

#[test]
fn an_endless_body_ends_at_the_limit_and_takes_no_more_memory() {
    if reexec::role().is_some() {
        let network = Network::replying(Reply::endless_body());
        assert_eq!(network.refused_code(), "fetch-too-large");
        let network = Network::replying(Reply::Endless {
            head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
            chunk: vec![b'x'; 1 << 16],
        });
        assert_eq!(network.refused_code(), "fetch-too-large");
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kilobytes < 128 * 1024, "{peak}");
        return;
    }
    let output = reexec::command(test_name!(), "child").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_announced_size_is_believed_when_it_is_too_large() {
    let network = Network::new();
    for length in ["10485761", "9223372036854775807"] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        network.server.route("/x", Reply::Stall(head.into_bytes()));
        assert_eq!(network.refused_code(), "fetch-too-large");
    }
}

#[test]
fn compressed_bodies_are_refused_unread() {
    let network = Network::new();
    for encoding in ["gzip", "br", "zstd", "deflate", "gzip, identity", "x"] {
        let reply = Reply::ok(gzip::bomb(100 << 20)).header("Content-Encoding", encoding);
        network.server.route("/x", reply);
        let error = network.refused();
        assert_eq!(error.code(), "fetch-encoding");
        assert!(error.to_string().contains(encoding));
    }
}

#[test]
fn headers_that_never_end_are_not_waited_for() {
    let mut network = Network::replying(Reply::slow_headers(5));
    network.rules.stall_timeout = SHORT;
    let error = network.refused();
    assert_eq!(error.code(), "fetch-timeout");
    assert!(error.to_string().contains("headers"));
    let mut network = Network::replying(Reply::Stall(Vec::new()));
    network.rules.stall_timeout = SHORT;
    assert_eq!(network.refused_code(), "fetch-timeout");
}

#[test]
fn a_body_that_stops_is_not_waited_for() {
    let mut network =
        Network::replying(Reply::Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello".to_vec()));
    network.rules.stall_timeout = SHORT;
    assert_eq!(network.refused_code(), "fetch-timeout");
}

#[test]
fn a_body_that_drips_runs_into_the_total_limit() {
    let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{}", "x".repeat(100_000));
    let mut network = Network::replying(Reply::Drip { bytes: bytes.into_bytes(), pause_ms: 2 });
    network.rules.total_timeout = Duration::from_millis(600);
    let error = network.refused();
    assert_eq!(error.code(), "fetch-timeout");
    assert!(error.to_string().contains("whole request"), "{error}");
}

#[test]
fn lengths_must_be_true() {
    let network = Network::new();
    for (reply, code) in [
        (Reply::wrong_length(100, "short"), "fetch-interrupted"),
        (Reply::wrong_length(5, "too long"), "fetch-length"),
        (Reply::wrong_length(0, "too long"), "fetch-length"),
        (Reply::Cut(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello".to_vec()), "fetch-interrupted"),
        // Without a length, only the TLS farewell tells a complete body from a cut one.
        (Reply::Cut(b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec()), "fetch-interrupted"),
        (
            Reply::Raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n".to_vec()),
            "fetch-interrupted",
        ),
        (Reply::Cut(Vec::new()), "fetch-interrupted"),
        (Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-".to_vec()), "fetch-interrupted"),
    ] {
        network.server.route("/x", reply.clone());
        assert_eq!(network.refused_code(), code, "{reply:?}");
    }
}

#[test]
fn contradictory_lengths_are_refused() {
    let network = Network::new();
    for head in ["Content-Length: 5\r\nContent-Length: 6", "Content-Length: -5", "Content-Length: 5, 6"] {
        network
            .server
            .route("/x", Reply::Raw(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\nhello!").into_bytes()));
        assert_eq!(network.refused_code(), "fetch-protocol", "{head}");
    }
}

#[test]
fn what_is_not_http_is_refused() {
    let network = Network::new();
    for text in
        ["SSH-2.0-OpenSSH_9.2\r\n\r\n", "hello\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 OK\r\n\r\n"]
    {
        network.server.route("/x", Reply::Raw(text.into()));
        assert_eq!(network.refused_code(), "fetch-protocol", "{text}");
    }
}

#[test]
fn headers_have_limits() {
    let network = Network::replying(Reply::huge_header(1 << 20));
    assert_eq!(network.refused_code(), "fetch-protocol");
    let mut reply = Reply::status(200);
    for n in 0..500 {
        reply = reply.header(&format!("X-{n}"), "x");
    }
    network.server.route("/x", reply);
    assert_eq!(network.refused_code(), "fetch-protocol");
}

#[test]
fn informational_responses_do_not_hide_the_real_one() {
    let text =
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let network = Network::replying(Reply::Raw(text.into()));
    assert_eq!(network.refused().refusal().unwrap().status, 404);
}

#[test]
fn upgrades_are_not_taken() {
    let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n";
    let network = Network::replying(Reply::Raw(text.into()));
    assert!(["fetch-status", "fetch-protocol", "fetch-interrupted"].contains(&network.refused_code()));
}
