//! What a scanner found.

use crate::rule::Rule;
use crate::severity::Severity;
use crate::visible::visible;

/// The longest detail, in characters. Findings go into logs and onto screens, and the text they describe may be hostile.
const LONGEST_DETAIL: usize = 300;

/// A range of bytes in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// From `start` up to, not including, `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// How many bytes it covers.
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether it covers nothing.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether a byte is in both.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The part of `text` it covers; none when it does not lie in the text at character boundaries.
    pub fn of(self, text: &str) -> Option<&str> {
        text.get(self.start..self.end)
    }
}

/// One thing that a scanner found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Under which rule.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// Where, in the text that was handed in; none when it is about the whole.
    pub span: Option<Span>,
    detail: String,
}

impl Finding {
    /// A finding as bad as its rule says.
    ///
    /// `detail` is made printable and cut to a line; the caller keeps secrets out of it.
    pub fn new(rule: &'static Rule, span: impl Into<Option<Span>>, detail: impl AsRef<str>) -> Self {
        Self { rule, severity: rule.severity, span: span.into(), detail: one_line(detail.as_ref()) }
    }

    /// The same finding, as bad as `severity`.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// What was found, in one printable line without secrets.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

/// Printable text of limited length.
fn one_line(text: &str) -> String {
    let cut = text.char_indices().nth(LONGEST_DETAIL).map(|(at, _)| at);
    match cut.and_then(|at| text.get(..at)) {
        Some(kept) => format!("{}…", visible(kept)),
        None => visible(text).into_owned(),
    }
}
