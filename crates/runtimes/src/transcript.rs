//! How a run ended, as the stream that was kept of it says.

use std::io::{self, Read};

use serde::Deserialize;

use crate::display::harmless;
use crate::lines::Lines;
use crate::summary::without_secrets;

/// The longest message that is kept.
const LONGEST_MESSAGE: usize = 2000;
/// The longest word for a kind of end.
const LONGEST_SUBTYPE: usize = 80;

/// The last word of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptResult {
    /// Whether it calls its end a failure.
    pub is_error: bool,
    /// What it says, as it says it.
    pub message: String,
    /// The kind of its end.
    pub subtype: String,
}

impl TranscriptResult {
    /// What to show of it: in a line, harmless, without secrets.
    pub fn display(&self) -> String {
        let message = harmless(&without_secrets(&self.message));
        if !message.trim().is_empty() {
            return message;
        }
        let subtype: String = harmless(&self.subtype).chars().take(LONGEST_SUBTYPE).collect();
        format!("the agent ended with `{subtype}` and said nothing about it")
    }
}

#[derive(Deserialize)]
struct Line {
    r#type: String,
    #[serde(default)]
    is_error: bool,
    result: Option<String>,
    #[serde(default)]
    subtype: String,
}

/// The last result in a stream. Lines that are too long, or are no JSON, are passed over: a large output of a tool must not
/// hide how the run ended.
pub fn transcript_result(mut stream: impl Read) -> io::Result<Option<TranscriptResult>> {
    let (mut lines, mut last) = (Lines::default(), None);
    let mut look = |line: &[u8]| {
        if let Some(result) = read(line) {
            last = Some(result);
        }
    };
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        lines.push(buffer.get(..count).unwrap_or_default(), &mut look);
    }
    lines.finish(look);
    Ok(last)
}

fn read(line: &[u8]) -> Option<TranscriptResult> {
    // Most lines are something else, and need not be read to the end for that to show.
    memchr::memmem::find(line, b"\"result\"")?;
    let line: Line = serde_json::from_slice(line).ok().filter(|line: &Line| line.r#type == "result")?;
    let mut message = line.result.unwrap_or_default();
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        message.push_str("… (truncated)");
    }
    Some(TranscriptResult { is_error: line.is_error, message, subtype: line.subtype })
}

#[cfg(test)]
mod tests {
    use super::{TranscriptResult, transcript_result};

    fn of(stream: &str) -> Option<TranscriptResult> {
        transcript_result(stream.as_bytes()).unwrap()
    }

    #[test]
    fn the_last_result_counts_whatever_comes_before_it() {
        let first = r#"{"type":"result","is_error":false,"result":"fine","subtype":"success"}"#;
        let last = r#"{"type": "result", "is_error":true,"result":"","subtype":"error_max_turns"}"#;
        let long = format!(r#"{{"type":"user","content":"{}"}}"#, "x".repeat(3 << 20));
        let found = of(&format!("{first}\n{long}\nnot json\n\n{last}")).unwrap();
        assert!(found.is_error);
        assert_eq!(found.display(), "the agent ended with `error_max_turns` and said nothing about it");
        assert_eq!(of(&format!("{long}\n{first}\n")).unwrap().message, "fine");
        assert_eq!(of(&long), None);
        assert_eq!(of(r#"{"type":"user","x":"\"type\":\"result\""}"#), None);
    }

    #[test]
    fn a_message_is_cut_between_characters_and_shown_harmless() {
        let stream = format!(r#"{{"type":"result","is_error":true,"result":"a{}"}}"#, "é".repeat(1500));
        let message = of(&stream).unwrap().message;
        assert!(message.ends_with("é… (truncated)") && message.len() == 1999 + "… (truncated)".len());
        let found = of(r#"{"type":"result","is_error":true,"result":"a\n::error::b"}"#).unwrap();
        assert_eq!(found.display(), "a : :error: :b");
    }
}
