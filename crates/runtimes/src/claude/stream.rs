//! What Claude Code says while it works, line by line.

use fullsend_guard::hook::Runtime;
use serde_json::Value;

use crate::driver::Stream;
use crate::event::{RuntimeEvent, TokenUsage};
use crate::lines::LONGEST_LINE;
use crate::summary;

/// How many tokens have to be new before they are told.
const TOKENS_STEP: u64 = 5000;

type Tell<'t> = &'t mut dyn FnMut(RuntimeEvent);

/// Understands `stream-json`. Lines that are not understood are passed over.
#[derive(Debug, Default)]
pub(super) struct ClaudeStream {
    /// Whether pieces of messages come: then whole messages only repeat them.
    pieces: bool,
    call: Option<Call>,
    usage: TokenUsage,
    told: u64,
}

/// A call of a tool whose input is still coming.
#[derive(Debug)]
struct Call {
    id: Option<String>,
    name: String,
    input: String,
}

impl Stream for ClaudeStream {
    fn line(&mut self, line: &[u8], tell: Tell<'_>) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        match text(&line, "type") {
            Some("system") => system(&line, tell),
            Some("stream_event") => {
                self.pieces = true;
                if let Some(event) = line.get("event") {
                    self.piece(event, tell);
                }
            }
            Some("assistant") if !self.pieces => message(&line, tell),
            Some("user") => results(&line, tell),
            Some("result") => tell(result(&line)),
            Some(_) | None => {}
        }
    }
}

impl ClaudeStream {
    fn piece(&mut self, event: &Value, tell: Tell<'_>) {
        match text(event, "type") {
            Some("content_block_start") => self.call = event.get("content_block").and_then(begun),
            Some("content_block_delta") => {
                if let Some(delta) = event.get("delta") {
                    self.delta(delta, tell);
                }
            }
            Some("content_block_stop") => {
                if let Some(call) = self.call.take() {
                    let input = serde_json::from_str(&call.input).unwrap_or_default();
                    tell(tool_use(call.id, call.name, &input));
                }
            }
            Some("error") => {
                let member = |name| event.get("error").and_then(|error| owned(error, name));
                let (kind, message) = (member("type"), member("message"));
                tell(RuntimeEvent::Error {
                    kind: kind.unwrap_or_default(),
                    message: summary::without_secrets(&message.unwrap_or_default()),
                });
            }
            Some("message_start") => {
                self.usage = usage(event.pointer("/message/usage"));
                self.usage.output = 0;
            }
            Some("message_delta") => self.count(event, tell),
            Some(_) | None => {}
        }
    }

    fn delta(&mut self, delta: &Value, tell: Tell<'_>) {
        match text(delta, "type") {
            Some("text_delta") => say(delta, "text", tell),
            Some("thinking_delta") => think(delta, tell),
            Some("input_json_delta") => {
                let piece = text(delta, "partial_json").unwrap_or_default();
                if let Some(call) = self.call.as_mut().filter(|call| call.input.len() < LONGEST_LINE) {
                    call.input.push_str(piece);
                }
            }
            Some(_) | None => {}
        }
    }

    fn count(&mut self, event: &Value, tell: Tell<'_>) {
        let output = event.get("usage").map(|usage| number(usage, "output_tokens")).unwrap_or_default();
        if output == 0 {
            return;
        }
        self.usage.output = output;
        let TokenUsage { input, output, cache_creation, cache_read, reasoning: _ } = self.usage;
        let total = input.saturating_add(output).saturating_add(cache_creation).saturating_add(cache_read);
        if total.saturating_sub(self.told) >= TOKENS_STEP {
            self.told = total;
            tell(RuntimeEvent::Tokens(self.usage));
        }
    }
}

fn system(line: &Value, tell: Tell<'_>) {
    match text(line, "subtype") {
        Some("init") => tell(RuntimeEvent::Init {
            model: owned(line, "model"),
            version: owned(line, "claude_code_version"),
        }),
        Some("api_retry") => tell(RuntimeEvent::Retry {
            attempt: number(line, "attempt"),
            max_retries: number(line, "max_retries"),
            delay_ms: number(line, "retry_delay_ms"),
            error: summary::without_secrets(&owned(line, "error").unwrap_or_default()),
        }),
        Some(_) | None => {}
    }
}

/// A whole message of the model.
fn message(line: &Value, tell: Tell<'_>) {
    if let Some(model) = line.pointer("/message/model").and_then(Value::as_str) {
        tell(RuntimeEvent::Init { model: Some(model.to_owned()), version: None });
    }
    for block in content(line) {
        match text(block, "type") {
            Some("thinking") => think(block, tell),
            Some("text") => say(block, "text", tell),
            Some("tool_use" | "server_tool_use") => {
                let name = owned(block, "name").unwrap_or_default();
                tell(tool_use(owned(block, "id"), name, block.get("input").unwrap_or(&Value::Null)));
            }
            Some(_) | None => {}
        }
    }
}

/// What came of tool calls, which goes to the model as if a person had said it.
fn results(line: &Value, tell: Tell<'_>) {
    for block in content(line).iter().filter(|block| text(block, "type") == Some("tool_result")) {
        let said = match block.get("content") {
            Some(Value::String(said)) => said.clone(),
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| text(part, "text")).collect::<Vec<_>>().join(" ")
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => String::new(),
        };
        tell(RuntimeEvent::ToolResult {
            id: owned(block, "tool_use_id"),
            name: None,
            is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or_default(),
            summary: summary::of_result(&said),
        });
    }
}

fn result(line: &Value) -> RuntimeEvent {
    RuntimeEvent::Result {
        num_turns: number(line, "num_turns"),
        total_cost_usd: line.get("total_cost_usd").and_then(Value::as_f64).unwrap_or_default(),
        is_error: line.get("is_error").and_then(Value::as_bool).unwrap_or_default(),
        message: owned(line, "result").unwrap_or_default(),
        subtype: owned(line, "subtype").unwrap_or_default(),
        usage: usage(line.get("usage")),
    }
}

fn begun(block: &Value) -> Option<Call> {
    let is_call = matches!(text(block, "type"), Some("tool_use" | "server_tool_use"));
    is_call.then(|| Call {
        id: owned(block, "id"),
        name: owned(block, "name").unwrap_or_default(),
        input: String::new(),
    })
}

fn tool_use(id: Option<String>, name: String, input: &Value) -> RuntimeEvent {
    let summary = summary::of_call(Runtime::Claude, &name, input);
    RuntimeEvent::ToolUse { id, name, summary }
}

fn say(block: &Value, member: &str, tell: Tell<'_>) {
    if let Some(text) = owned(block, member).filter(|text| !text.is_empty()) {
        tell(RuntimeEvent::Text { text });
    }
}

fn think(block: &Value, tell: Tell<'_>) {
    if let Some(text) = owned(block, "thinking").filter(|text| !text.is_empty()) {
        tell(RuntimeEvent::Thinking { text });
    }
}

fn content(line: &Value) -> &[Value] {
    let content = line.pointer("/message/content").or_else(|| line.get("content"));
    content.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn usage(usage: Option<&Value>) -> TokenUsage {
    let count = |name| usage.map(|usage| number(usage, name)).unwrap_or_default();
    TokenUsage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        reasoning: 0,
        cache_creation: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
    }
}

fn text<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value.get(member).and_then(Value::as_str)
}

fn owned(value: &Value, member: &str) -> Option<String> {
    text(value, member).map(str::to_owned)
}

fn number(value: &Value, member: &str) -> u64 {
    value.get(member).and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
mod tests;
