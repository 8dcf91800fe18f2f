//! One tool call, as a runtime describes it to a hook.

use serde_json::Value;

use crate::finding::Finding;
use crate::hook::decision::HookPhase;
use crate::hook::rules::{MALFORMED_INPUT, OVERSIZED_INPUT};
use crate::hook::tool::{Runtime, ToolKind};
use crate::hook::{shell_input, strict};
use crate::visible::visible;

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    /// The tool's name; empty when there is none.
    pub(super) name: String,
    /// What the tool does.
    pub(super) kind: ToolKind,
    /// Its input, in every reading there is: one object; or a text, and what the text says as JSON.
    pub(super) inputs: Vec<Value>,
    /// What it returned, under the key of the first version of the protocol.
    pub(super) result: Option<Value>,
    /// What it returned, under Claude Code's key.
    pub(super) response: Option<Value>,
    /// What it failed with, which Claude Code lets no hook change.
    pub(super) error: Option<Value>,
}

/// Why no call could be read; a reason for the model, and the same as a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub(super) finding: Finding,
}

impl Unread {
    pub(super) fn malformed(problem: &str) -> Self {
        Self { finding: Finding::new(&MALFORMED_INPUT, None, format!("the hook input {problem}")) }
    }

    pub(super) fn oversized(limit: usize) -> Self {
        let detail = format!("the hook input exceeds the limit of {limit} bytes");
        Self { finding: Finding::new(&OVERSIZED_INPUT, None, detail) }
    }
}

/// The longest name of a tool in a message.
const LONGEST_NAME: usize = 80;

impl Call {
    /// Reads the input of a hook; none when it is blank.
    pub(super) fn read(runtime: Runtime, phase: HookPhase, bytes: &[u8]) -> Result<Option<Self>, Unread> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let value = strict::parse(bytes).map_err(|error| Unread::malformed(error.as_str()))?;
        let Value::Object(mut members) = value else {
            return Err(Unread::malformed("is not a JSON object"));
        };
        if let Some(key) = members.keys().find_map(|key| misspelt(key)) {
            return Err(Unread::malformed(&format!("has a key that is almost, but not, `{key}`")));
        }
        let event = text_member(members.remove("hook_event_name"), "hook_event_name")?;
        if !fits(phase, &event) {
            return Err(Unread::malformed("is about another event than this hook is for"));
        }
        let name = text_member(members.remove("tool_name"), "tool_name")?;
        Ok(Some(Self {
            kind: ToolKind::of(runtime, &name),
            name,
            inputs: readings(members.remove("tool_input"))?,
            result: members.remove("tool_result"),
            response: members.remove("tool_response"),
            error: members.remove("error").filter(|_| event == "PostToolUseFailure"),
        }))
    }

    /// Whether it runs commands: as its name tells, or, for a tool about which nothing is known, as its input tells.
    pub(super) fn runs_commands(&self) -> bool {
        let unknown = match self.kind {
            ToolKind::Mcp { .. } | ToolKind::Other => true,
            ToolKind::Shell | ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search => false,
            ToolKind::List | ToolKind::Fetch | ToolKind::WebSearch | ToolKind::Image => false,
            ToolKind::Delegate | ToolKind::Skill => false,
        };
        let named = |input: &Value| !shell_input::named_commands(input).is_empty();
        self.kind.is_shell() || unknown && self.inputs.last().is_some_and(named)
    }

    /// The tool's name for messages: printable, and not long.
    pub(super) fn shown_name(&self) -> String {
        let cut: String = self.name.chars().take(LONGEST_NAME).collect();
        match cut.as_str() {
            "" => "(unnamed)".to_owned(),
            name => visible(name).into_owned(),
        }
    }
}

/// The keys that decide what is checked.
const KEYS: [&str; 5] = ["hook_event_name", "tool_name", "tool_input", "tool_result", "tool_response"];

/// The key that `key` is another spelling of. A runtime that writes `toolInput` would have calls without input checked.
fn misspelt(key: &str) -> Option<&'static str> {
    let letters = |text: &'static str| text.bytes().filter(|byte| *byte != b'_');
    let bare = || key.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    KEYS.into_iter().find(|known| *known != key && letters(known).eq(bare()))
}

/// Whether a hook for `phase` is asked about its own event. Wired to another, it would look at the wrong things.
fn fits(phase: HookPhase, event: &str) -> bool {
    match phase {
        HookPhase::PreTool => matches!(event, "" | "PreToolUse"),
        HookPhase::PostTool => matches!(event, "" | "PostToolUse" | "PostToolUseFailure"),
    }
}

/// A member that is a text; empty when it is absent.
fn text_member(value: Option<Value>, key: &str) -> Result<String, Unread> {
    match value {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Unread::malformed(&format!("has a `{key}` that is not a text")))
        }
    }
}

fn readings(input: Option<Value>) -> Result<Vec<Value>, Unread> {
    match input {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(object @ Value::Object(_)) => Ok(vec![object]),
        Some(Value::String(text)) => readings_of_text(text),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            Err(Unread::malformed("has a `tool_input` that is neither an object nor a text"))
        }
    }
}

/// How often a text may be JSON in JSON.
const WRAPPINGS: usize = 4;

/// A text, what it says as JSON, and where that is a text again, what that says.
fn readings_of_text(text: String) -> Result<Vec<Value>, Unread> {
    let mut readings = vec![Value::String(text)];
    while let Some(Value::String(text)) = readings.last() {
        match strict::parse(text.as_bytes()) {
            Ok(Value::String(_)) if readings.len() > WRAPPINGS => {
                return Err(Unread::malformed("has a `tool_input` that is JSON in JSON too many times"));
            }
            Ok(inner @ (Value::Object(_) | Value::String(_))) => readings.push(inner),
            // As plain text it may be harmless; what reads it as JSON would see something else.
            Err(
                error @ (strict::NotStrict::DuplicateKey
                | strict::NotStrict::Depth
                | strict::NotStrict::Values),
            ) => {
                return Err(Unread::malformed(&format!("has a `tool_input` that {}", error.as_str())));
            }
            Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_))
            | Err(strict::NotStrict::Syntax | strict::NotStrict::Encoding) => break,
        }
    }
    Ok(readings)
}
