//! Spans of runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fullsend_guard::{SystemClock, TraceId};
use fullsend_runner::trace::{TraceEnd, TraceParent, TraceSettings, Tracer, work_item};
use fullsend_runner::{Event, Outcome, Step};
use fullsend_runtimes::{Metrics, RuntimeEvent, TokenUsage};
use serde_json::Value;

fn settings(parent: Option<TraceParent>) -> TraceSettings {
    TraceSettings {
        agent: "review".to_owned(),
        work_item: "o/r#1".to_owned(),
        security_trace_id: TraceId::generate(),
        system: "anthropic".to_owned(),
        version: "1.2.3".to_owned(),
        resource: BTreeMap::from([("team".to_owned(), "x".to_owned())]),
        parent,
        longest_attribute: Some(20),
    }
}

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn spans(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let span = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone()
    };
    text.lines().map(span).collect()
}

fn attribute<'v>(span: &'v Value, key: &str) -> Option<&'v Value> {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object().unwrap().values().next()
}

fn step(tracer: &mut Tracer, step: Step, iteration: Option<u32>, outcome: Outcome, events: &[RuntimeEvent]) {
    tracer.observe(&Event::StepBegan { step, iteration });
    for event in events {
        tracer.observe(&Event::Runtime { iteration: 1, event: event.clone() });
    }
    let (detail, took) = ("it went wrong".repeat(400), Duration::ZERO);
    tracer.observe(&Event::StepEnded { step, iteration, outcome, detail, took });
}

fn result(is_error: bool) -> RuntimeEvent {
    RuntimeEvent::Result {
        num_turns: 3,
        total_cost_usd: 0.126,
        is_error,
        message: "too many turns".to_owned(),
        subtype: "x".to_owned(),
        usage: TokenUsage { input: 10, output: 20, reasoning: 0, cache_creation: 3, cache_read: 4 },
    }
}

#[test]
fn each_step_is_a_span_of_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    let parent: TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap();
    let mut tracer = Tracer::start(&path, settings(Some(parent)), Arc::new(SystemClock)).unwrap();
    let handed_on = tracer.traceparent();
    step(&mut tracer, Step::Provision, None, Outcome::Done, &[]);
    let init = RuntimeEvent::Init { model: Some("m-1".to_owned()), version: None };
    let tool =
        RuntimeEvent::ToolUse { id: None, name: "Bash".to_owned(), summary: "secret command".to_owned() };
    step(&mut tracer, Step::Agent, Some(1), Outcome::Failed, &[init, tool, result(true)]);
    step(&mut tracer, Step::Validate, Some(1), Outcome::Blocked, &[]);
    tracer.observe(&Event::StepBegan { step: Step::PostScript, iteration: None });
    let metrics = Metrics { num_turns: 3, total_cost_usd: 0.126, tool_calls: 1, ..Metrics::default() };
    let end = TraceEnd {
        exit_code: 1,
        iterations: 1,
        metrics,
        skipped: Some((false, None)),
        ..TraceEnd::default()
    };
    tracer.finish(&end).unwrap();

    let spans = spans(&path);
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sandbox_create", "agent", "validate", "post_script", "run"]);
    let root = spans.last().unwrap();
    assert_eq!(
        handed_on,
        format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", root["spanId"].as_str().unwrap())
    );
    assert_eq!(
        (&root["parentSpanId"], &root["kind"], &root["flags"]),
        (&"b7ad6b7169203331".into(), &5.into(), &0x301.into())
    );
    for span in &spans[..4] {
        assert_eq!((&span["parentSpanId"], &span["traceId"]), (&root["spanId"], &root["traceId"]));
        assert_eq!(span["flags"], 0x101);
        assert!(span["startTimeUnixNano"].as_str().unwrap() <= span["endTimeUnixNano"].as_str().unwrap());
    }
    let agent = &spans[1];
    assert_eq!(attribute(agent, "gen_ai.usage.input_tokens").unwrap(), "10");
    assert_eq!(attribute(agent, "gen_ai.request.model").unwrap(), "m-1");
    assert_eq!(attribute(agent, "gen_ai.usage.reasoning_tokens"), None);
    assert_eq!(attribute(agent, "fullsend.transcript_error").unwrap(), true);
    assert_eq!(agent["status"]["message"], "transcript error: too many turns");
    let message = spans[2]["status"]["message"].as_str().unwrap();
    assert!(message.len() <= 2000 && message.ends_with('…'), "{}", message.len());
    assert_eq!(attribute(root, "fullsend.cost_usd").unwrap(), 0.13);
    assert_eq!(attribute(root, "gen_ai.usage.input_tokens"), None);
    assert_eq!(attribute(root, "fullsend.prescript.skipped").unwrap(), false);
    assert_eq!(attribute(root, "fullsend.security_trace_id").unwrap().as_str().unwrap().len(), 20);
    assert_eq!(spans[0].get("status"), None);
    assert!(!std::fs::read_to_string(&path).unwrap().contains("secret command"));
}

