//! The words around a place in a text, within bounds.

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

/// The next words to one side, nearest first, up to the end of the sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'text> {
    words: [Word<'text>; MOST],
    count: usize,
}

impl<'text> Words<'text> {
    /// The words from byte `from` on.
    pub(super) fn after(text: &'text str, from: usize) -> Self {
        let mut found = Self { words: [Word::default(); MOST], count: 0 };
        let limit = text.len().min(from + REACH);
        let bytes = text.as_bytes().get(..limit).unwrap_or_default();
        let mut at = from;
        while found.count < MOST {
            let start = gap_end(bytes, at);
            let gap = classify(text.as_bytes().get(at..start).unwrap_or_default());
            if start >= limit || gap == Gap::Break {
                break;
            }
            at = start + word_length(bytes.get(start..).unwrap_or_default());
            let Some(word) = text.get(start..at) else { break };
            found.push(Word { text: word, start, end: at, gap });
        }
        found
    }

    /// The words that end at or before byte `to`.
    pub(super) fn before(text: &'text str, to: usize) -> Self {
        let mut found = Self { words: [Word::default(); MOST], count: 0 };
        let limit = to.saturating_sub(REACH);
        let mut at = to;
        while found.count < MOST {
            let bytes = text.as_bytes().get(limit..at).unwrap_or_default();
            let end = at - bytes.iter().rev().take_while(|byte| !is_word_byte(**byte)).count();
            let gap = classify(text.as_bytes().get(end..at).unwrap_or_default());
            if end <= limit || gap == Gap::Break {
                break;
            }
            let bytes = text.as_bytes().get(limit..end).unwrap_or_default();
            at = end - bytes.iter().rev().take_while(|byte| is_word_byte(**byte) || **byte == b'\'').count();
            let start = at + usize::from(is_break_escape(text.as_bytes(), at) && end - at > 1);
            let Some(word) = text.get(start..end) else { break };
            found.push(Word { text: word.trim_start_matches('\''), start, end, gap });
        }
        found
    }

    fn push(&mut self, word: Word<'text>) {
        if let Some(slot) = self.words.get_mut(self.count) {
            *slot = word;
            self.count += 1;
        }
    }

    /// The words.
    pub(super) fn as_slice(&self) -> &[Word<'text>] {
        self.words.get(..self.count).unwrap_or_default()
    }

    /// The word at a place, the nearest being 0.
    pub(super) fn get(&self, at: usize) -> Option<&Word<'text>> {
        self.as_slice().get(at)
    }

    /// Whether the word at a place is one of `words`.
    pub(super) fn is(&self, at: usize, words: &[&str]) -> bool {
        self.get(at).is_some_and(|word| word.is(words))
    }

    /// Where, among the first `within` words, one of `words` is.
    pub(super) fn find(&self, within: usize, words: &[&str]) -> Option<usize> {
        self.as_slice().iter().take(within).position(|word| word.is(words))
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
