//! What opencode says while it works, line by line.

use fullsend_guard::hook::Runtime;
use serde_json::Value;

use crate::driver::Stream;
use crate::event::{RuntimeEvent, TokenUsage};
use crate::member::{at, number, owned, text};
use crate::summary;

type Tell<'t> = &'t mut dyn FnMut(RuntimeEvent);

/// Understands `opencode run --format json`. Lines that are not understood are passed over. There is no line for the end, so
/// the end of the stream makes one; whether the stream was whole shows in the exit code alone.
#[derive(Debug, Default)]
pub(super) struct OpenCodeStream {
    model: Option<String>,
    begun: bool,
    turns: u64,
    cost: f64,
    usage: TokenUsage,
    reason: String,
    failure: Option<String>,
    said: String,
}

impl OpenCodeStream {
    /// opencode does not say which model it uses.
    pub(super) fn new(model: Option<String>) -> Self {
        Self { model, ..Self::default() }
    }
}

impl Stream for OpenCodeStream {
    fn line(&mut self, line: &[u8], tell: Tell<'_>) {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { return };
        if !at(&line, "type").is_string() {
            return;
        }
        if !self.begun {
            self.begun = true;
            tell(RuntimeEvent::Init { model: self.model.clone(), version: None });
        }
        let part = at(&line, "part");
        match text(&line, "type") {
            "tool_use" => tool(part, tell),
            "text" => {
                text(part, "text").clone_into(&mut self.said);
                tell(RuntimeEvent::Text { text: self.said.clone() });
            }
            "reasoning" => tell(RuntimeEvent::Thinking { text: text(part, "text").to_owned() }),
            "step_finish" => self.step(part, tell),
            "error" => {
                let error = at(&line, "error");
                let message = summary::without_secrets(text(at(error, "data"), "message"));
                self.failure = Some(message.clone());
                tell(RuntimeEvent::Error { kind: text(error, "name").to_owned(), message });
            }
            _ => {}
        }
    }

    fn end(&mut self, tell: Tell<'_>) {
        tell(RuntimeEvent::Result {
            num_turns: self.turns,
            total_cost_usd: self.cost,
            is_error: self.failure.is_some() || self.turns == 0,
            message: self.failure.take().unwrap_or_else(|| std::mem::take(&mut self.said)),
            subtype: std::mem::take(&mut self.reason),
            usage: self.usage,
        });
    }
}

impl OpenCodeStream {
    /// A turn of the model. The numbers are its own, and the result has their sum.
    fn step(&mut self, part: &Value, tell: Tell<'_>) {
        let tokens = at(part, "tokens");
        let cache = at(tokens, "cache");
        let step = TokenUsage {
            input: number(tokens, "input"),
            output: number(tokens, "output"),
            reasoning: number(tokens, "reasoning"),
            cache_creation: number(cache, "write"),
            cache_read: number(cache, "read"),
        };
        self.turns += 1;
        self.cost += at(part, "cost").as_f64().unwrap_or_default();
        self.usage.input += step.input;
        self.usage.output += step.output;
        self.usage.reasoning += step.reasoning;
        self.usage.cache_creation += step.cache_creation;
        self.usage.cache_read += step.cache_read;
        text(part, "reason").clone_into(&mut self.reason);
        tell(RuntimeEvent::Tokens(step));
    }
}

/// A call that has ended, which is when it is told.
fn tool(part: &Value, tell: Tell<'_>) {
    let state = at(part, "state");
    let (is_error, said) = match text(state, "status") {
        "completed" => (false, text(state, "title")),
        "error" => (true, text(state, "error")),
        _ => return,
    };
    let (name, id) = (text(part, "tool").to_owned(), owned(part, "callID"));
    // Its title tells what a call does; without one, the input does.
    let summary = match summary::of_result(said) {
        untitled if untitled.is_empty() => summary::of_call(Runtime::OpenCode, &name, at(state, "input")),
        titled => titled,
    };
    tell(RuntimeEvent::ToolUse { id: id.clone(), name: name.clone(), summary });
    let came = if is_error { said } else { text(state, "output") };
    tell(RuntimeEvent::ToolResult { id, name: Some(name), is_error, summary: summary::of_result(came) });
}

