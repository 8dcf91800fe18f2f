//! Places where the parser and a real shell would disagree.
//!
//! The grammar is an approximation. Where it takes for data what bash would run, a command could hide, so each such place is
//! looked for and makes the script one that is not understood.

use tree_sitter::{Node, Tree};

use super::quoting;
use super::tree::span;
use crate::finding::Span;

/// The first place where a real shell would read the text otherwise.
pub(super) fn first(tree: &Tree, text: &str) -> Option<Span> {
    odd_blank(tree, text).or_else(|| joined_lines(tree, text))
}

/// Whether a real shell would read this node otherwise.
pub(super) fn is_misread(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "ansi_c_string" => !ends_where_it_should(span(node).of(text).unwrap_or_default()),
        "comment" => !starts_a_word(node.start_byte(), text) && !follows_comment(node),
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

/// A backslash at the end of a comment joins no lines.
fn follows_comment(node: Node<'_>) -> bool {
    node.prev_sibling()
        .is_some_and(|before| before.kind() == "comment" && before.end_byte() + 1 == node.start_byte())
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

/// Blanks that the grammar takes for blanks and a shell for part of a word.
fn odd_blank(tree: &Tree, text: &str) -> Option<Span> {
    let is_odd = |character: &char| match character {
        ' ' | '\t' | '\n' => false,
        '\u{feff}' => true,
        other => other.is_whitespace(),
    };
    let documents = text.contains("<<");
    for (at, character) in text.char_indices().filter(|(_, character)| is_odd(character)) {
        let end = at + character.len_utf8();
        let within = tree.root_node().descendant_for_byte_range(at, end)?;
        if character == '\r' && !documents && ends_line(text, at) {
            continue;
        }
        if !is_text(within.kind()) {
            return Some(Span::new(at, end));
        }
    }
    None
}

/// Whether a carriage return belongs to the end of a line, as editors on Windows write it. It then is part of the last word for
/// a shell, which hides nothing, except where it would be part of the end of a here-document or escaped.
fn ends_line(text: &str, at: usize) -> bool {
    let after = text.as_bytes().get(at + 1);
    let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    matches!(after, None | Some(b'\n')) && before != Some(&b'\\')
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
    use super::{ends_where_it_should, unquote};

    #[test]
    fn reads_quotes_like_a_shell() {
        assert!(ends_where_it_should("$'a\\'b'"));
        assert!(!ends_where_it_should("$'\\\\' ; x '"));
        assert_eq!(unquote("'E O'F\"x\""), "E OFx");
        assert_eq!(unquote("\\EOF"), "EOF");
    }
}
