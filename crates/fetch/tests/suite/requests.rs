//! What goes over the wire, and what comes back when all is well.

use std::time::Duration;

use fullsend_fetch::get::{ExtraRoots, Mode};
use fullsend_fetch::{Credential, Request};
use fullsend_origin::{PinnedUrl, Sha256Digest};
use fullsend_testkit::{Reply, Server, Validity, reexec, test_name};

use super::network::{NAME, Network, rules, run};
use super::support::url;

#[test]
fn a_response_comes_back_with_its_digest_and_the_headers_that_matter() {
    let reply = Reply::ok("hello")
        .header("ETag", "\"1\"")
        .header("Link", "<https://x/>; rel=\"next\"")
        .header("X-Next-Page", "2")
        .header("Retry-After", "3")
        .header("X-RateLimit-Remaining", "59")
        .header("Set-Cookie", "a=b")
        .header("X-Other", "dropped");
    let network = Network::replying(reply);
    let fetched = network.get().unwrap();
    assert_eq!(fetched.bytes, b"hello");
    assert_eq!(fetched.digest, Sha256Digest::of(b"hello"));
    assert_eq!(fetched.peer, network.server.address());
    let headers: Vec<(&str, &str)> = fetched.headers.iter().collect();
    let expected = [
        ("etag", "\"1\""),
        ("link", "<https://x/>; rel=\"next\""),
        ("retry-after", "3"),
        ("x-next-page", "2"),
        ("x-ratelimit-remaining", "59"),
    ];
    assert_eq!(headers, expected);
}

