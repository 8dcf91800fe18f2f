//! The form of a text in which look-alikes are what a person reads; for matching, never for output.
//!
//! Full-width and mathematical letters, Cyrillic and Greek twins of Latin letters, circled letters and odd spaces become
//! ASCII; what is not seen (zero-width characters, combining marks, tags) disappears. Text that is ASCII, or has nothing
//! to fold, is borrowed.

use std::hint::select_unpredictable;
use std::ops::Range;

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
            Some(bytes) => simdutf8::basic::from_utf8(bytes).unwrap_or_default(),
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

/// One bit for each byte of a chunk: whether a character of more than one byte starts there.
fn leads(window: &[u8; WINDOW]) -> u64 {
    let (words, _) = window.as_chunks::<8>();
    let lead = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        ((word & word << 1 & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    };
    words.iter().take(CHUNK / 8).rev().fold(0, |all, word| all << 8 | lead(word))
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

/// How many bytes are looked at in one go, with those behind them that the last character may need, or a copy.
const CHUNK: usize = 64;
const WINDOW: usize = CHUNK + 3 + COPY;
/// How many bytes are copied in one go.
const COPY: usize = 16;
/// The bits that ASCII has not.
const HIGH: u64 = 0x8080_8080_8080_8080;
/// How many bytes a chunk can become, and then some: one less than a power of two, so that no place needs to be checked.
const MOST: usize = 255;
/// How many bytes a character can become.
const LONGEST: usize = 8;
const _: () = assert!((CHUNK + 3) * 3 <= MOST && LONGEST <= 9, "a chunk does not fit");

impl Block {
    /// A step may become three times as long, and the last chunk of it needs its room.
    const SIZE: usize = (STEP + 3) * 3 + MOST + COPY;

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
        let Some(free) = self.free() else { return length };
        let (done, written) = fold_chunk(window, length, free);
        self.length += written;
        done
    }

    /// Where a chunk is written to.
    fn free(&mut self) -> Option<&mut Free> {
        self.bytes.get_mut(self.length..).and_then(|free| free.first_chunk_mut())
    }
}

/// Room for a chunk, and for what is written too much in one go.
type Free = [u8; MOST + COPY];

/// Folds the first `length` bytes of a chunk and what they begin; how many bytes that are, and how many they became.
///
/// Nobody can foretell where the spaces between words are, or in some scripts which letters look like Latin ones or are
/// marks, so neither is asked: what stands in front of such a character is copied even where there is nothing, and as much
/// is counted as there is. In which script the next character is can mostly be foretold.
fn fold_chunk(window: &[u8; WINDOW], length: usize, free: &mut Free) -> (usize, usize) {
    let mut leads = leads(window) & u64::MAX >> (CHUNK - length);
    let (mut done, mut end, mut written) = (0, 0, 0);
    while leads != 0 {
        let at = leads.trailing_zeros() as usize;
        leads &= leads - 1;
        let Some(next) = window.get(at..).and_then(|rest| rest.first_chunk::<4>()) else { break };
        // Without the two bits that every such byte has: 0x20 starts one of three bytes, 0x30 one of four.
        let [first, second, third, fourth] = next.map(|byte| u32::from(byte & 0x3f));
        if first < 0x20 {
            let entry = NARROW.get((first << 6 | second) as usize).copied().unwrap_or_default();
            written = copy(window, done..at, free, written);
            put(free, written, entry.to_le_bytes());
            written += (entry >> 24) as usize;
            (done, end) = (at + 2, at + 2);
            continue;
        }
        let (code, width) = match first {
            0x20..0x30 => ((first & 0xf) << 12 | second << 6 | third, 3),
            _ => ((first & 7) << 18 | second << 12 | third << 6 | fourth, 4),
        };
        let place = place_of(code);
        end = at + width;
        // Marks are in the scripts of India; elsewhere hardly any character folds, and what stays is copied together.
        if first != 0x20 && place == 0 {
            continue;
        }
        written = copy(window, done..at, free, written);
        written += put_place(free, written, *next, width, place);
        done = end;
    }
    end = end.max(length);
    (end, copy(window, done..end, free, written))
}

/// Writes what becomes of a character of three or four bytes; how many bytes that are.
#[inline]
fn put_place(free: &mut Free, written: usize, bytes: [u8; 4], width: usize, place: u16) -> usize {
    if place & LONGER != 0 {
        let mut ascii = [0; LONGEST];
        ascii.iter_mut().zip(longer(place).bytes()).for_each(|(slot, byte)| *slot = byte);
        put(free, written, ascii);
        return longer(place).len();
    }
    let kept = u32::from_le_bytes(bytes);
    let entry = select_unpredictable(place == 0, kept, u32::from(place & 0x7f));
    put(free, written, entry.to_le_bytes());
    select_unpredictable(place == 0, width, single(place))
}

/// Copies bytes of a chunk, and some more; where they end.
#[inline]
fn copy(window: &[u8; WINDOW], bytes: Range<usize>, free: &mut Free, written: usize) -> usize {
    let mut copied = 0;
    loop {
        let run = window.get(bytes.start + copied..).and_then(|rest| rest.first_chunk::<COPY>());
        put(free, written + copied, run.copied().unwrap_or_default());
        copied += COPY;
        if bytes.start + copied >= bytes.end {
            return written + (bytes.end - bytes.start);
        }
    }
}

/// Writes some bytes at a place that is below [`MOST`].
#[inline]
fn put<const N: usize>(free: &mut Free, place: usize, bytes: [u8; N]) {
    let place = place & MOST;
    if let Some(slot) = free.get_mut(place..place + N) {
        slot.copy_from_slice(&bytes);
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
