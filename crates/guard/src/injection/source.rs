//! A folded text, of which only those parts are told to be text that somebody asks for.
//!
//! Folding leaves bytes. Telling that they are text takes as long as all the rest in scripts where every other letter looks
//! Latin, and what matchers look at is near the few anchors.

use std::cell::{Cell, OnceCell};

use crate::finding::Span;
use crate::fold::Folded;

/// How far before and after an anchor matchers look, and some more.
const BEFORE: usize = 1536;
const AFTER: usize = 3072;
/// The largest part that is told to be text at once.
const LARGEST: usize = 1 << 16;

/// A folded text.
#[derive(Debug)]
pub(super) struct Source<'text> {
    folded: &'text Folded<'text>,
    whole: OnceCell<&'text str>,
    /// The part that was asked for last.
    last: Cell<Part<'text>>,
}

/// A part of a text, long enough for whoever looks around the place it was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part<'text> {
    pub(super) text: &'text str,
    /// Where it starts in the whole.
    pub(super) start: usize,
}

impl Part<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// A place of the whole text in this part.
    pub(super) fn inside(&self, span: Span) -> Span {
        Span::new(span.start.saturating_sub(self.start), span.end.saturating_sub(self.start))
    }

    /// A place of this part in the whole text.
    pub(super) fn outside(&self, span: Span) -> Span {
        Span::new(span.start + self.start, span.end + self.start)
    }
}

impl<'text> Source<'text> {
    pub(super) fn new(folded: &'text Folded<'text>) -> Self {
        let whole = folded.unchanged().map_or_else(OnceCell::new, OnceCell::from);
        Self { folded, whole, last: Cell::default() }
    }

    pub(super) fn bytes(&self) -> &'text [u8] {
        self.folded.bytes()
    }

    /// All of it.
    pub(super) fn whole(&self) -> &'text str {
        self.whole.get_or_init(|| self.folded.text())
    }

    /// The text around `at`, as far as anyone looks.
    pub(super) fn around(&self, at: Span) -> Part<'text> {
        if let Some(text) = self.whole.get() {
            return Part { text, start: 0 };
        }
        let bytes = self.bytes();
        let (from, to) = (at.start.saturating_sub(BEFORE), bytes.len().min(at.end + AFTER));
        let last = self.last.get();
        if last.start <= from && to <= last.end() {
            return last;
        }
        // Where anchors are close to each other the parts grow, so that they overlap little.
        let near = (last.start..=last.end()).contains(&from);
        let size = if near { LARGEST.min(last.text.len() * 2) } else { 0 };
        let inside = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let start = (0..=from).rev().find(|at| !inside(at)).unwrap_or_default();
        let end = (bytes.len().min(to.max(start + size))..bytes.len()).find(|at| !inside(at));
        let part = bytes.get(start..end.unwrap_or(bytes.len())).unwrap_or_default();
        let part = Part { text: simdutf8::basic::from_utf8(part).unwrap_or_default(), start };
        self.last.set(part);
        part
    }
}

#[cfg(test)]
mod tests;
