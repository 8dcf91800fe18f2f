//! A harness as YAML with the place of each value as a comment.

use std::fmt::Write;

use fullsend_harness::Shown;
use fullsend_yaml::printable;
use serde_json::Value;

/// Column at which comments start, where lines are short enough.
const COMMENT_COLUMN: usize = 48;

/// The harness, readable as a harness again.
pub(crate) fn render(shown: &Shown) -> String {
    let mut text = Text { shown, lines: String::new() };
    for file in &shown.chain {
        let _infallible = writeln!(text.lines, "# {}", printable(file.display().to_string()));
    }
    text.children(&shown.harness, "", 0);
    text.lines
}

struct Text<'s> {
    shown: &'s Shown,
    lines: String,
}

impl Text<'_> {
    fn children(&mut self, value: &Value, pointer: &str, indent: usize) {
        match value {
            Value::Object(entries) => {
                for (key, child) in entries {
                    let child_pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                    self.entry(
                        &format!("{}{}:", " ".repeat(indent), scalar_text(key)),
                        child,
                        &child_pointer,
                        indent,
                    );
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let item_pointer = format!("{pointer}/{index}");
                    self.item(item, &item_pointer, indent);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn entry(&mut self, lead: &str, value: &Value, pointer: &str, indent: usize) {
        match leaf(value) {
            Some(text) => self.line(&format!("{lead} {text}"), pointer),
            None => {
                self.line(lead, pointer);
                self.children(value, pointer, indent + 2);
            }
        }
    }

    /// A list item; the first key of a mapping stands behind the dash.
    fn item(&mut self, item: &Value, pointer: &str, indent: usize) {
        let dash = format!("{}-", " ".repeat(indent));
        if let Some(text) = leaf(item) {
            return self.line(&format!("{dash} {text}"), pointer);
        }
        let start = self.lines.len();
        self.children(item, pointer, indent + 2);
        let dashed = self.lines.get(start + indent + 1..).map(|rest| format!("{dash}{rest}"));
        if let Some(dashed) = dashed {
            self.lines.truncate(start);
            self.lines.push_str(&dashed);
        }
    }

    fn line(&mut self, line: &str, pointer: &str) {
        match self.shown.origins.get(pointer) {
            Some(origin) => {
                let file = origin.file.strip_prefix(&self.shown.root).unwrap_or(&origin.file);
                let place = printable(file.display().to_string());
                let _infallible = writeln!(self.lines, "{line:<COMMENT_COLUMN$} # {place}:{}", origin.line);
            }
            None => {
                let _infallible = writeln!(self.lines, "{line}");
            }
        }
    }
}

/// The text of a value that fits on its key's line.
fn leaf(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(scalar_text(text)),
        Value::Null => Some("null".to_owned()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(items) => items.is_empty().then(|| "[]".to_owned()),
        Value::Object(entries) => entries.is_empty().then(|| "{}".to_owned()),
    }
}

/// Text as YAML: plain where nobody could read it as anything else, else in double quotes (JSON strings are YAML).
fn scalar_text(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { Value::from(text).to_string().replace('\u{7f}', "\\u007f") }
}

fn is_plain(text: &str) -> bool {
    const RESERVED: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let safe_start =
        text.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '/' | '$' | '_'));
    let safe = |letter: char| letter.is_ascii_alphanumeric() || " /._-@$(){}+=#:,;'".contains(letter);
    let ambiguous = text.contains(": ") || text.contains(" #") || text.ends_with([':', ' ']);
    safe_start
        && text.chars().all(safe)
        && !ambiguous
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
}
