//! The form of a text in which look-alikes are what a person reads; for matching, never for output.
//!
//! Full-width and mathematical letters, Cyrillic and Greek twins of Latin letters, circled letters and odd spaces become
//! ASCII; what is not seen (zero-width characters, combining marks, tags) disappears. Text that is ASCII, or has nothing
//! to fold, is borrowed.

use std::hint::select_unpredictable;

use crate::finding::Span;

include!(concat!(env!("OUT_DIR"), "/fold_table.rs"));

/// How many bytes of the original lie between two marks, about. What is between them is folded again to find a place.
const STEP: usize = 256;

/// A text in its form for matching, and the way back to the original.
#[derive(Clone, Debug)]
pub(crate) struct Folded<'text> {
    original: &'text str,
    /// The folded text; none when nothing folds. Bytes, because telling that they are text takes as long as folding, and
    /// hardly any of them are asked for as such.
    bytes: Option<Vec<u8>>,
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
            return Self { original, bytes: None, marks: Vec::new() };
        };
        let mut bytes = Vec::with_capacity(original.len());
        bytes.extend_from_slice(original.as_bytes().get(..start).unwrap_or_default());
        let mut marks = Vec::with_capacity((original.len() - start) / STEP + 2);
        marks.push(Mark { original: start, folded: start });
        let mut block = Block::default();
        let mut at = start;
        while at < original.len() {
            at = block.step(original, at, &mut bytes);
            marks.push(Mark { original: at, folded: bytes.len() });
        }
        Self { original, bytes: Some(bytes), marks }
    }

    /// The text to match in. Takes time when something was folded; to be asked for once.
    pub(crate) fn text(&self) -> &str {
        match &self.bytes {
            None => self.original,
            Some(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
        }
    }

    /// The text to match in, where nothing had to be folded.
    pub(crate) fn unchanged(&self) -> Option<&'text str> {
        self.bytes.is_none().then_some(self.original)
    }

    /// The text to match in, as bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or(self.original.as_bytes())
    }

    /// Where a span of the folded text lies in the original. What covers part of a replaced character covers all of it.
    pub(crate) fn to_original(&self, span: Span) -> Span {
        if self.bytes.is_none() {
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

/// How many bytes the longest character of a chunk has.
enum Reach {
    /// One.
    Ascii,
    /// One or two.
    Narrow,
    /// More.
    Wide,
}

impl Reach {
    /// All bytes of a chunk are asked at once.
    fn of(window: &[u8; WINDOW]) -> Self {
        let (words, _) = window.as_chunks::<8>();
        let (mut any, mut wide) = (0, 0);
        for word in words.iter().take(CHUNK / 8).map(|word| u64::from_le_bytes(*word)) {
            any |= word;
            wide |= word & word << 1 & word << 2;
        }
        match (any & HIGH, wide & HIGH) {
            (0, _) => Self::Ascii,
            (_, 0) => Self::Narrow,
            _ => Self::Wide,
        }
    }
}

/// A few characters in their form for matching, kept to be used again.
struct Block {
    bytes: [u8; Self::SIZE],
    length: usize,
}

impl Default for Block {
    fn default() -> Self {
        Self { bytes: [0; Self::SIZE], length: 0 }
    }
}

/// How many bytes are looked at in one go, with those behind them that the last character may need.
const CHUNK: usize = 32;
const WINDOW: usize = CHUNK + 3 + 8;
/// The bits that ASCII has not.
const HIGH: u64 = 0x8080_8080_8080_8080;
/// How many bytes a chunk can become, and then some: one less than a power of two, so that no place needs to be checked.
const MOST: usize = 127;
/// How many bytes a character can become, or a bit of the text that is written in one go.
const LONGEST: usize = 8;
const _: () = assert!((CHUNK + 3) * 3 <= MOST && (CHUNK + 3) / 3 * LONGEST <= MOST, "a chunk does not fit");

impl Block {
    /// Every two bytes of a step may become the longest replacement.
    const SIZE: usize = STEP * 4 + 256;

    /// Folds some characters of `original` from `at` on to the end of `folded`; how far it came.
    fn step(&mut self, original: &str, at: usize, folded: &mut Vec<u8>) -> usize {
        let rest = original.as_bytes().get(at..).unwrap_or_default();
        if let Some(plain) = rest.get(..STEP).filter(|block| block.is_ascii()) {
            folded.extend_from_slice(plain);
            return at + STEP;
        }
        let end = original.ceil_char_boundary(original.len().min(at + STEP));
        self.length = 0;
        let mut next = at;
        while next < end {
            next += self.fold(original.as_bytes(), next, end);
        }
        folded.extend_from_slice(self.bytes.get(..self.length).unwrap_or_default());
        end
    }

    /// Folds a chunk of `bytes` from `at` on, not beyond `end`; how far it came.
    fn fold(&mut self, bytes: &[u8], at: usize, end: usize) -> usize {
        let rest = bytes.get(at..).unwrap_or_default();
        let mut padded = [0; WINDOW];
        let window = rest.first_chunk::<WINDOW>().unwrap_or_else(|| {
            padded.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
            &padded
        });
        let length = CHUNK.min(end - at);
        let reach = if length == CHUNK { Reach::of(window) } else { Reach::Wide };
        match reach {
            Reach::Ascii => {
                let free = self.bytes.get_mut(self.length..).and_then(|free| free.first_chunk_mut());
                if let Some(free) = free {
                    *free = *window;
                }
                self.length += CHUNK;
            }
            Reach::Narrow => self.fold_narrow(window),
            Reach::Wide => return self.fold_wide(window, length),
        }
        CHUNK
    }

    /// Folds a chunk of characters of one and two bytes. In some scripts every other letter looks like a Latin one, so
    /// nothing may depend on a branch that says which: four bytes are written for every byte, and as many counted as it
    /// stands for.
    fn fold_narrow(&mut self, window: &[u8; WINDOW]) {
        let Some(free) = self.free() else { return };
        let mut written = 0;
        for (first, second) in window.iter().zip(window.iter().skip(1)).take(CHUNK) {
            let entry = narrow(*first, *second);
            put(free, written, entry.to_le_bytes());
            written += (entry >> 24) as usize;
        }
        self.length += written;
    }

    /// Folds the first `length` bytes of a chunk and what they begin; how many bytes that are. Which characters fold is as
    /// hard to foretell as where the spaces between words are; in which script the next one is mostly is not.
    fn fold_wide(&mut self, window: &[u8; WINDOW], length: usize) -> usize {
        let Some(free) = self.free() else { return length };
        let (mut done, mut written) = (0, 0);
        while done < length {
            let Some(next) = window.get(done..).and_then(|rest| rest.first_chunk::<4>()) else { break };
            let [first, second, ..] = *next;
            if let 0x80..0xe0 = first {
                let entry = narrow(first, second);
                put(free, written, entry.to_le_bytes());
                written += (entry >> 24) as usize;
                done += 1;
                continue;
            }
            if first >= 0xe0 {
                let (code, width) = decoded(*next);
                let place = place_of(code);
                let kept = u32::from_le_bytes(*next);
                let entry = select_unpredictable(place == 0, kept, u32::from(place & 0x7f));
                put(free, written, entry.to_le_bytes());
                done += width;
                if place & LONGER == 0 {
                    written += select_unpredictable(place == 0, width, single(place));
                } else {
                    let mut ascii = [0; LONGEST];
                    ascii.iter_mut().zip(longer(place).bytes()).for_each(|(slot, byte)| *slot = byte);
                    put(free, written, ascii);
                    written += longer(place).len();
                }
            }
            let Some(next) = window.get(done..).and_then(|rest| rest.first_chunk::<8>()) else { break };
            let plain = ascii_length(*next).min(length.saturating_sub(done));
            put(free, written, *next);
            written += plain;
            done += plain;
        }
        self.length += written;
        done
    }

    /// Where a chunk is written to.
    fn free(&mut self) -> Option<&mut [u8; MOST + LONGEST]> {
        self.bytes.get_mut(self.length..).and_then(|free| free.first_chunk_mut())
    }
}

/// Writes some bytes at a place that is below [`MOST`].
#[inline]
fn put<const N: usize>(free: &mut [u8; MOST + LONGEST], place: usize, bytes: [u8; N]) {
    let place = place & MOST;
    if let Some(slot) = free.get_mut(place..place + N) {
        slot.copy_from_slice(&bytes);
    }
}

/// How many ASCII characters start some bytes.
fn ascii_length(bytes: [u8; 8]) -> usize {
    (u64::from_le_bytes(bytes) & HIGH).trailing_zeros() as usize / 8
}

/// What becomes of a byte of a character of one or two bytes, before `second`.
#[inline]
fn narrow(first: u8, second: u8) -> u32 {
    let start = STARTS.get(usize::from(first)).copied().unwrap_or_default();
    let place = (start & 0xffff) + (u32::from(second) & start >> 16);
    NARROW.get(place as usize & 0xfff).copied().unwrap_or_default()
}

/// The character of three or four bytes that starts a text, as a number, and how many bytes it takes.
fn decoded(bytes: [u8; 4]) -> (u32, usize) {
    let [first, second, third, fourth] = bytes.map(u32::from);
    match first {
        0..0xf0 => ((first & 0xf) << 12 | (second & 0x3f) << 6 | third & 0x3f, 3),
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
