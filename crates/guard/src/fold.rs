//! The form of a text in which look-alikes are what a person reads; for matching, never for output.
//!
//! Full-width and mathematical letters, Cyrillic and Greek twins of Latin letters, circled letters and odd spaces become
//! ASCII; what is not seen (zero-width characters, combining marks, tags) disappears. Text that is ASCII, or has nothing
//! to fold, is borrowed.

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
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let (words, _) = window.as_chunks::<8>();
        let (mut any, mut wide) = (0, 0);
        for word in words.iter().map(|word| u64::from_le_bytes(*word)) {
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
const WINDOW: usize = CHUNK + 3;

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
                self.write(window);
                self.length += CHUNK;
            }
            Reach::Narrow => self.fold_narrow(window),
            Reach::Wide => {
                let mut done = 0;
                while done < length {
                    done += self.fold_wide(window, done);
                }
                return done;
            }
        }
        CHUNK
    }

    /// Folds a chunk of characters of one and two bytes. In some scripts every other letter looks like a Latin one, so
    /// nothing may depend on a branch that says which: four bytes are written for every byte, and as many counted as it
    /// stands for.
    fn fold_narrow(&mut self, window: &[u8; WINDOW]) {
        const MOST: usize = 127;
        const _: () = assert!(CHUNK * 3 <= MOST, "every byte may become three");
        let free = self.bytes.get_mut(self.length..).unwrap_or_default();
        let Some(free) = free.first_chunk_mut::<{ MOST + 4 }>() else { return };
        let mut written = 0;
        for (first, second) in window.iter().zip(window.iter().skip(1)).take(CHUNK) {
            let entry = narrow(*first, *second);
            let place = written & MOST;
            if let Some(slot) = free.get_mut(place..place + 4) {
                slot.copy_from_slice(&entry.to_le_bytes());
            }
            written += (entry >> 24) as usize;
        }
        self.length += written;
    }

    /// Folds the character at `at`, or passes over a byte inside of one; how many bytes it has.
    fn fold_wide(&mut self, window: &[u8; WINDOW], at: usize) -> usize {
        let Some(next) = window.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { return WINDOW };
        let [first, second, ..] = *next;
        if first < 0xe0 {
            let entry = narrow(first, second);
            self.write(&entry.to_le_bytes());
            self.length += (entry >> 24) as usize;
            return 1;
        }
        let (code, width) = decoded(*next);
        match place_of(code) {
            0 => {
                self.write(next);
                self.length += width;
            }
            place if place & LONGER != 0 => {
                let ascii = longer(place).as_bytes();
                let free = self.bytes.get_mut(self.length..).unwrap_or_default();
                free.iter_mut().zip(ascii).for_each(|(slot, byte)| *slot = *byte);
                self.length += ascii.len();
            }
            place => {
                self.write(&[(place & 0x7f) as u8]);
                self.length += single(place);
            }
        }
        width
    }

    /// Writes `bytes` behind what counts already; they do not count yet.
    #[inline]
    fn write<const N: usize>(&mut self, bytes: &[u8; N]) {
        let free = self.bytes.get_mut(self.length..).and_then(|free| free.first_chunk_mut::<N>());
        if let Some(free) = free {
            *free = *bytes;
        }
    }
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
