//! `web_fetch` against servers that have public names and addresses, and mean no good.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fullsend_agent::gate::FlowMode;
use fullsend_agent::tools::WebFetch;
use fullsend_agent::{Tool as _, ToolCallContext, ToolOutput};
use fullsend_fetch::get::ExtraRoots;
use fullsend_fetch::get::visit::{PlainHttp, VisitRules, Visitor};
use fullsend_flow::Label;
use fullsend_testkit::{Host, Reply, Server, TestCa, Validity, in_namespace, test_name};
use serde_json::{Value, json};

use crate::support::desk::Desk;
use crate::support::room::Files;

const PUBLIC: &str = "93.184.216.34";

/// A tool that trusts a test's certificates, with a directory for bodies.
struct World {
    tool: WebFetch,
    bodies: tempfile::TempDir,
}

impl World {
    fn new(ca: &TestCa, plain_http: PlainHttp) -> Self {
        let bodies = tempfile::tempdir().unwrap();
        let extra_roots = vec![ExtraRoots::Pem(ca.pem().into_bytes())];
        let rules = VisitRules { plain_http, extra_roots, ..VisitRules::default() };
        let spill = Arc::new(Files::new(bodies.path().to_owned()));
        let sources = Arc::clone(&Desk::new().sources);
        let mode = FlowMode::EnforceExplicit;
        Self { tool: WebFetch::new(Visitor::new(rules).unwrap(), spill, sources, mode), bodies }
    }

    fn call(&self, input: Value) -> ToolOutput {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let output_id = format!("run-1:web_fetch:{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let label = Label::bottom();
        let input = input.as_object().unwrap();
        let context = ToolCallContext { call_id: "call", output_id: &output_id, input, label: &label };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(self.tool.call(context)).unwrap()
    }

    fn get(&self, url: &str) -> Value {
        self.call(json!({ "url": url })).record
    }

    fn code(&self, url: &str) -> String {
        let record = self.get(url);
        assert_eq!(record["type"], "fullsend.web-fetch-error", "{url}: {record}");
        record["code"].as_str().unwrap().to_owned()
    }
}

/// A server without encryption that says the same to everybody, byte for byte; and how often it was asked.
fn plain(address: &str, answer: &'static [u8]) -> Arc<AtomicUsize> {
    let listener = TcpListener::bind(address).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(answer);
        }
    });
    asked
}

fn serve(ca: &TestCa, name: &str, address: &str) -> Server {
    Server::start(&ca.leaf(&[name], Validity::Current), &[address])
}

#[test]
fn a_page_becomes_text() {
    in_namespace(test_name!(), &[Host::new("page.example", PUBLIC)], || {
        let ca = TestCa::new();
        let server = serve(&ca, "page.example", "93.184.216.34:443");
        let page = b"<meta charset=latin1><title>Caf\xe9</title><p>one</p><a href=\"/x#y\">here</a>\
            <a href=\"http://10.0.0.1/\">in</a><a href=\"http://localhost/\">in</a><a href=\"//page.example:8080/\">in</a>\
            <a href=\"https://other.example/\">there</a><a href=\"javascript:x\">no</a>";
        server.route("/start", Reply::redirect(302, "/page?q=1"));
        server.route("/page?q=1", Reply::ok(&page[..]).header("Content-Type", "Text/HTML"));
        let world = World::new(&ca, PlainHttp::Refused);
        let output = world.call(json!({ "url": "HTTPS://page.example:443/start#top" }));
        assert_eq!(output.label, Label::untrusted());
        let mut record = output.record;
        let kept = world.bodies.path().join(record["rawContentArtifact"].as_str().unwrap());
        assert_eq!(std::fs::read(kept).unwrap(), page);
        for changing in ["fetchedAt", "outputId", "rawContentArtifact", "rawContentDigest"] {
            assert!(record.as_object_mut().unwrap().remove(changing).is_some(), "{changing}");
        }
        let expected = json!({
            "type": "fullsend.web-fetch-result", "url": "https://page.example/start",
            "finalUrl": "https://page.example/page?q=1", "status": 200, "ok": true, "bytes": page.len(),
            "rawContentTruncated": false, "textTruncated": false, "contentType": "Text/HTML",
            "text": "Caf\u{e9}\none\nhere in in in there no", "title": "Caf\u{e9}",
            "links": [
                { "text": "here", "href": "https://page.example/x" },
                { "text": "there", "href": "https://other.example/" },
            ],
            "redirects": [{
                "status": 302, "url": "https://page.example/start", "location": "https://page.example/page?q=1",
            }],
        });
        assert_eq!(record, expected);
        let asked = &server.requests()[0];
        assert_eq!(
            (asked.header("host"), asked.header("accept-encoding")),
            (Some("page.example"), Some("identity"))
        );
        assert_eq!((asked.header("cookie"), asked.header("authorization")), (None, None));
    });
}

