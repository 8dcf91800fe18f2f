//! What Codex says while it works, line by line.

use fullsend_guard::hook::Runtime;
use serde_json::{Value, json};

use crate::driver::Stream;
use crate::event::{RuntimeEvent, TokenUsage};
use crate::member::{at, number, text};
use crate::summary;

type Tell<'t> = &'t mut dyn FnMut(RuntimeEvent);

/// Understands `codex exec --json`. Lines that are not understood are passed over. There is no line for the end, so the end
/// of the stream makes one.
#[derive(Debug, Default)]
pub(super) struct CodexStream {
    model: Option<String>,
    /// Calls that were told and have not ended.
    open: Vec<String>,
    turns: u64,
    usage: TokenUsage,
    failure: Option<String>,
    said: String,
}

impl CodexStream {
    /// Codex does not say which model it uses.
    pub(super) fn new(model: Option<String>) -> Self {
        Self { model, ..Self::default() }
    }
}

impl Stream for CodexStream {
    fn line(&mut self, line: &[u8], tell: Tell<'_>) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        match text(&line, "type") {
            "thread.started" => tell(RuntimeEvent::Init { model: self.model.clone(), version: None }),
            "item.started" => self.begun(at(&line, "item"), tell),
            "item.completed" => self.completed(at(&line, "item"), tell),
            "turn.completed" => {
                self.turns += 1;
                add(&mut self.usage, at(&line, "usage"));
                tell(RuntimeEvent::Tokens(self.usage));
            }
            "turn.failed" => {
                let message = summary::without_secrets(text(at(&line, "error"), "message"));
                self.failure = Some(message.clone());
                tell(RuntimeEvent::Error { kind: "turn.failed".to_owned(), message });
            }
            "error" => error(&line, tell),
            _ => {}
        }
    }

    fn end(&mut self, tell: Tell<'_>) {
        let is_error = self.failure.is_some() || self.turns == 0;
        let subtype = if is_error { "failed" } else { "completed" };
        tell(RuntimeEvent::Result {
            num_turns: self.turns,
            total_cost_usd: 0.0,
            is_error,
            message: self.failure.take().unwrap_or_else(|| std::mem::take(&mut self.said)),
            subtype: subtype.to_owned(),
            usage: self.usage,
        });
    }
}

impl CodexStream {
    fn begun(&mut self, item: &Value, tell: Tell<'_>) {
        let Some((name, input)) = call(item) else { return };
        let id = text(item, "id").to_owned();
        let summary = summary::of_call(Runtime::Codex, &name, &input);
        tell(RuntimeEvent::ToolUse { id: Some(id.clone()), name, summary });
        self.open.push(id);
    }

    fn completed(&mut self, item: &Value, tell: Tell<'_>) {
        match text(item, "type") {
            "agent_message" => {
                text(item, "text").clone_into(&mut self.said);
                tell(RuntimeEvent::Text { text: self.said.clone() });
            }
            "reasoning" => tell(RuntimeEvent::Thinking { text: text(item, "text").to_owned() }),
            "error" => error(item, tell),
            _ => self.ended(item, tell),
        }
    }

    fn ended(&mut self, item: &Value, tell: Tell<'_>) {
        let Some((name, _)) = call(item) else { return };
        let id = text(item, "id");
        match self.open.iter().position(|open| open == id) {
            Some(at) => drop(self.open.swap_remove(at)),
            None => {
                self.begun(item, tell);
                self.open.pop();
            }
        }
        let exit_code = at(item, "exit_code").as_i64().unwrap_or_default();
        let said = [text(item, "aggregated_output"), text(at(item, "error"), "message")].concat();
        tell(RuntimeEvent::ToolResult {
            id: Some(id.to_owned()),
            name: Some(name),
            is_error: text(item, "status") != "completed" || exit_code != 0,
            summary: summary::of_result(&said),
        });
    }
}

