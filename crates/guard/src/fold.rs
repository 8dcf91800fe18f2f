//! The form of a text in which look-alikes are what a person reads; for matching, never for output.
//!
//! Full-width and mathematical letters, Cyrillic and Greek twins of Latin letters, circled letters and odd spaces become
//! ASCII; what is not seen (zero-width characters, combining marks, tags) disappears. Text that is ASCII, or has nothing
//! to fold, is borrowed.

use std::borrow::Cow;
use std::hint::select_unpredictable;

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
            folded += folded_length(character);
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
    rest.char_indices().find(|(_, character)| place_of(u32::from(*character)) != 0).map(|(at, _)| first + at)
}

/// Folds some characters of `original` from `at` on; how far it came.
fn fold_step(original: &str, at: usize, text: &mut String) -> usize {
    let rest = original.get(at..).unwrap_or_default();
    if let Some(plain) = rest.get(..STEP).filter(|block| block.is_ascii()) {
        text.push_str(plain);
        return at + STEP;
    }
    let end = rest.ceil_char_boundary(STEP);
    let block = Block::of(rest.get(..end).unwrap_or_default());
    text.push_str(block.as_str());
    at + end
}

/// A few characters in their form for matching.
struct Block {
    bytes: [u8; Self::SIZE],
    length: usize,
}

impl Block {
    /// Every two bytes of a step may become the longest replacement.
    const SIZE: usize = STEP * 4 + 64;

    /// Folds `part`, a step long. In some scripts every other letter looks like a Latin one, so nothing may depend on a
    /// branch that says which: four bytes are written for every character, and as many of them counted as it has.
    fn of(part: &str) -> Self {
        let (mut bytes, mut length) = ([0; Self::SIZE], 0);
        let mut padded = [0; STEP + 8];
        padded.iter_mut().zip(part.bytes()).for_each(|(slot, byte)| *slot = byte);
        let mut at = 0;
        while at < part.len() {
            let Some(next) = padded.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { break };
            let (code, width) = decoded(*next);
            at += width;
            let place = place_of(code);
            let free = bytes.get_mut(length..).unwrap_or_default();
            if place & LONGER != 0 {
                let ascii = longer(place);
                free.iter_mut().zip(ascii.bytes()).for_each(|(slot, byte)| *slot = byte);
                length += ascii.len();
                continue;
            }
            let kept = u32::from_le_bytes(*next);
            let written = select_unpredictable(place == 0, kept, u32::from(place & 0x7f));
            if let Some(slot) = free.first_chunk_mut::<4>() {
                *slot = written.to_le_bytes();
            }
            length += select_unpredictable(place == 0, width, single(place));
        }
        Self { bytes, length }
    }

    fn as_str(&self) -> &str {
        let written = self.bytes.get(..self.length).unwrap_or_default();
        std::str::from_utf8(written).unwrap_or_default()
    }
}

/// The character that starts a text, as a number, and how many bytes it takes.
fn decoded(bytes: [u8; 4]) -> (u32, usize) {
    let [first, second, third, fourth] = bytes.map(u32::from);
    match first {
        0..0x80 => (first, 1),
        0x80..0xe0 => ((first & 0x1f) << 6 | second & 0x3f, 2),
        0xe0..0xf0 => ((first & 0xf) << 12 | (second & 0x3f) << 6 | third & 0x3f, 3),
        _ => ((first & 7) << 18 | (second & 0x3f) << 12 | (third & 0x3f) << 6 | fourth & 0x3f, 4),
    }
}

/// What the table says about a character; zero for what stays as it is.
fn place_of(code: u32) -> u16 {
    let page = PAGES.get((code >> 8) as usize).map_or(0, |page| usize::from(*page));
    PLACES.get(page).and_then(|places| places.get((code & 0xff) as usize)).copied().unwrap_or_default()
}

/// How many characters come from a place that is not among the longer ones: one or none.
fn single(place: u16) -> usize {
    usize::from((place / SINGLE) & 1)
}

fn longer(place: u16) -> &'static str {
    REPLACEMENTS.get(usize::from(place & !LONGER)).copied().unwrap_or_default()
}

/// How many bytes a character has after folding.
fn folded_length(character: char) -> usize {
    match place_of(u32::from(character)) {
        0 => character.len_utf8(),
        place if place & LONGER != 0 => longer(place).len(),
        place => single(place),
    }
}

#[cfg(test)]
mod tests;
