//! Services with credentials: the server sees the key, the session never does.

use fullsend_sandbox::egress::{CompiledPolicy, Egress, EgressConfig, Entrance, SystemResolver};
use fullsend_sandbox::{Endpoint, HttpRule, NetworkPolicy, Secret};
use fullsend_testkit::{Reply, Server, TestCa, Validity};
use serde_json::json;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::support::{Origin, PATIENCE, Proxy, der, listen, names, read_all, read_head, read_until};

const KEY: &str = "sk-very-secret-5c1f";

fn endpoint(upstream: String) -> Endpoint {
    let headers = vec![("Authorization".to_owned(), Secret::new(format!("Bearer {KEY}")))];
    Endpoint { name: "model".into(), upstream, headers, rules: vec![] }
}

fn start(endpoint: Endpoint, roots: &[&TestCa]) -> (Proxy, std::net::SocketAddr) {
    let roots = roots.iter().map(|ca| der(&ca.pem())).collect();
    let proxy = Proxy::with(&NetworkPolicy::none(), names(), vec![endpoint], roots);
    let address = listen(&proxy.egress, Entrance::Endpoint { index: 0 });
    (proxy, address)
}

async fn send(address: std::net::SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    read_all(&mut stream).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_is_added_outside_and_never_shown() {
    let ca = TestCa::new();
    let server = Server::start(&ca.leaf(&["ok.test"], Validity::Current), &["127.0.0.1:0"]);
    server.route("/v1/messages?beta=1", Reply::ok("answer"));
    let (proxy, address) =
        start(endpoint(format!("https://ok.test:{}/v1/", server.address().port())), &[&ca]);
    let mut answers = String::new();
    for connection in ["close", "close, Authorization"] {
        let request = format!(
            "GET /messages?beta=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nauthorization: Bearer fake\r\nAuthorization: x\r\n\
             Connection: {connection}\r\nX-Own: 1\r\n\r\n"
        );
        let answer = send(address, &request).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("answer"), "{answer}");
        answers += &answer;
    }
    let seen = server.requests();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(request.sni.as_deref(), Some("ok.test"));
        let keys: Vec<_> = request.headers.iter().filter(|(name, _)| name == "authorization").collect();
        assert_eq!(keys, [&("authorization".to_owned(), format!("Bearer {KEY}"))]);
        assert_eq!(request.header("host"), Some(format!("ok.test:{}", server.address().port()).as_str()));
        assert_eq!(request.header("x-own"), Some("1"));
    }
    let line = proxy.logged(&[("event", json!("close"))]).await;
    assert_eq!((&line["entrance"], &line["path"]), (&json!("endpoint:model"), &json!("/messages")));
    let told = [answers, proxy.log_text(), format!("{:?}", proxy.egress)].concat();
    assert!(!told.contains(KEY) && !told.contains("beta=1"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_prove_its_name_gets_no_key() {
    let (trusted, other) = (TestCa::new(), TestCa::new());
    let server = Server::start(&other.leaf(&["ok.test"], Validity::Current), &["127.0.0.1:0"]);
    let (proxy, address) =
        start(endpoint(format!("https://ok.test:{}", server.address().port())), &[&trusted]);
    let answer = send(address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("tls-failed"), "{answer}");
    assert_eq!(server.requests(), []);
    assert!(!(answer + &proxy.log_text()).contains(KEY));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_arrive_when_they_happen() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_proxy, address) = start(endpoint(format!("http://{}/api", listener.local_addr().unwrap())), &[]);
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let head = read_head(&mut server).await;
    assert!(head.starts_with("POST /api/stream HTTP/1.1\r\n") && head.contains(KEY), "{head}");
    server.read_exact(&mut [0; 2]).await.unwrap();
    let start = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    server.write_all(start.as_bytes()).await.unwrap();
    read_head(&mut client).await;
    for number in 0..3 {
        // The next event is only sent when the last one has arrived.
        server.write_all(format!("9\r\ndata: {number}\n\n\r\n").as_bytes()).await.unwrap();
        let event = tokio::time::timeout(PATIENCE, read_until(&mut client, "\n\n\r\n")).await.unwrap();
        assert!(event.contains(&format!("data: {number}")), "{event}");
    }
    server.write_all(b"0\r\n\r\n").await.unwrap();
    assert_eq!(read_until(&mut client, "0\r\n\r\n").await, "0\r\n\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_stay_below_the_upstream_and_within_the_rules() {
    let origin = Origin::start().await;
    let mut endpoint = endpoint(format!("http://{}/v1", origin.address));
    endpoint.rules = vec![HttpRule {
        host: "ignored".into(),
        methods: vec!["GET".into()],
        paths: vec!["/models/*".into()],
    }];
    let (proxy, address) = start(endpoint, &[]);
    for (request_line, code) in [
        ("POST /models/x", "request-not-allowed"),
        ("GET /admin", "request-not-allowed"),
        ("GET /models/../admin", "path-ambiguous"),
        ("GET /models/%2e%2e/admin", "path-ambiguous"),
        ("GET /models/..%2f..%2fadmin", "path-ambiguous"),
        ("GET /models/%c0%ae%c0%ae/admin", "path-ambiguous"),
        ("GET http://evil.test/models/x", "request-target"),
        ("OPTIONS *", "path-ambiguous"),
        ("TRACE /models/x", "method-not-allowed"),
        ("CONNECT ok.test:443", "request-target"),
    ] {
        let answer = send(address, &format!("{request_line} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(answer.contains(&format!("X-Fullsend-Reason: {code}\r\n")), "{request_line}: {answer}");
        assert!(!answer.contains(KEY));
    }
    for header in ["X-HTTP-Method-Override: DELETE", "x-original-url: /admin"] {
        let answer = send(address, &format!("GET /models/x HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n")).await;
        assert!(answer.contains("X-Fullsend-Reason: override\r\n"), "{header}: {answer}");
    }
    assert_eq!(origin.requests(), Vec::<String>::new());
    let answer =
        send(address, "GET /models/a?x=../.. HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(origin.requests()[0].starts_with("GET /v1/models/a?x=../.. HTTP/1.1\r\n"));
    let remedies: Vec<_> = proxy.denials().into_iter().filter_map(|denial| denial.remedy).collect();
    assert!(
        remedies.contains(
            &r#"a rule {"methods": ["POST"], "paths": ["/models/x"]} for the endpoint `model`"#.to_owned()
        ),
        "{remedies:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_climbs_out_of_the_upstream_even_without_rules() {
    let origin = Origin::start().await;
    let (_proxy, address) = start(endpoint(format!("http://{}/v1", origin.address)), &[]);
    for path in ["/../admin", "/a/%2e%2e/%2e%2e/admin", "/..%5cadmin", "/%252e%252e/admin", "/..;/admin"] {
        let answer = send(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("path-ambiguous"), "{path}: {answer}");
    }
    assert_eq!(origin.requests(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_does_not_exist_cannot_be_offered() {
    let proxy = Proxy::start(&NetworkPolicy::none());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = proxy.egress.listen(Entrance::Endpoint { index: 0 }, listener).unwrap_err();
    assert_eq!(error.code(), "sandbox-invalid-request");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_the_service_are_used_again() {
    let origin = Origin::start().await;
    let (_proxy, address) = start(endpoint(format!("http://{}", origin.address)), &[]);
    for _ in 0..3 {
        let answer = send(address, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        assert!(answer.ends_with("ok"), "{answer}");
    }
    assert_eq!(origin.requests().len(), 3);
    assert_eq!(origin.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_that_cannot_be_meant_are_refused_without_their_secrets() {
    let change = |change: fn(&mut Endpoint)| {
        let mut endpoint = endpoint("https://ok.test/v1".into());
        change(&mut endpoint);
        endpoint
    };
    for endpoint in [
        change(|endpoint| endpoint.upstream = "ftp://ok.test".into()),
        change(|endpoint| endpoint.upstream = "https://user@ok.test/".into()),
        change(|endpoint| endpoint.upstream = "https://ok.test/?q".into()),
        change(|endpoint| endpoint.upstream = "https://ok.test/a/../b".into()),
        change(|endpoint| endpoint.upstream = "https://ok.test:0/".into()),
        change(|endpoint| endpoint.upstream = "http://169.254.169.254/".into()),
        change(|endpoint| endpoint.name = "a b".into()),
        change(|endpoint| endpoint.name = String::new()),
        change(|endpoint| endpoint.headers[0].0 = "Bad Name".into()),
        change(|endpoint| endpoint.headers[0].0 = "Host".into()),
        change(|endpoint| endpoint.headers[0].1 = Secret::new(format!("{KEY}\r\nX: y"))),
        change(|endpoint| {
            endpoint.rules =
                vec![HttpRule { host: String::new(), methods: vec!["get".into()], paths: vec![] }];
        }),
    ] {
        let config = EgressConfig {
            policy: CompiledPolicy::default(),
            endpoints: vec![endpoint.clone()],
            log: None,
            session: "s".into(),
            resolver: Arc::new(SystemResolver),
            roots: vec![],
        };
        let error = Egress::start(config).expect_err(&format!("{endpoint:?}")).to_string();
        assert!(error.starts_with("endpoint `") && !error.contains(KEY), "{error}");
    }
}
