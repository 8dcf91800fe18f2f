//! Blocks that a person does not see.

use memchr::memmem;

use super::found::Match;
use super::rules::{HIDDEN_DIV, HIDDEN_HTML_COMMENT, HIDDEN_TEXT};
use super::words::line_around;
use crate::finding::Span;
use crate::rule::Rule;
use crate::severity::Severity;

/// How much of an element's content is taken to be hidden when its end is not found.
const LONGEST_CONTENT: usize = 4096;
/// How far the start and the end of a tag are looked for.
const LONGEST_TAG: usize = 512;

/// A part of the text that is not shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) rule: &'static Rule,
    /// With its markup.
    pub(super) span: Span,
    pub(super) content: Span,
}

impl Block {
    /// What it is called in a finding.
    pub(super) fn name(&self) -> &'static str {
        if self.rule == &HIDDEN_HTML_COMMENT {
            "in an HTML comment"
        } else if self.rule == &HIDDEN_DIV {
            "in a hidden element"
        } else {
            "in text that is not shown"
        }
    }

    /// What is to be said of it although nothing in it speaks to a model.
    pub(super) fn quiet(&self, text: &str) -> Option<Match> {
        let content = self.content.of(text)?;
        let found = |severity| Some(Match::new(self.rule, self.span).with_severity(severity));
        if self.rule == &HIDDEN_DIV {
            let shown = content.split('<').map(|part| part.rsplit('>').next().unwrap_or_default());
            let words = shown
                .flat_map(str::split_whitespace)
                .any(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic()));
            return found(if words { Severity::High } else { Severity::Low })
                .map(|found| found.with_detail("an element that is not shown"));
        }
        let head =
            content.get(..content.floor_char_boundary(LONGEST_TAG)).unwrap_or_default().to_ascii_lowercase();
        let odd = ["secret", "inject", "bypass", "hidden instruction"].iter().any(|word| head.contains(word));
        if self.rule == &HIDDEN_HTML_COMMENT && odd {
            return found(Severity::Low)
                .map(|found| found.with_detail("an HTML comment that speaks of secrets or bypassing"));
        }
        None
    }
}

/// The hidden blocks of a text as they are come upon, in order and apart from each other.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    found: Vec<Block>,
    covered: usize,
    unclosed: bool,
}

impl Blocks {
    /// A comment starts at `at`. It ends with the first `-->`; without one it is no comment.
    pub(super) fn comment(&mut self, text: &str, at: Span) {
        if self.unclosed || at.start < self.covered {
            return;
        }
        match memmem::find(text.as_bytes().get(at.end..).unwrap_or_default(), b"-->") {
            None => self.unclosed = true,
            Some(length) => self.add(
                &HIDDEN_HTML_COMMENT,
                Span::new(at.start, at.end + length + 3),
                Span::new(at.end, at.end + length),
            ),
        }
    }

    /// A property that may hide an element is named at `at`.
    pub(super) fn style(&mut self, text: &str, at: Span) {
        if at.start < self.covered || !hides(text, at) {
            return;
        }
        let Some((tag, name)) = tag_around(text, at.start) else { return };
        let limit = text.ceil_char_boundary(text.len().min(tag.end + LONGEST_CONTENT));
        let rest = text.get(tag.end..limit).unwrap_or_default();
        let end = closing(rest, name).unwrap_or(rest.len());
        let content = if is_void(name) { 0 } else { end };
        self.add(&HIDDEN_DIV, Span::new(tag.start, tag.end + content), Span::new(tag.end, tag.end + content));
    }

    /// A markdown reference that is only there to hold a comment starts at `at`.
    pub(super) fn reference(&mut self, text: &str, at: Span) {
        if at.start >= self.covered {
            let line = line_around(text, at, LONGEST_CONTENT);
            self.add(&HIDDEN_TEXT, Span::new(at.start, line.end), Span::new(at.end, line.end));
        }
    }

    fn add(&mut self, rule: &'static Rule, span: Span, content: Span) {
        self.covered = span.end;
        self.found.push(Block { rule, span, content });
    }

    /// The block that holds `place`, and its number.
    pub(super) fn around(&self, place: usize) -> Option<(usize, &Block)> {
        let after = self.found.partition_point(|block| block.content.start <= place);
        let at = after.checked_sub(1)?;
        let block = self.found.get(at)?;
        (place < block.content.end).then_some((at, block))
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.found.iter()
    }
}

/// Whether the property at `at` has a value that hides.
fn hides(text: &str, at: Span) -> bool {
    let property = at.of(text).unwrap_or_default().to_ascii_lowercase();
    if property == " hidden" {
        return text.as_bytes().get(at.end).is_some_and(|byte| matches!(byte, b'>' | b' ' | b'=' | b'/'));
    }
    let rest = text.get(at.end..text.ceil_char_boundary(text.len().min(at.end + 24))).unwrap_or_default();
    let Some(value) = rest.trim_start().strip_prefix(':') else { return false };
    let value = value.trim_start().to_ascii_lowercase();
    let zero = |text: &str| text.starts_with('0') && !text.starts_with("0.") || text.starts_with("0.0");
    match property.as_str() {
        "display" => value.starts_with("none"),
        "visibility" => value.starts_with("hidden"),
        "font-size" => zero(&value) || value.starts_with("1px"),
        _ => zero(&value),
    }
}

/// The tag whose attributes hold `at`, and the name of its element.
fn tag_around(text: &str, at: usize) -> Option<(Span, &str)> {
    let bytes = text.as_bytes();
    let from = at.saturating_sub(LONGEST_TAG);
    let start = from
        + memchr::memrchr2(b'<', b'>', bytes.get(from..at)?)
            .filter(|place| bytes.get(from + place) == Some(&b'<'))?;
    let end = at + memchr::memchr(b'>', bytes.get(at..text.len().min(at + LONGEST_TAG))?)? + 1;
    let name = text.get(start + 1..at)?;
    let name = name.get(..name.bytes().take_while(u8::is_ascii_alphanumeric).count())?;
    (!name.is_empty()).then_some((Span::new(start, end), name))
}

/// Where the closing tag of `name` starts.
fn closing(content: &str, name: &str) -> Option<usize> {
    memmem::find_iter(content.as_bytes(), b"</").find(|at| {
        let tag = content.as_bytes().get(at + 2..at + 2 + name.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes()))
    })
}

fn is_void(name: &str) -> bool {
    ["img", "input", "br", "hr", "meta", "link", "svg", "path", "col"]
        .iter()
        .any(|void| void.eq_ignore_ascii_case(name))
}

/// Whether `place` lies in an attribute or an alternative text that is hardly ever shown.
pub(super) fn in_attribute(text: &str, place: usize) -> bool {
    let line = line_around(text, Span::new(place, place), 300);
    let before = text.get(line.start..place).unwrap_or_default();
    let open = ["alt=\"", "title=\"", "alt='", "title='", "aria-label=\"", "content=\""].iter().any(|name| {
        let quote = if name.ends_with('"') { '"' } else { '\'' };
        before
            .rfind(name)
            .and_then(|at| before.get(at + name.len()..))
            .is_some_and(|value| !value.contains(quote))
            && before.contains('<')
    });
    let image = before.rfind("![").and_then(|at| before.get(at..)).is_some_and(|label| !label.contains(']'));
    open || image
}
