//! Runs of characters of a kind, and how they are told.

use std::fmt::Write as _;

use super::class::Class;
use crate::finding::Span;

/// How many different characters a detail names.
const MOST_NAMED: usize = 3;

/// The longest run from `at` of characters that `belongs` accepts.
pub(super) fn run(text: &str, at: usize, belongs: impl Fn(char) -> bool) -> Span {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.find(|character| !belongs(character)).unwrap_or(rest.len());
    Span::new(at, at + length)
}

/// The longest run from `at` of characters of `class`.
pub(super) fn run_of(text: &str, at: usize, class: Class) -> Span {
    run(text, at, |character| Class::of(character) == class)
}

/// "3 zero-width characters (U+200B, U+2060)".
pub(super) fn describe(run: &str, one: &str, many: &str) -> String {
    let count = run.chars().count();
    let mut named: Vec<char> = Vec::with_capacity(MOST_NAMED + 1);
    for character in run.chars() {
        if !named.contains(&character) {
            named.push(character);
        }
        if named.len() > MOST_NAMED {
            break;
        }
    }
    let mut detail = format!("{count} {} (", if count == 1 { one } else { many });
    for (index, character) in named.iter().take(MOST_NAMED).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        let _infallible = write!(detail, "{comma}U+{:04X}", u32::from(*character));
    }
    detail.push_str(if named.len() > MOST_NAMED { " and others)" } else { ")" });
    detail
}
