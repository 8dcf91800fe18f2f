//! The form of a text in which look-alikes are what a person reads; for matching, never for output.
//!
//! Full-width and mathematical letters, Cyrillic and Greek twins of Latin letters, circled letters and odd spaces become
//! ASCII; what is not seen (zero-width characters, combining marks, tags) disappears. Text that is ASCII, or has nothing
//! to fold, is borrowed.

use std::borrow::Cow;

use crate::finding::Span;

include!(concat!(env!("OUT_DIR"), "/fold_table.rs"));

/// How many bytes of the original lie between two marks, about. What is between them is folded again to find a place.
const STEP: usize = 256;

/// A text in its form for matching, and the way back to the original.
#[derive(Clone, Debug)]
pub(crate) struct Folded<'text> {
    original: &'text str,
    text: Cow<'text, str>,
    marks: Vec<Mark>,
}

/// A place that is known in both texts.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    original: usize,
    folded: usize,
}

/// What becomes of one character.
#[derive(Clone, Copy, Debug)]
enum Fold {
    Kept,
    Replaced { ascii: [u8; 8], length: usize },
}

impl<'text> Folded<'text> {
    /// Folds `original`.
    pub(crate) fn new(original: &'text str) -> Self {
        let Some(start) = first_folding(original) else {
            return Self { original, text: Cow::Borrowed(original), marks: Vec::new() };
        };
        let mut text = String::with_capacity(original.len());
        text.push_str(original.get(..start).unwrap_or_default());
        let mut marks = vec![Mark { original: start, folded: start }];
        let mut at = start;
        while at < original.len() {
            at = fold_step(original, at, &mut text);
            marks.push(Mark { original: at, folded: text.len() });
        }
        Self { original, text: Cow::Owned(text), marks }
    }

    /// The text to match in.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where a span of the folded text lies in the original. What covers part of a replaced character covers all of it.
    pub(crate) fn to_original(&self, span: Span) -> Span {
        if matches!(self.text, Cow::Borrowed(_)) {
            return span;
        }
        let start = self.place(span.start).start;
        if span.is_empty() {
            return Span::new(start, start);
        }
        Span::new(start, self.place(span.end - 1).end)
    }

    /// The original character that the folded byte at `offset` comes from.
    fn place(&self, offset: usize) -> Span {
        let after = self.marks.partition_point(|mark| mark.folded <= offset);
        let Some(mark) = after.checked_sub(1).and_then(|last| self.marks.get(last)) else {
            return Span::new(offset, offset + 1);
        };
        let mut folded = mark.folded;
        let rest = self.original.get(mark.original..).unwrap_or_default();
        for (at, character) in rest.char_indices() {
            folded += match fold(character) {
                Fold::Kept => character.len_utf8(),
                Fold::Replaced { length, .. } => length,
            };
            if folded > offset {
                let start = mark.original + at;
                return Span::new(start, start + character.len_utf8());
            }
        }
        Span::new(self.original.len(), self.original.len())
    }
}

/// Where the first character that folds lies.
fn first_folding(text: &str) -> Option<usize> {
    if text.is_ascii() {
        return None;
    }
    let first = text.bytes().position(|byte| !byte.is_ascii())?;
    let rest = text.get(first..)?;
    rest.char_indices()
        .find(|(_, character)| matches!(fold(*character), Fold::Replaced { .. }))
        .map(|(at, _)| first + at)
}

/// Folds some characters of `original` from `at` on; how far it came.
fn fold_step(original: &str, at: usize, text: &mut String) -> usize {
    let rest = original.get(at..).unwrap_or_default();
    if let Some(plain) = rest.get(..STEP).filter(|block| block.is_ascii()) {
        text.push_str(plain);
        return at + STEP;
    }
    let mut copied = 0;
    for (offset, character) in rest.char_indices() {
        if offset >= STEP {
            text.push_str(rest.get(copied..offset).unwrap_or_default());
            return at + offset;
        }
        if let Fold::Replaced { ascii, length } = fold(character) {
            text.push_str(rest.get(copied..offset).unwrap_or_default());
            text.extend(ascii.iter().take(length).map(|byte| char::from(*byte)));
            copied = offset + character.len_utf8();
        }
    }
    text.push_str(rest.get(copied..).unwrap_or_default());
    original.len()
}

/// What becomes of a character.
fn fold(character: char) -> Fold {
    if character.is_ascii() {
        return Fold::Kept;
    }
    let code = u32::from(character);
    let page = (code >> 8) as usize;
    let bounds = PAGES.get(page).zip(PAGES.get(page + 1));
    let entries = bounds.and_then(|(start, end)| ENTRIES.get(usize::from(*start)..usize::from(*end)));
    let Some(entries) = entries.filter(|entries| !entries.is_empty()) else {
        return Fold::Kept;
    };
    match entries.binary_search_by_key(&code, |(known, _)| *known).ok().and_then(|at| entries.get(at)) {
        Some((_, ascii)) => {
            let length = ascii.iter().position(|byte| *byte == 0).unwrap_or(ascii.len());
            Fold::Replaced { ascii: *ascii, length }
        }
        None => Fold::Kept,
    }
}

#[cfg(test)]
mod tests;