#[test]
fn answers_are_bounded_and_judged() {
    in_namespace(test_name!(), &[Host::new("page.example", PUBLIC)], || {
        let ca = TestCa::new();
        let server = serve(&ca, "page.example", "93.184.216.34:443");
        let text = |reply: Reply| reply.header("Content-Type", "text/plain");
        server.route("/long", text(Reply::ok("abcdef")));
        server.route("/missing", text(Reply::status(404).body("gone")));
        server.route("/json", Reply::ok("{}").header("Content-Type", "application/ld+json; charset=utf-8"));
        server.route("/image", Reply::ok("png").header("Content-Type", "image/png"));
        server.route("/untyped", Reply::ok("x"));
        server.route("/packed", text(Reply::ok("x").header("Content-Encoding", "gzip")));
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
        server.route("/endless", Reply::Endless { head: head.to_vec(), chunk: b"4\r\nxxxx\r\n".to_vec() });
        server.route("/slow", Reply::slow_headers(60_000));
        let short = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nx";
        server.route("/short", Reply::Raw(short.to_vec()));
        server.route("/header", Reply::huge_header(100_000));
        server.route("/nowhere", text(Reply::status(302).body("no location")));
        for hop in 0..7 {
            server.route(&format!("/r{hop}"), Reply::redirect(307, &format!("r{}", hop + 1)));
        }
        server.route("/r7", text(Reply::ok("end")));
        let world = World::new(&ca, PlainHttp::Refused);
        let cut = world
            .call(json!({ "url": "https://page.example/long", "maxBytes": 3, "maxTextChars": 2 }))
            .record;
        let told = (&cut["bytes"], &cut["rawContentTruncated"], &cut["text"], &cut["textTruncated"]);
        assert_eq!(told, (&json!(3), &json!(true), &json!("ab"), &json!(true)));
        let missing = world.get("https://page.example/missing");
        assert_eq!(
            (&missing["status"], &missing["ok"], &missing["text"]),
            (&json!(404), &json!(false), &json!("gone"))
        );
        assert_eq!(world.get("https://page.example/json")["text"], "{}");
        assert_eq!(world.get("https://page.example/nowhere")["status"], 302);
        assert_eq!(world.get("https://page.example/r2")["text"], "end", "five are followed");
        assert_eq!(world.code("https://page.example/r1"), "too_many_redirects");
        let image = world.get("https://page.example/image");
        let told = (&image["code"], &image["status"], &image["contentType"]);
        assert_eq!(told, (&json!("unsupported_content_type"), &json!(200), &json!("image/png")));
        assert_eq!(world.code("https://page.example/untyped"), "unsupported_content_type");
        for path in ["packed", "short", "header"] {
            assert_eq!(world.code(&format!("https://page.example/{path}")), "fetch_failed", "{path}");
        }
        let endless = world.call(json!({ "url": "https://page.example/endless", "maxBytes": 10_000 })).record;
        assert_eq!((&endless["bytes"], &endless["rawContentTruncated"]), (&json!(10_000), &json!(true)));
        let slow = world.call(json!({ "url": "https://page.example/slow", "timeoutMs": 300 }));
        assert_eq!(
            (&slow.record["code"], slow.failure.unwrap().kind.as_str()),
            (&json!("timeout"), "timeout")
        );
    });
}

