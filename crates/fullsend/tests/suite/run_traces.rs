//! Traces for a collector: the spans of the file, in one document, or nothing at all.

use std::collections::BTreeSet;
use std::net::TcpListener;

use fullsend_testkit::gateway::{GatewayReply, ScriptedGateway};
use fullsend_testkit::test_name;
use serde_json::Value;

use crate::suite::run_place::{Bench, Told};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The spans of a document.
fn spans(document: &Value) -> Vec<Value> {
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

/// The spans of the file, as texts.
fn written(told: &Told) -> BTreeSet<String> {
    let lines = told.read("run-telemetry.jsonl");
    let documents = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    documents.flat_map(|document| spans(&document)).map(|span| span.to_string()).collect()
}

#[test]
fn a_collector_gets_what_is_in_the_file() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let collector = ScriptedGateway::sequence(vec![
        GatewayReply::status(503, ""),
        GatewayReply::status(429, ""),
        GatewayReply::status(200, "{}"),
    ]);
    let url = collector.url();
    let run = bench.run_with(
        &[],
        &[
            (ENDPOINT, url.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cret%20word, x-team=a"),
            ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ],
    );
    assert_eq!(run.end(), (Some(0), "success"), "{run:?}");
    let requests = collector.requests();
    assert_eq!(requests.len(), 3, "{run:?}");
    for request in &requests {
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/traces"));
        assert_eq!((request.header("x-key"), request.header("x-team")), (Some("s3cret word"), Some("a")));
        assert_eq!(request.header("content-type"), Some("application/json"));
    }
    let document = requests[2].json();
    let sent: BTreeSet<String> = spans(&document).iter().map(Value::to_string).collect();
    assert_eq!(sent, written(&run));
    let names: Vec<&str> = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| span["name"].as_str().unwrap())
        .collect();
    for name in ["run", "agent", "sandbox_create", "report"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(spans(&document).iter().all(|span| span["traceId"] == "0af7651916cd43dd8448eb211c80319c"));
    let resource = document["resourceSpans"][0]["resource"]["attributes"].to_string();
    assert!(resource.contains("\"service.name\""), "{resource}");
    assert!(!format!("{run:?}").contains("s3cret"), "{run:?}");
}

#[test]
fn a_failed_run_has_a_trace_too() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.harness("pre_script: scripts/pre.sh\n");
    bench.script("pre.sh", "exit 3");
    let collector = ScriptedGateway::sequence(vec![GatewayReply::status(200, "{}")]);
    let url = format!("{}/all/of/it?x=y", collector.url());
    let run = bench.run_with(&[], &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &url), (ENDPOINT, "nonsense")]);
    assert_eq!(run.end(), (Some(1), "failure"));
    let [request] = &collector.requests()[..] else { panic!("{run:?}") };
    assert_eq!(request.target, "/all/of/it?x=y");
    let spans = spans(&request.json());
    let root = spans.iter().find(|span| span["name"] == "run").unwrap();
    assert_eq!(root["status"]["code"], 2, "{root}");
}

#[test]
fn nothing_is_sent_of_a_trace_that_nobody_keeps() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let collector = ScriptedGateway::sequence(vec![GatewayReply::status(200, "{}")]);
    let url = collector.url();
    let unsampled = ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
    for (variable, file) in [(unsampled, true), (("OTEL_SDK_DISABLED", "true"), false)] {
        let run = bench.run_with(&[], &[(ENDPOINT, url.as_str()), variable]);
        assert_eq!(run.end(), (Some(0), "success"));
        assert_eq!(run.file("run-telemetry.jsonl").is_file(), file);
    }
    assert_eq!(collector.connections(), 0);
}

#[test]
fn a_collector_that_fails_is_one_warning() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refusing = ScriptedGateway::sequence(vec![GatewayReply::status(400, r#"{"message": "bad batch"}"#)]);
    for (url, expected) in [
        (format!("http://{unused}"), "the trace was not sent: `127.0.0.1` cannot be reached"),
        (refusing.url(), "the trace was not sent: `127.0.0.1` answered 400: bad batch"),
        ("localhost:4317".to_owned(), "no trace is sent: `OTEL_EXPORTER_OTLP_ENDPOINT` "),
    ] {
        let run = bench.run_with(&[], &[(ENDPOINT, url.as_str())]);
        assert_eq!(run.end(), (Some(0), "success"));
        let events = run.lines.iter().map(|line| &line["event"]).filter(|event| event["type"] == "warning");
        let warnings: Vec<&str> = events.filter_map(|event| event["text"].as_str()).collect();
        assert!(warnings.len() == 1 && warnings[0].starts_with(expected), "{warnings:?}");
    }
    assert_eq!(refusing.requests().len(), 1);
}
