//! The part of a line around a finding, fit to be shown.

use std::ops::Range;

use fullsend_guard::{Edit, Span, visible};
use unicode_width::UnicodeWidthStr as _;

/// How many columns stand in front of what is marked, at most.
const LEAD: usize = 32;
/// How many columns are shown, at most.
const WIDEST: usize = 96;
/// How much of the text is looked at on each side; enough for the columns above, whatever the characters.
const REACH: usize = 512;

/// Part of a line, with everything visible that hides and everything masked that is secret.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// What is shown.
    pub(super) text: String,
    /// The columns of it that are marked, from 0.
    pub(super) marked: Range<usize>,
}

/// A character or a mask as it is shown.
struct Piece {
    shown: String,
    width: usize,
    marked: bool,
}

impl Excerpt {
    /// The line of the start of `span`, cut around it. `masks` are changes to `text` in order, none of
    /// which covers nothing.
    pub(super) fn new(text: &str, span: Span, masks: &[&Edit]) -> Self {
        let window = window(text, span);
        let pieces = pieces(text, window.clone(), span, masks);
        let first = pieces.iter().position(|piece| piece.marked).unwrap_or(pieces.len());
        let (skip, cut_front) = skipped(&pieces, first);
        let mut excerpt = Self { text: String::new(), marked: 0..0 };
        let mut column = 0;
        let cut_front = cut_front
            || text.get(..window.start).is_some_and(|before| !before.ends_with('\n') && !before.is_empty());
        if cut_front {
            excerpt.text.push('…');
            column = 1;
        }
        let mut marked: Option<Range<usize>> = None;
        for piece in pieces.iter().skip(skip) {
            if column + piece.width > WIDEST && marked.is_some() {
                excerpt.text.push('…');
                break;
            }
            if piece.marked {
                let start = marked.map_or(column, |marked| marked.start);
                marked = Some(start..column + piece.width);
            }
            excerpt.text.push_str(&piece.shown);
            column += piece.width;
        }
        excerpt.marked = marked.unwrap_or(column..column);
        excerpt.marked.end = excerpt.marked.end.max(excerpt.marked.start + 1);
        excerpt
    }
}

/// The bytes around the start of `span` on its line, at character boundaries.
fn window(text: &str, span: Span) -> Range<usize> {
    let near = text.floor_char_boundary(span.start.saturating_sub(REACH));
    let before = text.get(near..span.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(near, |at| near + at + 1);
    let far = text.ceil_char_boundary(span.start.saturating_add(REACH).min(text.len()));
    let after = text.get(span.start..far).unwrap_or_default();
    let end = after.find('\n').map_or(far, |at| span.start + at);
    let line_end = if text.get(start..end).is_some_and(|line| line.ends_with('\r')) { end - 1 } else { end };
    // A finding that is the end of the line itself is shown with it.
    start..if span.start >= line_end { end } else { line_end }
}

fn pieces(text: &str, window: Range<usize>, span: Span, masks: &[&Edit]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut next_mask = masks.partition_point(|mask| mask.span.end <= window.start);
    let mut at = window.start;
    while at < window.end {
        let mask = masks.get(next_mask).filter(|mask| mask.span.start <= at);
        let (shown, end) = match mask {
            Some(mask) => {
                next_mask += 1;
                (visible(&mask.replacement).into_owned(), mask.span.end.max(at + 1))
            }
            None => {
                let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
                let end = at + character.len_utf8();
                (show(character, text.get(at..end).unwrap_or_default()), end)
            }
        };
        let marked = Span::new(at, end).overlaps(span);
        pieces.push(Piece { width: shown.width(), shown, marked });
        at = end;
    }
    pieces
}

fn show(character: char, text: &str) -> String {
    match character {
        '\t' => "    ".to_owned(),
        _ => visible(text).into_owned(),
    }
}

/// How many pieces are left out so that the marked one is not far from the start, and whether any are.
fn skipped(pieces: &[Piece], first: usize) -> (usize, bool) {
    if pieces.iter().map(|piece| piece.width).sum::<usize>() <= WIDEST {
        return (0, false);
    }
    let mut lead = 0;
    let mut skip = first;
    for (at, piece) in pieces.iter().enumerate().take(first).rev() {
        lead += piece.width;
        if lead > LEAD {
            return (skip, true);
        }
        skip = at;
    }
    (skip, false)
}

#[cfg(test)]
mod tests;
