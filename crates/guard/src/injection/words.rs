//! The words around a place in a text, within bounds.

use std::cell::{Cell, OnceCell};

use crate::finding::Span;

/// How many bytes to one side are looked at. Phrases are shorter; what is longer must not make the search slower.
const REACH: usize = 320;
/// How many words to one side are looked at.
const MOST: usize = 14;

/// What stands before a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Gap {
    /// Space, a line break, light punctuation or markup.
    #[default]
    Plain,
    /// A single character that joins words to a name, as in `ignore_all`.
    Joined,
    /// The end of a sentence or paragraph, or a sign of code.
    Break,
}

/// A word and where it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word<'text> {
    pub(super) text: &'text str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// What separates it from the word that is nearer to where the search began.
    pub(super) gap: Gap,
}

impl Word<'_> {
    /// Whether it is one of `words`, in any case.
    pub(super) fn is(&self, words: &[&str]) -> bool {
        words.iter().any(|word| word.eq_ignore_ascii_case(self.text))
    }

    /// Whether it starts with one of `stems`, in any case.
    pub(super) fn starts_with(&self, stems: &[&str]) -> bool {
        stems.iter().any(|stem| {
            self.text
                .as_bytes()
                .get(..stem.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(stem.as_bytes()))
        })
    }
}

/// The next words to one side, nearest first, up to the end of the sentence. They are read when they are asked for: most
/// matchers know after one or two that theirs is not the phrase.
#[derive(Clone, Debug)]
pub(super) struct Words<'text> {
    text: &'text str,
    side: Side,
    /// How far may be looked.
    limit: usize,
    /// Where the next word is looked for, unless there is no more.
    next: Cell<Option<usize>>,
    count: Cell<usize>,
    words: [OnceCell<Word<'text>>; MOST],
}

#[derive(Clone, Copy, Debug)]
enum Side {
    Before,
    After,
}

impl<'text> Words<'text> {
    /// The words from byte `from` on.
    pub(super) fn after(text: &'text str, from: usize) -> Self {
        Self::new(text, Side::After, from, text.len().min(from + REACH))
    }

    /// The words that end at or before byte `to`.
    pub(super) fn before(text: &'text str, to: usize) -> Self {
        Self::new(text, Side::Before, to, to.saturating_sub(REACH))
    }

    fn new(text: &'text str, side: Side, at: usize, limit: usize) -> Self {
        let words = [const { OnceCell::new() }; MOST];
        Self { text, side, limit, next: Cell::new(Some(at)), count: Cell::new(0), words }
    }

    /// The word from byte `at` on, and where the next is looked for.
    fn read_after(&self, at: usize) -> Option<(Word<'text>, usize)> {
        let bytes = self.text.as_bytes().get(..self.limit).unwrap_or_default();
        let start = gap_end(bytes, at);
        let gap = classify(self.text.as_bytes().get(at..start).unwrap_or_default());
        if start >= self.limit || gap == Gap::Break {
            return None;
        }
        let end = start + word_length(bytes.get(start..).unwrap_or_default());
        Some((Word { text: self.text.get(start..end)?, start, end, gap }, end))
    }

    /// The word that ends at or before byte `at`, and where the next is looked for.
    fn read_before(&self, at: usize) -> Option<(Word<'text>, usize)> {
        let all = self.text.as_bytes();
        let bytes = all.get(self.limit..at).unwrap_or_default();
        let end = at - bytes.iter().rev().take_while(|byte| !is_word_byte(**byte)).count();
        let gap = classify(all.get(end..at).unwrap_or_default());
        if end <= self.limit || gap == Gap::Break {
            return None;
        }
        let bytes = all.get(self.limit..end).unwrap_or_default();
        let at = end - bytes.iter().rev().take_while(|byte| is_word_byte(**byte) || **byte == b'\'').count();
        let start = at + usize::from(is_break_escape(all, at) && end - at > 1);
        let text = self.text.get(start..end)?.trim_start_matches('\'');
        Some((Word { text, start, end, gap }, at))
    }