#[test]
fn a_request_says_what_it_must_and_nothing_else() {
    let network = Network::replying(Reply::ok(""));
    network.get().unwrap();
    let requests = network.server.requests();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/x"));
    assert_eq!(request.sni.as_deref(), Some(NAME));
    let mut headers = request.headers.clone();
    headers.sort();
    let port = network.server.address().port();
    let expected = [
        ("accept-encoding", "identity"),
        ("connection", "close"),
        ("host", &format!("{NAME}:{port}")),
        ("user-agent", &format!("fullsend/{}", env!("CARGO_PKG_VERSION"))),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn the_path_goes_out_as_it_was_checked() {
    let network = Network::new();
    for (path, target) in [
        ("", "/"),
        ("?q", "/?q"),
        ("/a%20b/%C3%A4?x=1&y=%2F..", "/a%20b/%C3%A4?x=1&y=%2F.."),
        ("/a b/ä", "/a%20b/%C3%A4"),
        ("//evil.example/x", "//evil.example/x"),
        ("/a//b/", "/a//b/"),
        ("/~user/(x)!*'$;,:@=+", "/~user/(x)!*'$;,:@=+"),
    ] {
        network.server.route(target, Reply::ok(target));
        let target_url = url(&network.url(path));
        let fetched = run(network.fetcher().get(&Request::new(&target_url))).unwrap();
        assert_eq!(String::from_utf8(fetched.bytes).unwrap(), target);
    }
}

#[test]
fn apis_get_their_headers_and_explain_their_refusals() {
    let network = Network::new();
    let refusal = Reply::status(403)
        .header("X-RateLimit-Remaining", "0")
        .header("Retry-After", "60")
        .body(format!("{{\"message\": \"{}\"}}", "rate limit ".repeat(1_000)));
    network.server.route("/x", refusal);
    let target = url(&network.url("/x"));
    let request = Request::new(&target)
        .accept("application/vnd.github+json")
        .github_api_version("2022-11-28")
        .explain_refusals();
    let error = run(network.fetcher().get(&request)).unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!(refusal.status, 403);
    assert_eq!(refusal.headers.get("x-ratelimit-remaining"), Some("0"));
    assert_eq!(refusal.headers.get("retry-after"), Some("60"));
    assert!(refusal.excerpt.starts_with("{\"message\": \"rate limit"));
    assert_eq!(refusal.excerpt.len(), 2_048);
    let sent = &network.server.requests()[0];
    assert_eq!(sent.header("accept"), Some("application/vnd.github+json"));
    assert_eq!(sent.header("x-github-api-version"), Some("2022-11-28"));
    let error = run(network.fetcher().get(&Request::new(&target))).unwrap_err();
    assert_eq!(error.refusal().unwrap().excerpt, "");
}

#[test]
fn headers_cannot_be_smuggled() {
    let network = Network::new();
    let target = url(&network.url("/x"));
    let error = run(network.fetcher().get(&Request::new(&target).accept("a\r\nX-Evil: 1"))).unwrap_err();
    assert_eq!(error.code(), "fetch-request");
    assert!(network.server.requests().is_empty());
}

#[test]
fn a_credential_is_for_its_host_only() {
    let network = Network::replying(Reply::ok(""));
    let target = url(&network.url("/x"));
    let send = |credential: &Credential| {
        run(network.fetcher().get(&Request::new(&target).credential(credential))).unwrap();
        network.server.requests().pop().unwrap()
    };
    let request = send(&Credential::bearer(NAME, "s3cret").unwrap());
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    let request = send(&Credential::private_token(&NAME.to_uppercase(), "s3cret").unwrap());
    assert_eq!(request.header("private-token"), Some("s3cret"));
    for host in ["other.test", "test", "sub.server.test", "server.test.evil.example"] {
        for credential in [Credential::bearer(host, "s3cret"), Credential::private_token(host, "s3cret")] {
            let request = send(&credential.unwrap());
            assert!(!format!("{request:?}").contains("s3cret"), "sent to {NAME}, but it is for {host}");
        }
    }
}

#[test]
fn pinned_content_is_that_content_or_nothing() {
    let network = Network::replying(Reply::ok("hello"));
    let pinned = |bytes: &[u8]| PinnedUrl::new(url(&network.url("/x")), Sha256Digest::of(bytes));
    assert_eq!(run(network.fetcher().get_pinned(&pinned(b"hello"))).unwrap().bytes, b"hello");
    let error = run(network.fetcher().get_pinned(&pinned(b"other"))).unwrap_err();
    assert_eq!(error.code(), "fetch-digest");
    assert!(error.help().unwrap().contains(&Sha256Digest::of(b"hello").to_string()));
}

#[test]
fn offline_nobody_is_asked() {
    let mut network = Network::replying(Reply::ok("hello"));
    network.rules.mode = Mode::Offline;
    assert_eq!(network.refused_code(), "fetch-offline");
    assert_eq!((network.resolver.calls(), network.server.connections()), (0, 0));
    network.rules.allowed_hosts.clear();
    assert_eq!(network.refused_code(), "fetch-offline");
}

#[test]
fn hosts_and_ports_are_checked_before_names_are_resolved() {
    let mut network = Network::replying(Reply::ok("hello"));
    network.rules.private_hosts.clear();
    assert_eq!(network.refused_code(), "fetch-port-not-allowed");
    network.rules.allowed_hosts.clear();
    assert_eq!(network.refused_code(), "fetch-host-not-allowed");
    assert_eq!((network.resolver.calls(), network.server.connections()), (0, 0));
}

#[test]
fn the_environment_changes_nothing() {
    if reexec::role().is_some() {
        let network = Network::replying(Reply::ok("hello"));
        assert_eq!(network.get().unwrap().bytes, b"hello");
        assert_eq!(network.server.connections(), 1);
        return;
    }
    // Where the variables point, a server counts who comes; nobody may.
    let network = Network::new();
    let proxy = format!("http://{}", network.server.address());
    let mut child = reexec::command(test_name!(), "child");
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(name, &proxy);
    }
    child.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/nonexistent").env("NO_PROXY", "");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    assert_eq!(network.server.connections(), 0);
}

#[test]
fn the_server_must_prove_its_name() {
    let network = Network::new();
    for (ca, names, validity) in [
        (&network.ca, &["other.test"][..], Validity::Current),
        (&network.ca, &["127.0.0.1"], Validity::Current),
        (&network.ca, &["test", "*.server.test"], Validity::Current),
        (&network.ca, &[NAME], Validity::Expired),
        (&fullsend_testkit::TestCa::new(), &[NAME], Validity::Current),
    ] {
        let server = Server::start(&ca.leaf(names, validity), &["127.0.0.1:0"]);
        server.route("/x", Reply::ok("hello"));
        let mut impostor = Network::new();
        impostor.rules = rules(&network.ca, server.address());
        impostor.rules.retries.max_retries = 3;
        impostor.server = server;
        assert_eq!(impostor.refused_code(), "fetch-tls", "{names:?} {validity:?}");
        assert_eq!(impostor.server.connections(), 1, "a wrong certificate does not pass by itself");
        assert!(impostor.server.requests().is_empty());
    }
}

#[test]
fn authorities_may_come_from_a_file() {
    let mut network = Network::replying(Reply::ok("hello"));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    std::fs::write(&file, format!("# ours\n{}{}", network.ca.pem(), fullsend_testkit::TestCa::new().pem()))
        .unwrap();
    network.rules.extra_roots = Vec::new();
    assert_eq!(network.refused_code(), "fetch-tls");
    network.rules.extra_roots = vec![ExtraRoots::File(file)];
    assert_eq!(network.get().unwrap().bytes, b"hello");
}

#[test]
fn nothing_listens() {
    let mut network = Network::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    network.rules = rules(&network.ca, closed);
    let target = url(&format!("https://{NAME}:{}/x", closed.port()));
    let error = run(network.fetcher().get(&Request::new(&target))).unwrap_err();
    assert_eq!(error.code(), "fetch-connect");
}

#[test]
fn something_listens_but_says_nothing() {
    let mut network = Network::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    network.rules = rules(&network.ca, address);
    network.rules.connect_timeout = Duration::from_millis(100);
    let target = url(&format!("https://{NAME}:{}/x", address.port()));
    let error = run(network.fetcher().get(&Request::new(&target))).unwrap_err();
    assert_eq!(error.code(), "fetch-timeout");
}