#[test]
fn nothing_private_is_asked() {
    let hosts = [
        Host::new("page.example", PUBLIC),
        Host::new("inner.example", "10.0.0.7"),
        Host::new("both.example", PUBLIC),
        Host::new("both.example", "10.0.0.7"),
    ];
    in_namespace(test_name!(), &hosts, || {
        let ca = TestCa::new();
        let public = serve(&ca, "page.example", "93.184.216.34:443");
        let inner = serve(&ca, "inner.example", "10.0.0.7:443");
        let odd = serve(&ca, "page.example", "93.184.216.34:8443");
        let asked = plain(
            "10.0.0.7:80",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx",
        );
        let world = World::new(&ca, PlainHttp::Allowed);
        for url in [
            "http://localhost:8000/private",
            "http://a.localhost/",
            "http://LOCALHOST./",
            "http://printer.local/",
            "http://host.docker.internal/",
            "https://inner.example/",
            "http://inner.example/",
            "https://both.example/",
            "http://10.0.0.7/",
            "http://100.64.0.1/",
            "http://192.0.2.1/",
            "http://198.18.0.1/",
            "http://224.0.0.1/",
            "http://240.0.0.1/",
            "http://[::ffff:7f00:1]/",
            "http://[2001:db8::1]/",
            "http://[64:ff9b::a00:1]/",
            "http://0.1.2.3/",
            "http://169.254.169.254/latest",
            "http://192.0.0.8/",
            "http://192.88.99.1/",
            "http://198.51.100.5/",
            "http://203.0.113.9/",
            "http://255.255.255.255/",
            "http://167772167/",
            "http://0x0a000007/",
            "http://10.7/",
            "http://012.0.0.7/",
            "http://[::1]/",
            "http://[fe80::1]/",
            "http://unknown.example/",
            "https://user@page.example/",
            "https://user:secret@page.example/",
            "https://page.example:8443/",
            "http://page.example:22/",
        ] {
            assert_eq!(world.code(url), "blocked_url", "{url}");
            assert!(!world.get(url)["message"].to_string().contains("secret"), "{url}");
        }
        for url in
            ["", "page.example", "file:///etc/passwd", "ftp://page.example/", "javascript:1", "http://"]
        {
            assert_eq!(world.code(url), "invalid_url", "{url}");
        }
        for location in [
            "https://inner.example/",
            "http://10.0.0.7/",
            "http://page.example/",
            "https://page.example:8443/",
            "//localhost/",
            "file:///etc/passwd",
            "https://user@page.example/",
            "https://[::1]/",
        ] {
            public.route("/go", Reply::redirect(301, location));
            let record = world.get("https://page.example/go");
            assert_eq!(record["code"], "blocked_url", "{location}: {record}");
        }
        assert_eq!((inner.connections(), odd.connections(), asked.load(Ordering::SeqCst)), (0, 0, 0));
    });
}

#[test]
fn plain_http_needs_to_be_allowed() {
    in_namespace(test_name!(), &[Host::new("page.example", PUBLIC)], || {
        let ca = TestCa::new();
        let asked = plain(
            "93.184.216.34:80",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        );
        assert_eq!(World::new(&ca, PlainHttp::Refused).code("http://page.example/"), "blocked_url");
        assert_eq!(asked.load(Ordering::SeqCst), 0);
        assert_eq!(World::new(&ca, PlainHttp::Allowed).get("http://page.example/")["text"], "hi");
    });
}

#[test]
fn a_chunk_of_any_length_is_no_page() {
    in_namespace(test_name!(), &[Host::new("page.example", PUBLIC)], || {
        let digits = "9".repeat(5000);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer: &'static str = Box::leak(format!("{head}{digits}\r\nx").into_boxed_str());
        plain("93.184.216.34:80", answer.as_bytes());
        let world = World::new(&TestCa::new(), PlainHttp::Allowed);
        assert_eq!(world.code("http://page.example/"), "fetch_failed");
    });
}
