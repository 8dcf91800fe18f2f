//! Text in letters that are turned, spread, reversed, replaced or numbered.

use unicode_normalization::UnicodeNormalization as _;

use super::payload::Payload;
use super::source::Source;
use super::words::line_around;
use crate::finding::Span;

/// How much of a line around a telling word is read with it.
const REACH: usize = 320;

/// How letters are disguised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Turned by thirteen places of the alphabet.
    Turned,
    /// Apart from each other.
    Spaced,
    /// Digits and signs for letters.
    Leet,
    /// Back to front.
    Reversed,
    /// As numbers.
    Codes,
}

/// What the words around the anchor at `at` say when they are read as it suggests; not before `from`.
pub(super) fn read(text: &str, spelling: Spelling, at: Span, from: usize) -> Option<Payload> {
    let line = line_around(text, at, REACH);
    let span = Span::new(text.ceil_char_boundary(line.start.max(from)), line.end);
    let part = span.of(text)?;
    let (via, decoded) = match spelling {
        Spelling::Turned => ("rot13", part.chars().map(turned).collect()),
        Spelling::Leet => ("digits for letters", part.chars().map(leet).collect()),
        Spelling::Reversed => ("reversed", part.chars().rev().collect()),
        Spelling::Codes => ("character codes", numbered(part)),
        Spelling::Spaced => return spaced(text, at),
    };
    Some(Payload { span, via, text: decoded })
}

fn turned(character: char) -> char {
    match character {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(character) + 13).unwrap_or(character),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(character) - 13).unwrap_or(character),
        other => other,
    }
}

fn leet(character: char) -> char {
    match character {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// Characters given by their codes: binary, hexadecimal or decimal, whichever all of them fit.
fn numbered(text: &str) -> String {
    let codes = || {
        text.split([' ', ',', ':', ';', '\t', '[', ']', '{', '}', '(', ')'])
            .map(|code| code.trim_start_matches("0x").trim_start_matches("0X"))
            .filter(|code| code.len() > 1 && code.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let binary = codes().all(|code| code.len() == 8 && code.bytes().all(|byte| matches!(byte, b'0' | b'1')));
    let radix = match (binary, codes().any(|code| code.len() > 2)) {
        (true, _) => 2,
        (false, true) => 10,
        (false, false) => 16,
    };
    codes().filter_map(|code| u32::from_str_radix(code, radix).ok().and_then(char::from_u32)).collect()
}

/// Calls `each` with the lines in which syllables of Korean or Japanese are written in parts.
pub(super) fn compose(source: &Source<'_>, mut each: impl FnMut(Payload)) {
    let bytes = source.bytes();
    if bytes.is_ascii() {
        return;
    }
    // Every search is a pass over the text, so that the letters of Korean are looked for together first.
    let letters = memchr::memmem::find(bytes, &[0xe1, 0x84]).is_some();
    let marks = ["\u{3099}", "\u{309a}", "\u{1106}", "\u{110b}", "\u{110c}"];
    for mark in marks.into_iter().take(if letters { 5 } else { 2 }) {
        let mut done = 0;
        for at in memchr::memmem::find_iter(bytes, mark) {
            if at >= done {
                let place = Span::new(at, at + mark.len());
                let part = source.around(place);
                let line = line_around(part.text, part.inside(place), REACH);
                let composed = line.of(part.text).unwrap_or_default().nfc().collect();
                let span = part.outside(line);
                done = span.end;
                each(Payload { span, via: "letters in parts", text: composed });
            }
        }
    }
}

/// Letters that stand apart from each other, from `at` on, put together.
fn spaced(text: &str, at: Span) -> Option<Payload> {
    let end = text.floor_char_boundary(text.len().min(at.start + REACH));
    let part = text.get(at.start..end)?;
    let (mut joined, mut last, mut previous_letter) = (String::new(), 0, false);
    for (place, character) in part.char_indices() {
        let letter = character.is_alphanumeric();
        // Two letters side by side: the spaced-out part is over.
        if letter && previous_letter {
            joined.pop();
            break;
        }
        if letter {
            joined.push(character);
            last = place + character.len_utf8();
        }
        previous_letter = letter;
    }
    Some(Payload { span: Span::new(at.start, at.start + last), via: "spaced-out letters", text: joined })
}
