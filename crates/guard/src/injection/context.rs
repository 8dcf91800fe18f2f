//! Whether a match is talk about attacks and not an attack.
//!
//! Documentation, tests and papers quote what they are about. A match counts as discussed when it stands in a quoting
//! form and words of such talk are near; either alone is what any attacker writes.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::words::{line_around, starts_word};
use crate::finding::Span;

/// How near words of discussion must be.
const NEAR: usize = 300;
/// How far an opening or closing quote is looked for.
const LONGEST_QUOTE: usize = 240;

/// What people write about attacks.
const TALK: &[&str] = &[
    "example",
    "e.g.",
    "such as",
    "attack",
    "injection",
    "inject",
    "detect",
    "payload",
    "test",
    "assert",
    "expect",
    "jailbreak",
    "malicious",
    "adversar",
    "phrase",
    "pattern",
    "attempt",
    "scanner",
    "threat",
    "vulnerab",
    "untrusted",
    "fixture",
    "exploit",
    "sample",
    "reject",
    "sanitiz",
    "sanitis",
    "suspicious",
    "flagged",
];

static AUTOMATON: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(TALK).ok());

/// What is known about a text as a place to quote in; made when the first match asks.
#[derive(Debug)]
pub(super) struct Context<'text> {
    text: &'text str,
    fences: Vec<Span>,
    /// Where words of discussion start, as far as the text was looked at.
    talk: Vec<usize>,
    seen: usize,
}

impl<'text> Context<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        Self { text, fences: fences(text), talk: Vec::new(), seen: 0 }
    }

    /// Whether `span` is quoted, and what is around it talks about attacks. To be asked in the order of the text.
    pub(super) fn discusses(&mut self, span: Span) -> bool {
        self.has_talk(span) && (self.is_fenced(span) || self.is_block_quote(span) || self.is_quoted(span))
    }

    fn has_talk(&mut self, span: Span) -> bool {
        self.look_around(span);
        let from = self.talk.partition_point(|at| *at < span.start.saturating_sub(NEAR));
        let near = self.talk.get(from..).unwrap_or_default();
        near.iter().take_while(|at| **at < span.end + NEAR).any(|at| !(span.start..span.end).contains(at))
    }

    /// Notes the words of discussion near `span`. No part of the text is looked at twice.
    fn look_around(&mut self, span: Span) {
        let from = self.text.floor_char_boundary(span.start.saturating_sub(NEAR).max(self.seen));
        let to = self.text.ceil_char_boundary(self.text.len().min(span.end + NEAR));
        let part = self.text.get(from..to).unwrap_or_default();
        let found =
            AUTOMATON.iter().flat_map(|words| words.find_iter(part)).map(|found| from + found.start());
        self.talk.extend(found.filter(|at| starts_word(self.text, *at) && !is_host(self.text, *at)));
        self.seen = self.seen.max(to);
    }

    fn is_fenced(&self, span: Span) -> bool {
        let after = self.fences.partition_point(|fence| fence.start <= span.start);
        after.checked_sub(1).and_then(|last| self.fences.get(last)).is_some_and(|fence| span.end <= fence.end)
    }

    fn is_block_quote(&self, span: Span) -> bool {
        let line = line_around(self.text, span, LONGEST_QUOTE);
        line.of(self.text).is_some_and(|line| line.trim_start().starts_with("> "))
    }

    fn is_quoted(&self, span: Span) -> bool {
        let from = self.text.floor_char_boundary(span.start.saturating_sub(LONGEST_QUOTE));
        let to = self.text.floor_char_boundary(self.text.len().min(span.end + LONGEST_QUOTE));
        let before = self.text.get(from..span.start).unwrap_or_default();
        let after = self.text.get(span.end..to).unwrap_or_default();
        let before = before.get(before.rfind("\n\n").map_or(0, |cut| cut + 2)..).unwrap_or_default();
        let after = after.get(..after.find("\n\n").unwrap_or(after.len())).unwrap_or_default();
        ['"', '`', '\''].into_iter().any(|mark| opens(before, mark) && closes(after, mark))
    }
}

/// Whether "example" is only the name of a host, as in an address.
fn is_host(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let next = rest.as_bytes().get("example.".len());
    rest.starts_with("example.") && next.is_some_and(u8::is_ascii_alphabetic)
}

/// Whether the last `mark` opens a quotation, that is, stands after something that is not a word and before one. The
/// value of a JSON member is data, not a quotation.
fn opens(before: &str, mark: char) -> bool {
    let Some(at) = before.rfind(mark) else { return false };
    let inside = before.get(at + 1..).unwrap_or_default();
    let outside = before.get(..at).unwrap_or_default();
    let member = mark == '"' && outside.trim_end().ends_with("\":");
    let after_word = outside.ends_with(|character: char| character.is_alphanumeric());
    !inside.starts_with(char::is_whitespace) && !after_word && !member
}

fn closes(after: &str, mark: char) -> bool {
    after.find(mark).is_some_and(|at| {
        let inside = after.get(..at).unwrap_or_default();
        let outside = after.get(at + 1..).unwrap_or_default();
        !inside.ends_with(' ') && !outside.starts_with(|character: char| character.is_alphanumeric())
    })
}

/// Blocks between lines of backquotes or tildes.
fn fences(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    for mark in ["```", "~~~"] {
        let mut open = None;
        for at in memchr::memmem::find_iter(text.as_bytes(), mark).filter(|at| starts_line(text, *at)) {
            match open.take() {
                None => open = Some(at),
                Some(start) => found.push(Span::new(start, at)),
            }
        }
    }
    found.sort_unstable();
    found
}

fn starts_line(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(at.saturating_sub(8)..at).unwrap_or_default();
    before.iter().rev().find(|byte| **byte != b' ').is_none_or(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests;
