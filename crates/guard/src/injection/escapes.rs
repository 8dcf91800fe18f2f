//! Text in escapes: percent signs, `\x` and `\u`, character references, and letters turned by thirteen.

use super::encoded::hex_byte;
use super::payload::Payload;
use super::words::line_around;
use crate::finding::Span;

/// How much of a line around an escape is decoded with it.
const REACH: usize = 320;

/// Calls `each` with every stretch of text that has letters written as escapes.
pub(super) fn decode_escapes(text: &str, mut each: impl FnMut(Payload)) {
    let mut done = 0;
    for at in memchr::memchr3_iter(b'%', b'\\', b'&', text.as_bytes()) {
        if at < done {
            continue;
        }
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let percent = rest.first() == Some(&b'%');
        let Some((character, length)) = escape(rest) else { continue };
        if !(character.is_ascii_alphabetic() || (percent && character == ' ')) {
            continue;
        }
        let line = line_around(text, Span::new(at, at + length), REACH);
        let start = text.ceil_char_boundary(line.start.max(done));
        let region = Span::new(start, line.end);
        done = region.end;
        let via = match rest.first() {
            Some(b'%') => "percent encoding",
            Some(b'&') => "character references",
            _ => "escapes",
        };
        if let Some((decoded, span)) = region.of(text).and_then(|part| decode(part, region.start)) {
            each(Payload { span, via, text: decoded });
        }
    }
}

/// The text with its escapes decoded, and from where to where they are.
fn decode(text: &str, offset: usize) -> Option<(String, Span)> {
    let mut decoded = String::with_capacity(text.len());
    let (mut copied, mut first, mut last) = (0, None, 0);
    for at in memchr::memchr3_iter(b'%', b'\\', b'&', text.as_bytes()) {
        if at < copied {
            continue;
        }
        if let Some((character, length)) = escape(text.as_bytes().get(at..).unwrap_or_default()) {
            decoded.push_str(text.get(copied..at).unwrap_or_default());
            decoded.push(character);
            copied = at + length;
            first.get_or_insert(at);
            last = copied;
        }
    }
    decoded.push_str(text.get(copied..).unwrap_or_default());
    Some((decoded, Span::new(offset + first?, offset + last)))
}

/// The character that an escape at the start of `bytes` stands for, and the length of the escape.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    match bytes {
        [b'%', high, low, ..] | [b'\\', b'x', high, low, ..] => {
            let value = hex_byte(&[*high, *low]).filter(u8::is_ascii)?;
            Some((char::from(value), if bytes.first() == Some(&b'%') { 3 } else { 4 }))
        }
        [b'\\', b'u', b'{', rest @ ..] => number(rest, 16, b'}').map(|(value, length)| (value, length + 3)),
        [b'\\', b'u', digits @ ..] => {
            let [first, second, third, fourth] = digits.first_chunk::<4>()?;
            let (high, low) = (hex_byte(&[*first, *second])?, hex_byte(&[*third, *fourth])?);
            Some((char::from_u32(u32::from(high) << 8 | u32::from(low))?, 6))
        }
        [b'&', b'#', b'x' | b'X', rest @ ..] => {
            number(rest, 16, b';').map(|(value, length)| (value, length + 3))
        }
        [b'&', b'#', rest @ ..] => number(rest, 10, b';').map(|(value, length)| (value, length + 2)),
        _ => None,
    }
}

/// A number that ends with `end`, as a character, and its length with the end.
fn number(bytes: &[u8], radix: u32, end: u8) -> Option<(char, usize)> {
    let length = bytes.iter().take(8).position(|byte| *byte == end).filter(|length| *length > 0)?;
    let digits = bytes.get(..length)?;
    let value = digits
        .iter()
        .try_fold(0_u32, |value, byte| Some(value * radix + char::from(*byte).to_digit(radix)?))?;
    Some((char::from_u32(value)?, length + 1))
}

/// The line around `at`, not before `from`, with its letters turned by thirteen.
pub(super) fn rot13(text: &str, at: Span, from: usize) -> Option<Payload> {
    let line = line_around(text, at, REACH);
    let span = Span::new(line.start.max(from), line.end);
    let turn = |character: char| match character {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(character) + 13).unwrap_or(character),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(character) - 13).unwrap_or(character),
        other => other,
    };
    Some(Payload { span, via: "rot13", text: span.of(text)?.chars().map(turn).collect() })
}

/// Letters that stand apart from each other, from `at` on, put together.
pub(super) fn spaced(text: &str, at: Span) -> Option<Payload> {
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