/// The tool that an item is a call of, by the name under which Codex's hooks know it, and its input.
fn call(item: &Value) -> Option<(String, Value)> {
    match text(item, "type") {
        "command_execution" => Some(("Bash".to_owned(), json!({ "command": at(item, "command") }))),
        "file_change" => {
            let paths: Vec<&str> =
                at(item, "changes").as_array()?.iter().map(|change| text(change, "path")).collect();
            Some(("apply_patch".to_owned(), json!({ "path": paths.join(" ") })))
        }
        "mcp_tool_call" => {
            Some((format!("mcp__{}__{}", text(item, "server"), text(item, "tool")), Value::Null))
        }
        "web_search" => Some(("web_search".to_owned(), Value::Null)),
        _ => None,
    }
}

fn error(line: &Value, tell: Tell<'_>) {
    let message = summary::without_secrets(text(line, "message"));
    tell(RuntimeEvent::Error { kind: "error".to_owned(), message });
}

/// What is cached is part of the input, and what is thought part of the output.
fn add(sum: &mut TokenUsage, usage: &Value) {
    let count = |name: &str| number(usage, name);
    let cached = count("cached_input_tokens");
    sum.input += count("input_tokens").saturating_sub(cached);
    sum.cache_read += cached;
    sum.cache_creation += count("cache_write_input_tokens");
    sum.output += count("output_tokens");
    sum.reasoning += count("reasoning_output_tokens");
}

#[cfg(test)]
mod tests {
    use super::CodexStream;
    use crate::driver::Stream as _;
    use crate::event::{RuntimeEvent, TokenUsage};

    fn events(lines: &str) -> Vec<RuntimeEvent> {
        let (mut stream, mut events) = (CodexStream::new(Some("m".to_owned())), Vec::new());
        for line in lines.lines() {
            stream.line(line.as_bytes(), &mut |event| events.push(event));
        }
        stream.end(&mut |event| events.push(event));
        events
    }

    #[test]
    fn calls_are_told_once_and_the_end_sums_up() {
        let found = events(
            r#"{"type":"thread.started","thread_id":"x"}
{"type":"item.started","item":{"id":"1","type":"command_execution","command":"/bin/bash -lc 'ls'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"/bin/bash -lc 'ls'","aggregated_output":"no\n","exit_code":3,"status":"failed"}}
{"type":"item.completed","item":{"id":"2","type":"file_change","changes":[{"path":"a"},{"path":"b"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"3","type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{"input_tokens":40,"cached_input_tokens":12,"output_tokens":20,"reasoning_output_tokens":8}}"#,
        );
        let tool = |id: &str, name: &str, summary: &str| RuntimeEvent::ToolUse {
            id: Some(id.to_owned()),
            name: name.to_owned(),
            summary: summary.to_owned(),
        };
        let result = |id: &str, name: &str, is_error, summary: &str| RuntimeEvent::ToolResult {
            id: Some(id.to_owned()),
            name: Some(name.to_owned()),
            is_error,
            summary: summary.to_owned(),
        };
        let usage = TokenUsage { input: 28, output: 20, reasoning: 8, cache_creation: 0, cache_read: 12 };
        assert_eq!(
            found,
            [
                RuntimeEvent::Init { model: Some("m".to_owned()), version: None },
                tool("1", "Bash", "/bin/bash -lc 'ls'"),
                result("1", "Bash", true, "no"),
                tool("2", "apply_patch", "a b"),
                result("2", "apply_patch", false, ""),
                RuntimeEvent::Text { text: "done".to_owned() },
                RuntimeEvent::Tokens(usage),
                RuntimeEvent::Result {
                    num_turns: 1,
                    total_cost_usd: 0.0,
                    is_error: false,
                    message: "done".to_owned(),
                    subtype: "completed".to_owned(),
                    usage
                },
            ]
        );
    }

    #[test]
    fn a_stream_without_an_end_is_a_failure() {
        for (lines, said) in [
            ("", ""),
            ("nonsense\n[]\n{\"type\":\"item.completed\"}\n{\"type\":3}", ""),
            (r#"{"type":"turn.failed","error":{"message":"no model"}}"#, "no model"),
        ] {
            let found = events(lines);
            let last = found.last().unwrap();
            assert!(
                matches!(last, RuntimeEvent::Result { is_error: true, message, .. } if message == said),
                "{last:?}"
            );
        }
    }
}
