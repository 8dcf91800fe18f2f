//! What is known about a paragraph as a whole.

use super::script::is_right_to_left;

/// A paragraph, as far as invisible characters in it depend on the rest of it.
#[derive(Debug, Default)]
pub(super) struct Paragraph {
    start: usize,
    end: usize,
    /// Whether it has letters that are written from right to left.
    pub(super) right_to_left: bool,
    /// Whether it has braille other than blank cells.
    pub(super) braille: bool,
    /// Where the direction characters are that have a partner, in order.
    paired: Vec<usize>,
}

/// A stretch of another direction that has not ended yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    at: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Isolate,
    Embedding,
    /// Never stays, and takes its end along.
    Override,
}

impl Paragraph {
    /// The paragraph of `text` around `at`. Takes time linear in its length, so callers keep it while they are in it.
    pub(super) fn around(text: &str, at: usize) -> Self {
        let is_break = |character| matches!(character, '\n' | '\r' | '\u{2029}');
        let start = text.get(..at).unwrap_or_default().rfind(is_break).unwrap_or(0);
        let end = text.get(at..).unwrap_or_default().find(is_break).map_or(text.len(), |length| at + length);
        let mut paragraph = Self { start, end, ..Self::default() };
        let inside = text.get(start..end).unwrap_or_default();
        paragraph.right_to_left = inside.chars().any(is_right_to_left);
        paragraph.braille = inside.contains(|character| matches!(character, '\u{2801}'..='\u{28ff}'));
        if paragraph.right_to_left {
            paragraph.paired = pairs(inside, start);
        }
        paragraph
    }

    /// Whether `at` lies in it.
    pub(super) fn contains(&self, at: usize) -> bool {
        (self.start..self.end).contains(&at)
    }

    /// Whether the direction character at `at` has a partner, and right-to-left text to be there for.
    pub(super) fn pairs(&self, at: usize) -> bool {
        self.paired.binary_search(&at).is_ok()
    }
}

/// Where in a paragraph that starts at `start` isolates and embeddings are properly nested, in order.
fn pairs(paragraph: &str, start: usize) -> Vec<usize> {
    let mut open: Vec<Open> = Vec::new();
    let mut isolates = 0_usize;
    let mut paired = Vec::new();
    for (offset, character) in paragraph.char_indices() {
        let at = start + offset;
        match character {
            '\u{2066}'..='\u{2068}' => {
                isolates += 1;
                open.push(Open { at, kind: Kind::Isolate });
            }
            '\u{202a}' | '\u{202b}' => open.push(Open { at, kind: Kind::Embedding }),
            '\u{202d}' | '\u{202e}' => open.push(Open { at, kind: Kind::Override }),
            // The end of an isolate also ends what was opened in it, which then has no partner.
            '\u{2069}' if isolates > 0 => {
                isolates -= 1;
                while let Some(last) = open.pop() {
                    if last.kind == Kind::Isolate {
                        paired.extend([last.at, at]);
                        break;
                    }
                }
            }
            '\u{202c}' => match open.last().copied() {
                Some(Open { kind: Kind::Isolate, .. }) | None => {}
                Some(last) => {
                    open.pop();
                    if last.kind == Kind::Embedding {
                        paired.extend([last.at, at]);
                    }
                }
            },
            _ => {}
        }
    }
    paired.sort_unstable();
    paired
}
