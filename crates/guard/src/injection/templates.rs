//! Messages that were never sent: markers of chat formats and lines that look like turns of a conversation.

use super::found::Match;
use super::rules::{CHAT_TEMPLATE, FAKE_MESSAGE};
use super::words::line_around;
use crate::finding::Span;
use crate::severity::Severity;

/// A marker that no text has by accident.
pub(super) fn marker(text: &str, at: Span) -> Option<Match> {
    let after = text.get(at.end..text.ceil_char_boundary(text.len().min(at.end + 24))).unwrap_or_default();
    let role = after.trim_start_matches(['|', '>', ' ', '\n']);
    let system = ["system", "developer", "tool"].iter().any(|name| starts_with(role, name))
        || at.of(text).is_some_and(|marker| marker.to_ascii_lowercase().contains("sys"));
    let named = at.start.checked_sub(1).and_then(|before| text.as_bytes().get(before)) == Some(&b'`')
        && text.as_bytes().get(at.end) == Some(&b'`');
    let severity = if named {
        Severity::Low
    } else if system && !in_code(text, at) {
        Severity::High
    } else {
        Severity::Medium
    };
    Some(Match::new(&CHAT_TEMPLATE, at).with_severity(severity))
}

/// Whether `at` stands between backquotes in its line.
fn in_code(text: &str, at: Span) -> bool {
    let line = line_around(text, at, 160);
    let marks = |part: Option<&str>| part.map_or(0, |part| part.bytes().filter(|byte| *byte == b'`').count());
    marks(text.get(line.start..at.start)) % 2 == 1 && marks(text.get(at.end..line.end)) > 0
}

/// `"role": "system"`: a message as interfaces of models take it.
pub(super) fn role(text: &str, at: Span) -> Option<Match> {
    let name = at.of(text)?.trim_end_matches(':').len() + at.start;
    let rest = text.get(name..text.ceil_char_boundary(text.len().min(name + 16))).unwrap_or_default();
    let value = rest.trim_start().strip_prefix(':')?.trim_start().trim_start_matches(['"', '\'']);
    let length = ["system", "developer"].iter().find(|name| starts_with(value, name))?.len();
    let ends =
        value.get(length..).is_none_or(|after| !after.starts_with(|next: char| next.is_alphanumeric()));
    ends.then(|| Match::new(&FAKE_MESSAGE, at))
}

/// An opening or closing tag by which harnesses wrap messages and results; at the start of a line only, as
/// documentation names them within sentences.
pub(super) fn tag(text: &str, at: Span) -> Option<Match> {
    let start = line_start(text, at.start)?;
    let next = text.as_bytes().get(at.end).copied();
    let ends = next.is_none_or(|byte| matches!(byte, b'>' | b' ' | b'\n'));
    ends.then(|| Match::new(&FAKE_MESSAGE, Span::new(start, at.end)).with_severity(Severity::Medium))
}

/// "### System:", "```system", "Human:" at the start of a line.
pub(super) fn turn(text: &str, at: Span) -> Option<Match> {
    let start = line_start(text, at.start)?;
    let line = at.of(text)?;
    let after = text.as_bytes().get(at.end).copied();
    if line.starts_with("```") {
        return after
            .is_none_or(|byte| byte == b'\n')
            .then(|| Match::new(&FAKE_MESSAGE, Span::new(start, at.end)));
    }
    let heading = line.starts_with('#');
    if line.starts_with('[') {
        return Some(Match::new(&FAKE_MESSAGE, Span::new(start, at.end)));
    }
    if !heading && after.is_some_and(|byte| !byte.is_ascii_whitespace()) {
        return None;
    }
    let severity = if heading { Severity::High } else { Severity::Low };
    Some(Match::new(&FAKE_MESSAGE, Span::new(start, at.end)).with_severity(severity))
}

/// Where the text of the line starts, if nothing but space is before `at` in it.
fn line_start(text: &str, at: usize) -> Option<usize> {
    let before = text.as_bytes().get(at.saturating_sub(16)..at).unwrap_or_default();
    let mark = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
    mark.is_none_or(|byte| *byte == b'\n').then_some(at)
}

fn starts_with(text: &str, word: &str) -> bool {
    text.as_bytes().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}
