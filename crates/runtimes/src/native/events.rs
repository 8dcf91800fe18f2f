//! What the loop tells, in the vocabulary of all runtimes.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use fullsend_agent::event::{DeniedBy, Event};
use fullsend_guard::hook::Runtime;
use fullsend_model::{ToolCall, Usage};
use serde_json::Value;

use crate::event::{Metrics, RuntimeEvent, TokenUsage, Watch};
use crate::runtime::RuntimeError;
use crate::summary;

/// Tells whoever watches, keeps the stream, and counts.
pub(super) struct Teller<'w> {
    runtime: Runtime,
    watch: Watch<'w>,
    stream: BufWriter<File>,
    metrics: Metrics,
    /// What was used before this iteration, in the same conversation.
    before: Usage,
    /// Whether the loop has begun; what it tells before is the past.
    begun: bool,
    /// Whether the answer under way was told in pieces.
    in_pieces: bool,
    restarts: u64,
}

impl<'w> Teller<'w> {
    pub(super) fn new(
        runtime: Runtime,
        path: &Path,
        before: Usage,
        watch: Watch<'w>,
    ) -> Result<Self, RuntimeError> {
        let made = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let failed = |source| RuntimeError::Io { doing: format!("write `{}`", path.display()), source };
        let stream = BufWriter::new(made.map_err(failed)?);
        let metrics = Metrics::default();
        Ok(Self { runtime, watch, stream, metrics, before, begun: false, in_pieces: false, restarts: 0 })
    }

    /// Tells something.
    pub(super) fn tell(&mut self, event: RuntimeEvent) {
        self.metrics.count(&event);
        if let Ok(line) = serde_json::to_string(&event) {
            // The journal has everything that counts; this stream is for whoever looks on.
            let _nothing_depends_on_it = writeln!(self.stream, "{line}");
        }
        (self.watch)(event);
    }

    /// What was used, and the stream complete.
    pub(super) fn end(mut self) -> Metrics {
        let _nothing_depends_on_it = self.stream.flush();
        self.metrics
    }

    /// Passes on what the loop tells.
    pub(super) fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::TurnBegan { budget, .. } => {
                if self.begun {
                    self.tell(RuntimeEvent::Tokens(tokens_since(&budget.usage(), &self.before)));
                }
                (self.begun, self.in_pieces, self.restarts) = (true, false, 0);
            }
            Event::Text(text) => {
                self.in_pieces = true;
                self.tell(RuntimeEvent::Text { text: (*text).to_owned() });
            }
            Event::Reasoning(text) => self.tell(RuntimeEvent::Thinking { text: (*text).to_owned() }),
            Event::Restarted => {
                self.restarts += 1;
                self.in_pieces = false;
                let error = "the answer broke off".to_owned();
                let (attempt, max_retries) = (self.restarts, self.restarts);
                self.tell(RuntimeEvent::Retry { attempt, max_retries, delay_ms: 0, error });
            }
            Event::Answered { content, .. } if self.begun && !self.in_pieces && !content.is_empty() => {
                self.tell(RuntimeEvent::Text { text: (*content).to_owned() });
            }
            Event::CallBegan { call } => self.tell(RuntimeEvent::ToolUse {
                id: Some(call.id.clone()),
                name: call.name.clone(),
                summary: about(self.runtime, call),
            }),
            Event::Denied { call, by, reason } => self.tell(RuntimeEvent::Denied {
                name: call.name.clone(),
                by: match by {
                    DeniedBy::Flow => "flow",
                    DeniedBy::Files => "files",
                    DeniedBy::Sandbox => "sandbox",
                    DeniedBy::Tools => "tools",
                },
                reason: (*reason).to_owned(),
            }),
            Event::CallEnded { call, shown, done, .. } => self.tell(RuntimeEvent::ToolResult {
                id: Some(call.id.clone()),
                name: Some(call.name.clone()),
                is_error: !done,
                summary: summary::of_result(&shown.line),
            }),
            Event::Answered { .. } | Event::Told { .. } => {}
        }
    }
}

/// What was used since.
pub(super) fn tokens_since(now: &Usage, before: &Usage) -> TokenUsage {
    let since = |now: Option<u64>, before: Option<u64>| {
        now.unwrap_or_default().saturating_sub(before.unwrap_or_default())
    };
    TokenUsage {
        input: since(now.input_tokens, before.input_tokens),
        output: since(now.output_tokens, before.output_tokens),
        reasoning: since(now.reasoning_tokens, before.reasoning_tokens),
        cache_creation: 0,
        cache_read: since(now.cached_input_tokens, before.cached_input_tokens),
    }
}

/// What a call is about.
fn about(runtime: Runtime, call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    summary::of_call(runtime, &call.name, &arguments)
}
