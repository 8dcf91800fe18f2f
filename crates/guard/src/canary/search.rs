//! Looks for several texts at once, in characters that come one by one.
//!
//! The last eight characters are one number, so that a bitmap says at once whether any text can end here. That costs
//! nothing to build, which an automaton over some hundred texts does; a hook has a millisecond for everything.

use std::cmp::Reverse;

use super::forms::Form;
use super::stream::Read;
use crate::finding::Span;

/// The shortest text that can be looked for.
const SHORTEST: usize = 8;
/// The widest gap between two characters of a text, in bytes. What is further apart was not one text.
const WIDEST_GAP: usize = 256;

/// Texts to look for.
pub(super) struct Search {
    /// Each with its last eight characters as a number, by number and then longest first.
    texts: Vec<(u64, Vec<u8>, Form)>,
    /// One bit for each number, folded to twelve bits.
    ends: [u64; 64],
    /// The length of the longest text.
    longest: usize,
}

/// Which bit stands for the last eight characters.
const fn place(last: u64) -> (usize, u32) {
    let folded = last.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    ((folded >> 6) as usize, (folded & 63) as u32)
}

fn number(end: &[u8]) -> u64 {
    end.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Search {
    /// None when there is nothing to look for.
    pub(super) fn new(texts: Vec<(Vec<u8>, Form)>) -> Option<Self> {
        let end = |text: &[u8]| text.len().checked_sub(SHORTEST).and_then(|at| text.get(at..)).map(number);
        let mut texts: Vec<_> =
            texts.into_iter().filter_map(|(text, form)| Some((end(&text)?, text, form))).collect();
        texts.sort_by_key(|(end, text, _)| (*end, Reverse(text.len())));
        let longest = texts.iter().map(|(_, text, _)| text.len()).max()?;
        let mut ends = [0; 64];
        for (end, _, _) in &texts {
            let (word, bit) = place(*end);
            if let Some(word) = ends.get_mut(word) {
                *word |= 1 << bit;
            }
        }
        Some(Self { texts, ends, longest })
    }

    /// Reads all characters and notes where a text ends.
    pub(super) fn run(&self, reads: impl Iterator<Item = Read>, leaks: &mut Vec<(Span, Form)>) {
        let (mut last, mut last_end) = (0, 0);
        let mut recent = Recent::new(self.longest);
        for read in reads {
            if read.span.start.saturating_sub(last_end) > WIDEST_GAP {
                (last, recent.count) = (0, 0);
            }
            last_end = read.span.end;
            last = last << 8 | u64::from(read.byte);
            recent.push(read);
            let (word, bit) = place(last);
            if self.ends.get(word).is_some_and(|word| word >> bit & 1 != 0)
                && let Some((begin, form)) = self.ending_here(last, &recent)
            {
                note(leaks, Span::new(begin, last_end), form);
            }
        }
    }

    /// Where the longest text that ends with the last character begins.
    fn ending_here(&self, last: u64, recent: &Recent) -> Option<(usize, Form)> {
        let first = self.texts.partition_point(|(end, _, _)| *end < last);
        let candidates = self.texts.get(first..)?.iter().take_while(|(end, _, _)| *end == last);
        candidates.into_iter().find_map(|(_, text, form)| Some((recent.begin_of(text)?, *form)))
    }
}

/// The last characters and where each is written.
struct Recent {
    ring: Vec<Read>,
    count: usize,
}

impl Recent {
    fn new(longest: usize) -> Self {
        // A power of two, so that wrapping around is a mask and not a division.
        let nothing = Read { byte: 0, span: Span::new(0, 0) };
        Self { ring: vec![nothing; longest.next_power_of_two()], count: 0 }
    }

    fn push(&mut self, read: Read) {
        let at = self.count & (self.ring.len() - 1);
        if let Some(slot) = self.ring.get_mut(at) {
            *slot = read;
        }
        self.count += 1;
    }

    /// Where `text` begins, if it is what was read last.
    fn begin_of(&self, text: &[u8]) -> Option<usize> {
        let first = self.count.checked_sub(text.len())?;
        let read = |at: usize| self.ring.get((first + at) & (self.ring.len() - 1));
        let same = text.iter().enumerate().all(|(at, byte)| read(at).is_some_and(|read| read.byte == *byte));
        same.then(|| read(0).map(|read| read.span.start))?
    }
}

/// Notes a leak, or makes the last one longer: a text that repeats a token must not cost more memory than it has itself.
fn note(leaks: &mut Vec<(Span, Form)>, span: Span, form: Form) {
    match leaks.last_mut() {
        Some((last, _)) if last.start <= span.start && span.start < last.end => {
            last.end = last.end.max(span.end);
        }
        Some(_) | None => leaks.push((span, form)),
    }
}
