//! What to do about a syntax error, for the slips that people make most.

use granit_parser::ErrorKind;

/// The remedy for a kind of syntax error, if there is a typical one.
#[expect(clippy::wildcard_enum_match_arm, reason = "the parser's error enum is non-exhaustive")]
pub(crate) fn syntax_help(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar => "indent with spaces; YAML does not allow tabs there",
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "put the value in quotes if it contains `: `, or start the key on a line of its own"
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::BlockSequenceEntryNotAllowed => "line the key up with its siblings",
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            "write `key: value`; a `:` is missing after the key"
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => "close the quote",
        ErrorKind::InvalidQuotedScalarIndent => {
            "close the quote that was opened above, or indent what belongs to it"
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::MismatchedFlowCollectionEnd { .. } => {
            "close the bracket, and separate its entries with commas"
        }
        ErrorKind::UnknownQuotedScalarEscape => "double the backslash, or use single quotes",
        ErrorKind::DirectiveDisallowed => "remove the line that starts with `%`",
        ErrorKind::UnexpectedCharacter { .. } => "put the value in quotes",
        ErrorKind::UndeclaredTagHandle | ErrorKind::ExpectedTagBang => {
            "put a value that starts with `!` in quotes"
        }
        _ => return None,
    })
}
