//! The third pass: letters in disguise become the letters they read as.

use super::class::{Class, Dependent, Disguised, Finder};
use super::draft::Pass;
use super::rules::{FULLWIDTH, LIGATURE, STYLED_LETTERS};
use super::run::{describe, run_of};
use super::script::{is_east_asian, is_wide_filling};
use super::styled::{letter, letter_like, letters, narrow};
use crate::finding::Span;

/// Folds full-width forms outside East Asian text, words in styled letters, and ligatures.
pub(super) fn fold(text: &str, pass: &mut Pass<'_>) {
    let mut finder = Finder::new(text);
    while let Some(found) = finder.next() {
        let Class::Disguised(disguised) = found.class else { continue };
        let end = match disguised {
            Disguised::Fullwidth => fold_wide(text, found.at, pass),
            Disguised::Styled => fold_styled(text, found.at, pass),
            Disguised::Ligature => fold_ligatures(text, found.at, pass),
        };
        finder.resume(end);
    }
}

/// A run of full-width characters, with wide spaces and punctuation inside it.
fn fold_wide(text: &str, at: usize, pass: &mut Pass<'_>) -> usize {
    let span = wide_run(text, at);
    let is_between = |character: &char| is_wide_filling(*character) || is_selector(*character);
    let before = text.get(..span.start).unwrap_or_default().chars().rev().find(|last| !is_between(last));
    let behind = text.get(span.end..).unwrap_or_default().chars().find(|next| !is_between(next));
    if !before.is_some_and(is_east_asian) && !behind.is_some_and(is_east_asian) {
        let run = span.of(text).unwrap_or_default();
        pass.report(&FULLWIDTH, span, || describe(run, "full-width character", "full-width characters"));
        let plain = |wide: char| narrow(wide).filter(|_| !is_wide_filling(wide)).unwrap_or(wide);
        pass.replace(span, run.chars().map(plain).collect::<String>());
    }
    span.end
}

fn is_selector(character: char) -> bool {
    Class::of(character) == Class::Dependent(Dependent::Selector)
}

fn wide_run(text: &str, at: usize) -> Span {
    let mut end = at;
    for (offset, character) in text.get(at..).unwrap_or_default().char_indices() {
        if is_wide_filling(character) {
            continue;
        }
        if narrow(character).is_none() {
            break;
        }
        end = at + offset + character.len_utf8();
    }
    Span::new(at, end)
}

/// A run of styled letters. One is a symbol; several are a word.
fn fold_styled(text: &str, at: usize, pass: &mut Pass<'_>) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let mut word = String::new();
    let mut end = at;
    let mut symbols_only = true;
    let mut characters = rest.chars().peekable();
    while let Some(character) = characters.next() {
        let Some(plain) = letter(character) else { break };
        // What selects a picture is an emoji, not a letter.
        if characters.peek().is_some_and(|next| is_selector(*next)) {
            break;
        }
        word.push(plain);
        end += character.len_utf8();
        symbols_only = symbols_only && letter_like(character).is_some();
    }
    if word.len() > 1 && !symbols_only {
        let span = Span::new(at, end);
        let run = span.of(text).unwrap_or_default();
        pass.report(&STYLED_LETTERS, span, || describe(run, "styled letter", "styled letters"));
        pass.replace(span, word);
    }
    // Where the first one is an emoji, the search goes on behind it.
    end.max(at + rest.chars().next().map_or(1, char::len_utf8))
}

fn fold_ligatures(text: &str, at: usize, pass: &mut Pass<'_>) -> usize {
    let span = run_of(text, at, Class::Disguised(Disguised::Ligature));
    let run = span.of(text).unwrap_or_default();
    pass.report(&LIGATURE, span, || describe(run, "ligature", "ligatures"));
    pass.replace(span, run.chars().map(letters).collect::<String>());
    span.end
}
