//! Lines and columns.

use std::collections::HashMap;

use fullsend_guard::Span;

/// A line and a column, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The positions of where spans start and end, found in one pass: a hostile text has one line of megabytes.
pub(super) fn find(text: &str, spans: impl Iterator<Item = Span>) -> HashMap<usize, Position> {
    let mut offsets: Vec<usize> = spans.flat_map(|span| [span.start, span.end]).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let mut found = HashMap::with_capacity(offsets.len());
    let mut position = Position { line: 1, column: 1 };
    let mut last = 0;
    for offset in offsets {
        for character in text.get(last..offset).unwrap_or_default().chars() {
            position = match character {
                '\n' => Position { line: position.line + 1, column: 1 },
                _ => Position { column: position.column + 1, ..position },
            };
        }
        found.insert(offset, position);
        last = offset;
    }
    found
}
