//! Places where the parser and a real shell would disagree.
//!
//! The grammar is an approximation. Where it takes for data what bash would run, a command could hide, so each such place is
//! looked for and makes the script one that is not understood.

use std::borrow::Cow;

use tree_sitter::{Node, Tree};

use super::quoting;
use super::tree::span;
use crate::finding::Span;

/// The text as it is given to the parser: of the same length, without what the parser cannot take.
///
/// After `{` the scanner of the grammar looks up characters in a table that ends at 255, and crashes on those far beyond.
pub(super) fn harmless(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() || !text.contains('{') {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = text.as_bytes().to_vec();
    let mut in_range = false;
    for byte in &mut bytes {
        match *byte {
            b'{' => in_range = true,
            b'0'..=b'9' | b'.' => {}
            0x80.. if in_range => *byte = b'_',
            _ => in_range = false,
        }
    }
    Cow::Owned(bytes)
}

/// The first place where a real shell would read the text otherwise.
pub(super) fn first(tree: &Tree, text: &str) -> Option<Span> {
    odd_blank(tree, text).or_else(|| joined_lines(tree, text))
}

/// Whether a real shell would read this node otherwise.
pub(super) fn is_misread(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "ansi_c_string" => !ends_where_it_should(span(node).of(text).unwrap_or_default()),
        "comment" => !starts_a_word(node.start_byte(), text),
        "heredoc_redirect" => !is_whole_heredoc(node, text),
        _ => false,
    }
}

/// `$'a\\'` ends at its last quote; the grammar takes `\\'` for an escaped quote and reads on.
fn ends_where_it_should(string: &str) -> bool {
    let mut escaped = false;
    for (at, character) in string.char_indices().skip(2) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' => return at + 1 == string.len(),
            _ => {}
        }
    }
    false
}

/// A `#` only starts a comment where a word could start; the grammar skips escaped blanks and joined lines before it.
fn starts_a_word(at: usize, text: &str) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    match before {
        [] => true,
        [.., b'\\', b' ' | b'\t' | b'\n'] => false,
        [.., b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'`'] => true,
        _ => false,
    }
}

/// Whether a here-document ends at the first line that is its delimiter. The grammar also ends it at a line that only starts
/// with the delimiter, and never when the delimiter is not plain.
fn is_whole_heredoc(node: Node<'_>, text: &str) -> bool {
    let mut cursor = node.walk();
    let (mut delimiter, mut body, mut end, mut indented) = (None, None, None, false);
    for child in node.children(&mut cursor) {
        match child.kind() {
            "<<-" => indented = true,
            "heredoc_start" => delimiter = span(child).of(text).map(unquote),
            "heredoc_body" => body = Some(span(child)),
            "heredoc_end" => end = Some(span(child)),
            _ => {}
        }
    }
    let (Some(delimiter), Some(end)) = (delimiter, end) else { return false };
    let line = |line: &str| if indented { line.trim_start_matches('\t').to_owned() } else { line.to_owned() };
    let bytes = text.as_bytes();
    let line_start = text.get(..end.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let line_end =
        text.get(end.start..).and_then(|rest| rest.find('\n')).map_or(bytes.len(), |at| end.start + at);
    let ends = text.get(line_start..line_end).map(line).is_some_and(|last| last == delimiter);
    let earlier = body
        .and_then(|body| text.get(body.start..line_start.max(body.start)))
        .is_some_and(|body| body.lines().any(|each| line(each) == delimiter));
    ends && !earlier && !delimiter.is_empty()
}

/// The delimiter of a here-document without its quotes.
fn unquote(start: &str) -> String {
    let mut plain = String::new();
    for (at, part) in start.split('\'').enumerate() {
        match at % 2 {
            1 => plain.push_str(part),
            _ => quoting::unquoted(&part.replace('"', ""), &mut plain),
        }
    }
    plain
}

/// Where the text of a node is taken as it is.
fn is_text(kind: &str) -> bool {
    matches!(
        kind,
        "raw_string"
            | "string_content"
            | "string"
            | "heredoc_body"
            | "heredoc_content"
            | "comment"
            | "ansi_c_string"
    )
}

/// Blanks that the grammar takes for blanks and a shell for part of a word, and characters that end a text.
fn odd_blank(tree: &Tree, text: &str) -> Option<Span> {
    let is_odd = |character: &char| match character {
        ' ' | '\t' | '\n' => false,
        '\0' | '\u{feff}' => true,
        other => other.is_whitespace(),
    };
    for (at, character) in text.char_indices().filter(|(_, character)| is_odd(character)) {
        let end = at + character.len_utf8();
        let within = tree.root_node().descendant_for_byte_range(at, end)?;
        if character == '\0' || !is_text(within.kind()) {
            return Some(Span::new(at, end));
        }
    }
    None
}

/// A word that goes on after a joined line, which the grammar takes for two.
fn joined_lines(tree: &Tree, text: &str) -> Option<Span> {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| !b" \t\n;&|<>()".contains(byte));
    for (at, _) in text.match_indices("\\\n") {
        let before = text.as_bytes().get(..at).unwrap_or_default();
        let escaped = before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1;
        if escaped || !is_part(before.last()) || !is_part(text.as_bytes().get(at + 2)) {
            continue;
        }
        let within = tree.root_node().descendant_for_byte_range(at, at + 2)?;
        if !is_text(within.kind()) {
            return Some(Span::new(at, at + 2));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{ends_where_it_should, harmless, unquote};

    #[test]
    fn masks_only_what_crashes_the_scanner() {
        assert_eq!(&*harmless("{\u{31860}é}é"), "{______}é".as_bytes());
        assert_eq!(&*harmless("{1..\u{31860}"), b"{1..____");
        assert_eq!(&*harmless("{a\u{31860}"), "{a\u{31860}".as_bytes());
    }

    #[test]
    fn reads_quotes_like_a_shell() {
        assert!(ends_where_it_should("$'a\\'b'"));
        assert!(!ends_where_it_should("$'\\\\' ; x '"));
        assert_eq!(unquote("'E O'F\"x\""), "E OFx");
        assert_eq!(unquote("\\EOF"), "EOF");
    }
}
