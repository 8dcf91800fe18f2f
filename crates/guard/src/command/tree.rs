//! The syntax tree of a shell script, or the reason why there is none to rely on.

use std::cell::Cell;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::{doubt, mask};
use crate::finding::Span;

/// The longest script that is parsed. What an agent types is a thousand times shorter.
pub(super) const LONGEST_SCRIPT: usize = 64 * 1024;

/// How often the parser may report progress (every hundred steps) while all goes well.
const MOST_REPORTS: usize = 4_000;

/// How often it may do so once something is wrong. Each step of a repair costs time and memory by the depth of the script, and
/// what needs so many is not understood in the end either.
const MOST_REPAIRS: usize = 10;

/// How many bytes are handed to the parser at a time.
const PIECE: usize = 512;

/// How many times as many bytes as the script has may be handed out. Where something is wrong, the parser looks ahead for
/// the end of a pattern or a string from every place anew, and would read a row of `>` as often as it is long.
const MOST_READINGS: usize = 100;

/// How many signs that open or join commands a script may have. Where they stand close together, every step of the parser
/// costs more than the last; program text in a here-document stays below this.
const MOST_JOINTS: usize = 4_000;

/// How many times `|` may. The repair of a long pipeline that does not end takes quadratic time.
const MOST_PIPES: usize = 1_500;

/// How many times `<<`, `<>` and `=~` may stand in a script. Each here-document that does not end is searched for its end
/// again, and a row of the others takes quadratic time.
const MOST_REDIRECTIONS: usize = 500;

/// How many brackets may close what nobody opened, as the patterns of a `case` do. Each is repaired at a cost.
const MOST_UNOPENED: usize = 1_000;

/// Why a script was not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is longer than [`LONGEST_SCRIPT`].
    TooLong,
    /// Reading it would take unreasonably many steps.
    TooMuchWork,
}

/// Reads `text` as a script for bash.
pub(super) fn parse(text: &str) -> Result<Tree, Refusal> {
    if text.len() > LONGEST_SCRIPT || is_too_dense(text) {
        return Err(Refusal::TooLong);
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Refusal::TooMuchWork)?;
    let (mut reports, mut repairs) = (0, 0);
    let left = Cell::new((text.len() + PIECE) * MOST_READINGS);
    let mut progress = |state: &ParseState| {
        reports += 1;
        repairs += usize::from(state.has_error());
        let stop = reports > MOST_REPORTS || repairs > MOST_REPAIRS || left.get() == 0;
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let masked = mask::masked(text);
    let masked = std::str::from_utf8(&masked).map_err(|_| Refusal::TooMuchWork)?;
    let mut read = |at: usize, _| {
        left.set(left.get().saturating_sub(PIECE));
        // For the parser the script ends where nothing is left; what it makes of that is not used. A piece must not end within
        // a character: the parser would ask for the rest of it, and crash when there is none.
        let end = if left.get() == 0 { at } else { masked.floor_char_boundary(at + PIECE) };
        masked.get(at..end).unwrap_or_default()
    };
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    tree.filter(|_| left.get() > 0).ok_or(Refusal::TooMuchWork)
}

/// Whether a text has more structure than a script that anybody writes.
fn is_too_dense(text: &str) -> bool {
    let count = |signs: &[u8]| text.bytes().filter(|byte| signs.contains(byte)).count();
    count(b"({|`[&") > MOST_JOINTS
        || count(b"|") > MOST_PIPES
        || ["<<", "<>", "=~"].into_iter().any(|sign| text.matches(sign).count() > MOST_REDIRECTIONS)
        || unopened(text) > MOST_UNOPENED
}

/// How many more `)` than `(` there are.
fn unopened(text: &str) -> usize {
    let count = |sign: u8| text.bytes().filter(|byte| *byte == sign).count();
    count(b')').saturating_sub(count(b'('))
}

/// The first part of the tree that is no shell that this module knows, or that a shell would read otherwise.
pub(super) fn first_unknown(tree: &Tree, text: &str) -> Option<Span> {
    if let Some(doubt) = doubt::first(tree, text) {
        return Some(doubt);
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if (!is_known(node) && !is_read_write(node, text) && !is_bare_for(node, text))
            || doubt::is_misread(node, text)
        {
            return Some(span(node));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// Where a node lies in its text.
pub(super) fn span(node: Node<'_>) -> Span {
    Span::new(node.start_byte(), node.end_byte())
}

/// Whether the node is of a kind that the reader gives a meaning to. Tokens are judged with the node they belong to.
fn is_known(node: Node<'_>) -> bool {
    if node.is_error() || node.is_missing() {
        return false;
    }
    !node.is_named() || KNOWN.binary_search(&node.kind()).is_ok()
}

/// The grammar lacks the operator `<>` and sees a stray `>` in it.
fn is_read_write(node: Node<'_>, text: &str) -> bool {
    let before = node.start_byte().checked_sub(1).and_then(|at| text.as_bytes().get(at));
    node.is_error() && span(node).of(text) == Some(">") && before == Some(&b'<')
}

/// The grammar lacks `for name do`, which goes over the arguments; the commands that follow are read as such.
fn is_bare_for(node: Node<'_>, text: &str) -> bool {
    let mut words = span(node).of(text).unwrap_or_default().split_ascii_whitespace();
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    node.is_error()
        && words.next() == Some("for")
        && words.next().is_some_and(is_name)
        && matches!(words.next(), None | Some("do"))
        && words.next().is_none()
}

/// In alphabetical order.
static KNOWN: &[&str] = &[
    "ansi_c_string",
    "arithmetic_expansion",
    "array",
    "binary_expression",
    "brace_expression",
    "c_style_for_statement",
    "case_item",
    "case_statement",
    "command",
    "command_name",
    "command_substitution",
    "comment",
    "compound_statement",
    "concatenation",
    "declaration_command",
    "do_group",
    "elif_clause",
    "else_clause",
    "expansion",
    "extglob_pattern",
    "file_descriptor",
    "file_redirect",
    "for_statement",
    "function_definition",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "heredoc_redirect",
    "heredoc_start",
    "herestring_redirect",
    "if_statement",
    "list",
    "negated_command",
    "number",
    "parenthesized_expression",
    "pipeline",
    "postfix_expression",
    "process_substitution",
    "program",
    "raw_string",
    "redirected_statement",
    "regex",
    "simple_expansion",
    "special_variable_name",
    "string",
    "string_content",
    "subscript",
    "subshell",
    "ternary_expression",
    "test_command",
    "test_operator",
    "translated_string",
    "unary_expression",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
    "variable_name",
    "while_statement",
    "word",
];

#[cfg(test)]
mod tests {
    use super::KNOWN;

    #[test]
    fn kinds_can_be_searched() {
        assert!(KNOWN.is_sorted());
    }
}