#[cfg(test)]
mod tests {
    use super::OpenCodeStream;
    use crate::driver::Stream as _;
    use crate::event::{Metrics, RuntimeEvent, TokenUsage};

    fn events(lines: &str) -> Vec<RuntimeEvent> {
        let (mut stream, mut events) = (OpenCodeStream::new(Some("m".to_owned())), Vec::new());
        for line in lines.lines() {
            stream.line(line.as_bytes(), &mut |event| events.push(event));
        }
        stream.end(&mut |event| events.push(event));
        events
    }

    const STEP: &str = r#"{"type":"step_finish","sessionID":"ses_test123","part":{"reason":"tool-calls","cost":0.015,"tokens":{"input":100,"output":50,"reasoning":0,"cache":{"read":80,"write":20}}}}"#;

    #[test]
    fn a_step_is_a_turn_with_its_cost_and_tokens() {
        let found = events(&format!(
            "{}\n{}\n{STEP}",
            r#"{"type":"text","sessionID":"ses_test123","part":{"text":"Hello"}}"#,
            r#"{"type":"tool_use","part":{"tool":"bash","callID":"c","state":{"status":"completed","title":"$ ls","input":{"command":"ls"},"output":"a\nb"}}}"#,
        ));
        let usage = TokenUsage { input: 100, output: 50, reasoning: 0, cache_creation: 20, cache_read: 80 };
        let (id, name) = (Some("c".to_owned()), "bash".to_owned());
        assert_eq!(
            found,
            [
                RuntimeEvent::Init { model: Some("m".to_owned()), version: None },
                RuntimeEvent::Text { text: "Hello".to_owned() },
                RuntimeEvent::ToolUse { id: id.clone(), name: name.clone(), summary: "$ ls".to_owned() },
                RuntimeEvent::ToolResult { id, name: Some(name), is_error: false, summary: "a b".to_owned() },
                RuntimeEvent::Tokens(usage),
                RuntimeEvent::Result {
                    num_turns: 1,
                    total_cost_usd: 0.015,
                    is_error: false,
                    message: "Hello".to_owned(),
                    subtype: "tool-calls".to_owned(),
                    usage
                },
            ]
        );
    }

    #[test]
    fn steps_add_up() {
        let second = STEP.replace("\"input\":100", "\"input\":200").replace("\"read\":80", "\"read\":160");
        let mut metrics = Metrics::default();
        let found = events(&format!("{STEP}\n{}", second.replace("\"write\":20", "\"write\":15")));
        found.iter().for_each(|event| metrics.count(event));
        let usage = TokenUsage { input: 300, output: 100, reasoning: 0, cache_creation: 35, cache_read: 240 };
        assert_eq!((metrics.num_turns, metrics.total_cost_usd, metrics.token_usage), (2, 0.03, usage));
    }

    #[test]
    fn a_stream_with_an_error_or_without_a_turn_is_a_failure() {
        let error = r#"{"type":"error","error":{"name":"APIError","data":{"message":"busy"}}}"#;
        for (lines, said) in [
            ("", ""),
            ("no\n[]\n{}\n{\"type\":\"step_start\"}\n{\"type\":\"later\"}", ""),
            (error, "busy"),
            (&format!("{STEP}\n{error}"), "busy"),
        ] {
            let found = events(lines);
            let last = found.last().unwrap();
            assert!(
                matches!(last, RuntimeEvent::Result { is_error: true, message, .. } if message == said),
                "{last:?}"
            );
        }
        let running = r#"{"type":"tool_use","part":{"tool":"bash","state":{"status":"running"}}}"#;
        assert!(!events(running).iter().any(|event| matches!(event, RuntimeEvent::ToolUse { .. })));
    }
}
