//! Where in the source of a scalar its URL ends.
//!
//! The source differs from the text by quotes and escapes, so an offset in one is not an offset in the other.

use std::ops::Range;

/// The part of a scalar's `source` behind the text `url` and inside its quotes. `None` when the scalar spans lines, where
/// what a byte means depends on folding.
pub(super) fn tail(source: &str, url: &str) -> Option<Range<usize>> {
    // A block scalar's place includes the line breaks behind it.
    let source = source.trim_end_matches(['\n', '\r', ' ', '\t']);
    if source.contains(['\n', '\r']) {
        return None;
    }
    let letters = url.chars().count();
    let (step, quote): (fn(&str) -> usize, usize) = match source.chars().next()? {
        '"' => (double_quoted, 1),
        '\'' => (single_quoted, 1),
        _ => (plain, 0),
    };
    let mut offset = quote;
    for _ in 0..letters {
        offset += step(source.get(offset..)?);
    }
    let end = source.len().checked_sub(quote)?;
    (offset <= end).then_some(offset..end)
}

/// The bytes of one letter that stands for itself.
fn plain(source: &str) -> usize {
    source.chars().next().map_or(0, char::len_utf8)
}

/// The bytes of one letter between single quotes, where a quote is doubled.
fn single_quoted(source: &str) -> usize {
    if source.starts_with("''") { 2 } else { plain(source) }
}

/// The bytes of one letter between double quotes.
fn double_quoted(source: &str) -> usize {
    let Some(escaped) = source.strip_prefix('\\') else {
        return plain(source);
    };
    match escaped.chars().next() {
        Some('x') => 4,
        Some('u') => 6,
        Some('U') => 10,
        Some(letter) => 1 + letter.len_utf8(),
        None => 1,
    }
}
