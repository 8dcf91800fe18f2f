//! The keys of a script.

use std::borrow::Cow;

use fullsend_yaml::{FromNode, FromText, Located, Node, Reader, TextProblem, record};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::client::FinishReason;

record! {
    /// A model that says what its script says.
    pub(super) struct ScriptFile {
        /// What the model does, turn by turn.
        turns: Vec<Located<TurnRecord>> = required,
        /// What the model does in other conversations than that of the run, such as those of subagents.
        conversations: Vec<Located<ConversationRecord>>,
    }
}

record! {
    /// A conversation that is known by what it begins with.
    pub(super) struct ConversationRecord {
        /// Text that is in the first message of the user. The first conversation of which this is true counts.
        user: Located<String> = required,
        /// What the model does in it, turn by turn.
        turns: Vec<Located<TurnRecord>> = required,
    }
}

record! {
    /// One answer of the model.
    pub(super) struct TurnRecord {
        /// What must be true before the turn is played.
        expect: Vec<Located<ExpectRecord>>,
        /// What the model says. A template.
        say: Located<String>,
        /// What the model calls.
        calls: Vec<Located<CallRecord>>,
        /// What the model calls in a turn of its own when a call of this turn was interrupted.
        when_interrupted: Vec<Located<CallRecord>>,
        /// What the turn used.
        usage: UsageRecord,
        /// Why the model stopped: `stop`, `tool_calls`, `length` or `content_filter`. Default: by whether there are calls.
        finish: Located<Finish>,
        /// Milliseconds before the answer. Default: 0.
        delay_ms: Located<i64>,
        /// The number of characters in each piece of the text. Default: all of it in one piece.
        stream: Located<i64>,
        /// How many times the turn is played, one after the other. Default: 1.
        repeat: Located<i64>,
    }
}

record! {
    /// Something that must be true.
    pub(super) struct ExpectRecord {
        /// Which result of all so far is looked at: 0 is the first, -1 the last. Default: -1.
        result: Located<i64>,
        /// Text that the result contains. A template.
        contains: Located<String>,
        /// A regular expression that matches somewhere in the result.
        matches: Located<String>,
        /// JSON that the result, or the part of it at `at`, holds: members that are not named here do not matter. Text in it
        /// is a template.
        json: Located<Json>,
        /// A JSON pointer, such as `/files/0`, to the part that `json` is about. Default: all of the result.
        at: Located<String>,
        /// Text that the last message of the user contains. A template.
        user: Located<String>,
    }
}

record! {
    /// A call of a tool.
    pub(super) struct CallRecord {
        /// The name of the tool.
        tool: Located<String> = required,
        /// The arguments. Text in them is a template.
        args: Located<Json>,
        /// The arguments as text that may be no JSON, instead of `args`. A template.
        raw: Located<String>,
    }
}

record! {
    /// What a turn used.
    pub(super) struct UsageRecord {
        /// Tokens of the request.
        input_tokens: Located<i64>,
        /// Those of them that were still known.
        cached_input_tokens: Located<i64>,
        /// Tokens of the answer.
        output_tokens: Located<i64>,
        /// Those of them that were thought and not said.
        reasoning_tokens: Located<i64>,
        /// What it cost, in US dollars.
        cost_usd: Located<f64>,
    }
}

/// Any JSON value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Json(pub(super) serde_json::Value);

impl FromNode for Json {
    fn from_node(node: &Node<'_>, _: &mut Reader<'_>) -> Option<Self> {
        Some(Self(node.to_json()))
    }
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Any".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Finish {
    /// It had nothing more to say.
    Stop,
    /// It wants tools to be called.
    ToolCalls,
    /// The answer is cut off.
    Length,
    /// The answer is withheld.
    ContentFilter,
}

impl FromText for Finish {
    fn from_text(text: &str) -> Result<Self, TextProblem> {
        match text {
            "stop" => Ok(Self::Stop),
            "tool_calls" => Ok(Self::ToolCalls),
            "length" => Ok(Self::Length),
            "content_filter" => Ok(Self::ContentFilter),
            _ => Err(TextProblem::not_one_of(text, &["stop", "tool_calls", "length", "content_filter"])),
        }
    }
}

impl From<&Finish> for FinishReason {
    fn from(finish: &Finish) -> Self {
        match finish {
            Finish::Stop => Self::Stop,
            Finish::ToolCalls => Self::ToolCalls,
            Finish::Length => Self::Length,
            Finish::ContentFilter => Self::ContentFilter,
        }
    }
}
