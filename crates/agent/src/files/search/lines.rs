//! Lines of a text that match a pattern, found in one pass.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use memchr::{memchr, memrchr};
use regex::bytes::Regex;

/// Longer lines are cut.
const LONGEST_LINE: usize = 500;

/// A line that matches, and what is around it.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) text: Cow<'a, str>,
    pub(super) before: Vec<Cow<'a, str>>,
    pub(super) after: Vec<Cow<'a, str>>,
    /// How many bytes all of them have.
    pub(super) bytes: usize,
}

/// Shows every line that matches to `visit`.
///
/// The whole text is searched at once, for the earliest end of a match, because most lines do not match; the line of
/// that end is then asked by itself. So every byte is looked at a fixed number of times, whatever the pattern is.
pub(super) fn matching_lines(
    text: &[u8],
    pattern: &Regex,
    context: usize,
    visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (mut at, mut number, mut counted) = (0, 1, 0);
    while at < text.len() {
        let Some(end) = pattern.shortest_match_at(text, at) else { break };
        let line = line_around(text, at.max(end.saturating_sub(1)));
        let content = text.get(line.clone()).unwrap_or_default();
        if pattern.is_match(content.strip_suffix(b"\r").unwrap_or(content)) {
            number += memchr::memchr_iter(b'\n', text.get(counted..line.start).unwrap_or_default()).count();
            counted = line.start;
            visit(with_context(text, &line, number, context))?;
        }
        at = line.end + 1;
    }
    ControlFlow::Continue(())
}

/// The line that a byte belongs to, without its newline.
fn line_around(text: &[u8], at: usize) -> Range<usize> {
    let start = memrchr(b'\n', text.get(..at).unwrap_or_default()).map_or(0, |newline| newline + 1);
    let end = memchr(b'\n', text.get(at..).unwrap_or_default()).map_or(text.len(), |newline| at + newline);
    start..end
}

fn with_context<'a>(text: &'a [u8], line: &Range<usize>, number: usize, context: usize) -> Line<'a> {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut start = line.start;
    while before.len() < context && start > 0 {
        let earlier = line_around(text, start - 1);
        start = earlier.start;
        before.push(shown(text, earlier));
    }
    before.reverse();
    let mut end = line.end;
    while after.len() < context && end + 1 < text.len() {
        let later = line_around(text, end + 1);
        end = later.end;
        after.push(shown(text, later));
    }
    let line = shown(text, line.clone());
    let bytes = before.iter().chain(&after).map(|line| line.len()).sum::<usize>() + line.len();
    Line { number, text: line, before, after, bytes }
}

fn shown(text: &[u8], line: Range<usize>) -> Cow<'_, str> {
    let line = text.get(line).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.get(..LONGEST_LINE) {
        Some(start) if start.len() < line.len() => Cow::Owned(format!(
            "{}... ({} more bytes)",
            String::from_utf8_lossy(start),
            line.len() - start.len()
        )),
        _ => String::from_utf8_lossy(line),
    }
}
