//! Tool calls and what came of them, each in a line that a person can be shown.

use std::borrow::Cow;

use fullsend_guard::hook::{Runtime, ToolKind};
use fullsend_guard::{Scanner as _, SecretScanner};
use serde_json::Value;

/// The longest command, prompt or result that is shown.
const TEXT: usize = 120;
/// The longest path.
const PATH: usize = 200;
/// The longest pattern.
const PATTERN: usize = 50;

/// What a tool is called with; empty for tools of which nothing is known, whose input may be anything.
pub(crate) fn of_call(runtime: Runtime, tool: &str, input: &Value) -> String {
    let (keys, longest): (&[&str], usize) = match ToolKind::of(runtime, tool) {
        ToolKind::Shell => (&["command", "cmd"], TEXT),
        ToolKind::Delegate => (&["prompt", "message", "goal"], TEXT),
        ToolKind::Read | ToolKind::Write | ToolKind::Edit => (&["file_path", "filePath", "path"], PATH),
        ToolKind::Search | ToolKind::List => (&["pattern"], PATTERN),
        ToolKind::Fetch
        | ToolKind::WebSearch
        | ToolKind::Image
        | ToolKind::Skill
        | ToolKind::Mcp { .. }
        | ToolKind::Other => return String::new(),
    };
    let text = keys.iter().find_map(|key| words(input.get(key)?));
    text.map(|text| short(&text, longest)).unwrap_or_default()
}

/// What came of a call.
pub(crate) fn of_result(text: &str) -> String {
    short(text, TEXT)
}

/// Without secrets, whatever its length: an error of a runtime.
pub(crate) fn without_secrets(text: &str) -> String {
    SecretScanner::new().scan(text).edits.apply(text)
}

/// A text, or a command as a list of words.
fn words(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(items) => {
            Some(Cow::Owned(items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Masked before it is cut: half a secret is not recognised as one.
fn short(text: &str, longest: usize) -> String {
    let masked = without_secrets(text);
    let words = masked.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use fullsend_guard::hook::Runtime;
    use serde_json::{Value, json};

    use super::of_call;

    #[test]
    fn known_tools_show_what_they_do_and_others_nothing() {
        let long = format!("echo {}", "a".repeat(200));
        let cut = format!("echo {}…", "a".repeat(115));
        let signs = "漢".repeat(60);
        let fifty = format!("{}…", "漢".repeat(50));
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let leak = format!("{}curl -H 'Authorization: Bearer {token}' x", "x".repeat(100));
        let cases: [(Runtime, &str, Value, &str); 9] = [
            (Runtime::Claude, "Bash", json!({"command": "ls\n  -la"}), "ls -la"),
            (Runtime::Claude, "Bash", json!({"command": long}), &cut),
            (Runtime::Claude, "Grep", json!({"pattern": signs}), &fifty),
            (Runtime::Claude, "Read", json!({"file_path": "/a/b"}), "/a/b"),
            (Runtime::Claude, "WebFetch", json!({"url": "https://x.test"}), ""),
            (Runtime::Claude, "mcp__s__t", json!({"command": "rm"}), ""),
            (Runtime::Claude, "Bash", json!("not an object"), ""),
            (Runtime::Codex, "shell", json!({"command": ["bash", "-lc", "ls"]}), "bash -lc ls"),
            (Runtime::OpenCode, "read", json!({"filePath": "/c"}), "/c"),
        ];
        for (runtime, tool, input, expected) in cases {
            assert_eq!(of_call(runtime, tool, &input), expected, "{tool} {input}");
        }
        let shown = of_call(Runtime::Claude, "Bash", &json!({"command": leak}));
        assert!(!shown.contains("a1B2c3"), "{shown}");
    }
}
