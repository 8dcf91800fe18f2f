//! What happens while a runtime works, in one vocabulary.

use serde::Serialize;

/// What watches a runtime. It is told in place, so it must not wait.
pub type Watch<'w> = &'w mut (dyn FnMut(RuntimeEvent) + Send);

/// Something happened. Texts are as the runtime gave them: whoever shows one makes it harmless first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RuntimeEvent {
    /// The runtime has begun.
    Init {
        /// The model, as the runtime names it.
        model: Option<String>,
        /// The version of the runtime.
        version: Option<String>,
    },
    /// A piece of what the model thinks.
    Thinking {
        /// The piece.
        text: String,
    },
    /// A piece of what the model says.
    Text {
        /// The piece.
        text: String,
    },
    /// A tool is called.
    ToolUse {
        /// The runtime's identifier of the call, if it has one.
        id: Option<String>,
        /// The tool, as the runtime names it.
        name: String,
        /// What it is called with, in one line: short, without secrets; empty for tools that are not known.
        summary: String,
    },
    /// A tool has ended.
    ToolResult {
        /// The runtime's identifier of the call, if it has one.
        id: Option<String>,
        /// The tool, if the runtime says.
        name: Option<String>,
        /// Whether it failed or was denied.
        is_error: bool,
        /// What came of it, in one line: short, without secrets.
        summary: String,
    },
    /// A call, or something that it tried, was not permitted by something that no hook speaks for.
    Denied {
        /// The tool, as the runtime names it.
        name: String,
        /// By whom: `flow`, `files`, `sandbox` or `tools`.
        by: &'static str,
        /// Why, without secrets.
        reason: String,
    },
    /// Tokens so far.
    Tokens(TokenUsage),
    /// The runtime has ended by itself.
    Result {
        /// Turns of the model.
        num_turns: u64,
        /// What it cost, in US dollars.
        total_cost_usd: f64,
        /// Whether the runtime calls it a failure.
        is_error: bool,
        /// What it says about its end.
        message: String,
        /// The kind of its end, in the runtime's words.
        subtype: String,
        /// Tokens of the whole iteration.
        usage: TokenUsage,
    },
    /// Something failed.
    Error {
        /// The kind, in the runtime's words.
        kind: String,
        /// What it says.
        message: String,
    },
    /// The model is asked again.
    Retry {
        /// For the how manieth time.
        attempt: u64,
        /// Of how many.
        max_retries: u64,
        /// After how long, in milliseconds.
        delay_ms: u64,
        /// Why.
        error: String,
    },
}

/// How many tokens were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokenUsage {
    /// Sent.
    pub input: u64,
    /// Received.
    pub output: u64,
    /// Of those received, thought.
    pub reasoning: u64,
    /// Written to a cache.
    pub cache_creation: u64,
    /// Read from a cache.
    pub cache_read: u64,
}

/// What an iteration used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Turns of the model.
    pub num_turns: u64,
    /// What it cost, in US dollars.
    pub total_cost_usd: f64,
    /// Tokens.
    pub token_usage: TokenUsage,
    /// Calls of tools.
    pub tool_calls: u64,
    /// The model, as the runtime names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Metrics {
    /// Takes an event into account: the first name of the model counts, a result replaces all numbers.
    pub fn count(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::Init { model: Some(model), .. } if self.model.is_none() && !model.is_empty() => {
                self.model = Some(model.clone());
            }
            RuntimeEvent::ToolUse { .. } => self.tool_calls += 1,
            RuntimeEvent::Result { num_turns, total_cost_usd, usage, .. } => {
                self.num_turns = *num_turns;
                self.total_cost_usd = *total_cost_usd;
                self.token_usage = *usage;
            }
            RuntimeEvent::Tokens(usage) => self.token_usage = *usage,
            RuntimeEvent::Init { .. }
            | RuntimeEvent::Thinking { .. }
            | RuntimeEvent::Text { .. }
            | RuntimeEvent::ToolResult { .. }
            | RuntimeEvent::Denied { .. }
            | RuntimeEvent::Error { .. }
            | RuntimeEvent::Retry { .. } => {}
        }
    }

    /// The sum over iterations; the last model that was named.
    pub fn add(&mut self, other: &Self) {
        self.num_turns += other.num_turns;
        self.total_cost_usd += other.total_cost_usd;
        self.tool_calls += other.tool_calls;
        self.token_usage.input += other.token_usage.input;
        self.token_usage.output += other.token_usage.output;
        self.token_usage.reasoning += other.token_usage.reasoning;
        self.token_usage.cache_creation += other.token_usage.cache_creation;
        self.token_usage.cache_read += other.token_usage.cache_read;
        if other.model.is_some() {
            self.model.clone_from(&other.model);
        }
    }
}