    /// Reads one word more.
    fn read(&self) -> Option<()> {
        let at = self.next.take()?;
        let slot = self.words.get(self.count.get())?;
        let (word, next) = match self.side {
            Side::Before => self.read_before(at),
            Side::After => self.read_after(at),
        }?;
        slot.set(word).ok()?;
        self.next.set(Some(next));
        self.count.set(self.count.get() + 1);
        Some(())
    }

    /// The words.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Word<'text>> + Clone {
        (0..MOST).map_while(|at| self.get(at))
    }

    /// The word at a place, the nearest being 0.
    pub(super) fn get(&self, at: usize) -> Option<&Word<'text>> {
        while self.count.get() <= at {
            self.read()?;
        }
        self.words.get(at)?.get()
    }

    /// Whether the word at a place is one of `words`.
    pub(super) fn is(&self, at: usize, words: &[&str]) -> bool {
        self.get(at).is_some_and(|word| word.is(words))
    }

    /// Where, among the first `within` words, one of `words` is.
    pub(super) fn find(&self, within: usize, words: &[&str]) -> Option<usize> {
        self.iter().take(within).position(|word| word.is(words))
    }
}

/// The whole word at a place in the text where one is known to start.
pub(super) fn word_at(text: &str, start: usize) -> Word<'_> {
    let limit = text.len().min(start + REACH);
    let end = start + word_length(text.as_bytes().get(start..limit).unwrap_or_default());
    Word { text: text.get(start..end).unwrap_or_default(), start, end, gap: Gap::Plain }
}

/// Whether a word could start at `at`: no letter or digit is directly before it, unless it belongs to a `\n`.
pub(super) fn starts_word(text: &str, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    text.as_bytes().get(before).is_none_or(|byte| !byte.is_ascii_alphanumeric())
        || is_break_escape(text.as_bytes(), before)
}

/// Whether the letter at `at` belongs to a line break or tab as strings in code spell them, which separates words.
fn is_break_escape(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at), Some(b'n' | b'r' | b't'))
        && at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'\\')
}

/// Where the gap between words ends that starts at `at`.
fn gap_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at += count_while(bytes.get(at..), |byte| !is_word_byte(byte));
        if !is_break_escape(bytes, at) {
            return at;
        }
        at += 1;
    }
}

/// Letters, digits, and all of what is not ASCII.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// The line that holds `span`, at most `reach` bytes to either side, at character boundaries.
pub(super) fn line_around(text: &str, span: Span, reach: usize) -> Span {
    let from = text.floor_char_boundary(span.start.saturating_sub(reach));
    let to = text.ceil_char_boundary(text.len().min(span.end + reach));
    let before = text.as_bytes().get(from..span.start).unwrap_or_default();
    let after = text.as_bytes().get(span.end..to).unwrap_or_default();
    let start = memchr::memrchr(b'\n', before).map_or(from, |at| from + at + 1);
    let end = memchr::memchr(b'\n', after).map_or(to, |at| span.end + at);
    Span::new(start, end)
}

fn word_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let apostrophe =
            *byte == b'\'' && length > 0 && bytes.get(length + 1).is_some_and(u8::is_ascii_alphabetic);
        if !is_word_byte(*byte) && !apostrophe {
            break;
        }
        length += 1;
    }
    length
}

fn count_while(bytes: Option<&[u8]>, wanted: impl Fn(u8) -> bool) -> usize {
    bytes.unwrap_or_default().iter().take_while(|byte| wanted(**byte)).count()
}

fn classify(gap: &[u8]) -> Gap {
    if matches!(gap, [b'_' | b'-' | b'/' | b'.' | b'|' | b';' | b'=' | b'~']) {
        return Gap::Joined;
    }
    let ends_sentence =
        |pair: &[u8]| matches!(pair, [b'.' | b'!' | b'?', after] if after.is_ascii_whitespace());
    let code = gap.iter().any(|byte| matches!(byte, b';' | b'{' | b'}' | b'=' | b'|'));
    let paragraphs = gap.iter().filter(|byte| **byte == b'\n').count() > 1;
    if code || paragraphs || gap.windows(2).any(ends_sentence) { Gap::Break } else { Gap::Plain }
}
