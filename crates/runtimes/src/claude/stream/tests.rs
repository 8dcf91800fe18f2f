use crate::driver::Stream as _;
use crate::event::{Metrics, RuntimeEvent, TokenUsage};

use super::ClaudeStream;

fn events(lines: &str) -> Vec<RuntimeEvent> {
    let (mut stream, mut events) = (ClaudeStream::default(), Vec::new());
    for line in lines.lines() {
        stream.line(line.as_bytes(), &mut |event| events.push(event));
    }
    events
}

fn metrics(events: &[RuntimeEvent]) -> Metrics {
    let mut metrics = Metrics::default();
    events.iter().for_each(|event| metrics.count(event));
    metrics
}

#[test]
fn a_call_that_comes_in_pieces_and_whole_is_one_call() {
    let found = events(
        r#"{"type":"system","subtype":"init","model":"m-1","claude_code_version":"2.1"}
{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use","id":"t1","name":"Bash"}}}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"\"ls  -l\"}"}}}
{"type":"assistant","message":{"model":"m-2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls -l"}}]}}
{"type":"stream_event","event":{"type":"content_block_stop"}}
{"type":"stream_event","event":{"type":"content_block_stop"}}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}}
{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"so"}}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no\nsuch"}]}]}}"#,
    );
    assert_eq!(
        found,
        [
            RuntimeEvent::Init { model: Some("m-1".to_owned()), version: Some("2.1".to_owned()) },
            RuntimeEvent::ToolUse {
                id: Some("t1".to_owned()),
                name: "Bash".to_owned(),
                summary: "ls -l".to_owned()
            },
            RuntimeEvent::Thinking { text: "hm".to_owned() },
            RuntimeEvent::Text { text: "so".to_owned() },
            RuntimeEvent::ToolResult {
                id: Some("t1".to_owned()),
                name: None,
                is_error: true,
                summary: "no such".to_owned()
            },
        ]
    );
    assert_eq!(metrics(&found).tool_calls, 1);
}

#[test]
fn without_pieces_whole_messages_count() {
    let found = events(
        r#"{"type":"system","subtype":"init"}
{"type":"assistant","message":{"model":"m-2","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":""},{"type":"text","text":"hi"},{"type":"tool_use","name":"Secret","input":{"command":"x"}}]}}
{"type":"assistant","content":[{"type":"text","text":"top"}]}"#,
    );
    assert_eq!(metrics(&found).model.as_deref(), Some("m-2"));
    let said: Vec<&str> = found
        .iter()
        .filter_map(|event| {
            if let RuntimeEvent::Text { text } | RuntimeEvent::Thinking { text } = event {
                return Some(text.as_str());
            }
            if let RuntimeEvent::ToolUse { summary, .. } = event { Some(summary.as_str()) } else { None }
        })
        .collect();
    assert_eq!(said, ["t", "hi", "", "top"]);
}

#[test]
fn the_result_replaces_all_numbers() {
    let found = events(
        r#"{"type":"result","num_turns":7,"total_cost_usd":0.25,"is_error":true,"result":"too many","subtype":"error_max_turns","usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":4}}"#,
    );
    let usage = TokenUsage { input: 1, output: 2, reasoning: 0, cache_creation: 3, cache_read: 4 };
    let (message, subtype) = ("too many".to_owned(), "error_max_turns".to_owned());
    let expected =
        RuntimeEvent::Result { num_turns: 7, total_cost_usd: 0.25, is_error: true, message, subtype, usage };
    assert_eq!(found, [expected]);
    assert_eq!(metrics(&found).token_usage, usage);
}

#[test]
fn tokens_are_told_in_steps() {
    let delta = |output: u64| {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"message_delta","usage":{{"output_tokens":{output}}}}}}}"#
        )
    };
    let start = r#"{"type":"stream_event","event":{"type":"message_start","message":{"usage":{"input_tokens":4000,"cache_read_input_tokens":500,"output_tokens":9}}}}"#;
    let lines = [start.to_owned(), delta(0), delta(100), delta(600), delta(700), delta(5600)].join("\n");
    let told: Vec<u64> = events(&lines)
        .iter()
        .map(|event| if let RuntimeEvent::Tokens(usage) = event { usage.output } else { 0 })
        .collect();
    assert_eq!(told, [600, 5600]);
}

#[test]
fn what_is_not_understood_is_passed_over() {
    let deep = format!(r#"{{"type":"result","x":{}}}"#, "[".repeat(100_000));
    for line in [
        "",
        "no",
        "[]",
        "3",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"assistant"}"#,
        r#"{"type":"user","message":3}"#,
        r#"{"type":"stream_event"}"#,
        r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":[]}}"#,
        r#"{"type":"later"}"#,
        &deep,
    ] {
        assert_eq!(events(line), [], "{line:.40}");
    }
    let odd = events(r#"{"type":"result","num_turns":-1,"total_cost_usd":"x","usage":[]}"#);
    assert_eq!(metrics(&odd), Metrics::default());
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":50,"error":"busy"}"#;
    let error =
        r#"{"type":"stream_event","event":{"type":"error","error":{"type":"overloaded","message":"later"}}}"#;
    assert_eq!(
        events(&[retry, error].join("\n")),
        [
            RuntimeEvent::Retry { attempt: 2, max_retries: 10, delay_ms: 50, error: "busy".to_owned() },
            RuntimeEvent::Error { kind: "overloaded".to_owned(), message: "later".to_owned() },
        ]
    );
}