#[test]
fn a_validated_run_is_a_success_whatever_the_agent_exited_with() {
    for (error, validated, code, status) in [
        (None, true, 1, Some(1)),
        (None, false, 1, Some(2)),
        (None, false, 0, None),
        (Some("x".to_owned()), true, 0, Some(2)),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let mut tracer = Tracer::start(&path, settings(None), Arc::new(SystemClock)).unwrap();
        tracer.finish(&TraceEnd { exit_code: code, error, validated, ..TraceEnd::default() }).unwrap();
        let root = &spans(&path)[0];
        assert_eq!(root["status"]["code"].as_i64(), status);
        assert_eq!((root["kind"].as_i64(), root["parentSpanId"].as_str()), (Some(1), None));
    }
}

#[test]
fn only_a_whole_traceparent_is_adopted_and_its_choice_is_handed_on() {
    let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let adopted = TraceParent::adopt(Some(good), Some("vendor=1")).unwrap();
    assert_eq!(
        (adopted.sampled, adopted.state.as_deref(), adopted.to_string().as_str()),
        (false, Some("vendor=1"), good)
    );
    for wrong in [
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n$(x)",
    ] {
        assert_eq!(TraceParent::adopt(Some(wrong), None), None, "{wrong}");
    }
    let directory = tempfile::tempdir().unwrap();
    let tracer =
        Tracer::start(&directory.path().join("t"), settings(Some(adopted)), Arc::new(SystemClock)).unwrap();
    assert!(tracer.traceparent().ends_with("-00"));
}

#[test]
fn variables_decide_about_limits_and_work_items() {
    let limit = |pairs: &[(&str, &str)]| TraceSettings::longest_attribute(&env(pairs));
    let (span, any) = ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT");
    assert_eq!(limit(&[]), Some(8192));
    assert_eq!(limit(&[(span, " "), (any, "5")]), Some(5));
    assert_eq!(limit(&[(span, "-1"), (any, "5")]), None);
    assert_eq!(limit(&[(span, "many"), (any, "5")]), Some(8192));
    assert!(TraceSettings::disabled(&env(&[("OTEL_SDK_DISABLED", "True")])));
    assert!(!TraceSettings::disabled(&env(&[("OTEL_SDK_DISABLED", "1")])));
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[], "unknown"),
        (&[("ISSUE_KEY", "K-1"), ("ISSUE_NUMBER", "2")], "K-1"),
        (&[("REPO_FULL_NAME", "o/r"), ("ISSUE_NUMBER", "2"), ("GITHUB_ISSUE_URL", "u")], "o/r#2"),
        (&[("ISSUE_NUMBER", "2"), ("GITHUB_ISSUE_URL", "u")], "u"),
        (&[("REPO_FULL_NAME", "o/r"), ("PR_NUMBER", "3")], "o/r#3"),
        (&[("PR_NUMBER", "3"), ("ISSUE_KEY", "")], "3"),
        (&[("GITLAB_ISSUE_URL", "g"), ("ORIGINATING_URL", "o")], "o"),
    ];
    for (pairs, expected) in cases {
        assert_eq!(work_item(&env(pairs)), expected, "{pairs:?}");
    }
}
