//! What Claude Code says while it works, line by line.

use fullsend_guard::hook::Runtime;
use serde_json::Value;

use crate::driver::Stream;
use crate::event::{RuntimeEvent, TokenUsage};
use crate::lines::LONGEST_LINE;
use crate::member::{at, number, owned, text};
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
            "system" => system(&line, tell),
            "stream_event" => {
                self.pieces = true;
                self.piece(at(&line, "event"), tell);
            }
            "assistant" if !self.pieces => message(&line, tell),
            "user" => results(&line, tell),
            "result" => tell(result(&line)),
            _ => {}
        }
    }
}

impl ClaudeStream {
    fn piece(&mut self, event: &Value, tell: Tell<'_>) {
        match text(event, "type") {
            "content_block_start" => self.call = begun(at(event, "content_block")),
            "content_block_delta" => self.delta(at(event, "delta"), tell),
            "content_block_stop" => {
                if let Some(call) = self.call.take() {
                    let input = serde_json::from_str(&call.input).unwrap_or_default();
                    tell(tool_use(call.id, call.name, &input));
                }
            }
            "error" => {
                let error = at(event, "error");
                let (kind, message) = (text(error, "type"), text(error, "message"));
                let message = summary::without_secrets(message);
                tell(RuntimeEvent::Error { kind: kind.to_owned(), message });
            }
            "message_start" => {
                self.usage = usage(at(at(event, "message"), "usage"));
                self.usage.output = 0;
            }
            "message_delta" => self.count(event, tell),
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Value, tell: Tell<'_>) {
        match text(delta, "type") {
            "text_delta" => say(delta, "text", tell),
            "thinking_delta" => think(delta, tell),
            "input_json_delta" => {
                let piece = text(delta, "partial_json");
                if let Some(call) = self.call.as_mut().filter(|call| call.input.len() < LONGEST_LINE) {
                    call.input.push_str(piece);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, event: &Value, tell: Tell<'_>) {
        let output = number(at(event, "usage"), "output_tokens");
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
        "init" => tell(RuntimeEvent::Init {
            model: owned(line, "model"),
            version: owned(line, "claude_code_version"),
        }),
        "api_retry" => tell(RuntimeEvent::Retry {
            attempt: number(line, "attempt"),
            max_retries: number(line, "max_retries"),
            delay_ms: number(line, "retry_delay_ms"),
            error: summary::without_secrets(text(line, "error")),
        }),
        _ => {}
    }
}

/// A whole message of the model.
fn message(line: &Value, tell: Tell<'_>) {
    if let Some(model) = owned(at(line, "message"), "model") {
        tell(RuntimeEvent::Init { model: Some(model), version: None });
    }
    for block in content(line) {
        match text(block, "type") {
            "thinking" => think(block, tell),
            "text" => say(block, "text", tell),
            "tool_use" | "server_tool_use" => {
                let name = text(block, "name").to_owned();
                tell(tool_use(owned(block, "id"), name, at(block, "input")));
            }
            _ => {}
        }
    }
}

/// What came of tool calls, which goes to the model as if a person had said it.
fn results(line: &Value, tell: Tell<'_>) {
    for block in content(line).iter().filter(|block| text(block, "type") == "tool_result") {
        let said = match at(block, "content") {
            Value::String(said) => said.clone(),
            Value::Array(parts) => parts.iter().map(|part| text(part, "text")).collect::<Vec<_>>().join(" "),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
        };
        tell(RuntimeEvent::ToolResult {
            id: owned(block, "tool_use_id"),
            name: None,
            is_error: at(block, "is_error") == true,
            summary: summary::of_result(&said),
        });
    }
}

fn result(line: &Value) -> RuntimeEvent {
    RuntimeEvent::Result {
        num_turns: number(line, "num_turns"),
        total_cost_usd: at(line, "total_cost_usd").as_f64().unwrap_or_default(),
        is_error: at(line, "is_error") == true,
        message: text(line, "result").to_owned(),
        subtype: text(line, "subtype").to_owned(),
        usage: usage(at(line, "usage")),
    }
}

fn begun(block: &Value) -> Option<Call> {
    let is_call = matches!(text(block, "type"), "tool_use" | "server_tool_use");
    is_call.then(|| Call {
        id: owned(block, "id"),
        name: text(block, "name").to_owned(),
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

fn usage(usage: &Value) -> TokenUsage {
    let count = |name| number(usage, name);
    TokenUsage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        reasoning: 0,
        cache_creation: count("cache_creation_input_tokens"),
        cache_read: count("cache_read_input_tokens"),
    }
}

#[cfg(test)]
mod tests;
