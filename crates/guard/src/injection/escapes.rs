//! Text in escapes: percent signs, `\\x`, `\\u` and octal, character references, quoted-printable.

use memchr::{memchr3_iter, memmem};

use super::encoded::hex_byte;
use super::payload::Payload;
use super::source::Source;
use super::words::{is_word_byte, line_around};
use crate::finding::Span;

/// How much of a line around an escape is decoded with it.
const REACH: usize = 320;

/// Calls `each` with every stretch of text that has letters, or the spaces between words, written as escapes.
pub(super) fn decode_escapes(source: &Source<'_>, mut each: impl FnMut(Payload)) {
    let mut done = 0;
    let bytes = source.bytes();
    for at in memchr3_iter(b'%', b'\\', b'&', bytes) {
        let Some(escape) = bytes.get(at..).filter(|_| at >= done).and_then(escape) else {
            continue;
        };
        if !is_worth_decoding(bytes, at, &escape) {
            continue;
        }
        let place = Span::new(at, at + escape.length);
        let part = source.around(place);
        let region = region(part.text, part.inside(place), done.saturating_sub(part.start));
        done = part.outside(region).end;
        let via = match bytes.get(at) {
            Some(b'%') => "percent encoding",
            Some(b'&') => "character references",
            _ => "escapes",
        };
        if let Some((decoded, span)) = region.of(part.text).and_then(|line| decode(line, region.start)) {
            each(Payload { span: part.outside(span), via, text: decoded });
        }
    }
}

/// The line around an escape, not before `from`.
fn region(text: &str, at: Span, from: usize) -> Span {
    let line = line_around(text, at, REACH);
    Span::new(text.ceil_char_boundary(line.start.max(from)), line.end)
}

/// Letters are not escaped without need, and spaces only in addresses and between words of HTML.
fn is_worth_decoding(bytes: &[u8], at: usize, escape: &Escape) -> bool {
    let percent = bytes.get(at) == Some(&b'%');
    let word = |place: Option<usize>| {
        place.and_then(|place| bytes.get(place)).is_some_and(|byte| is_word_byte(*byte))
    };
    let between = || word(at.checked_sub(1)) && word(Some(at + escape.length));
    match escape.value {
        Value::Byte(byte) => {
            byte.is_ascii_alphabetic() || byte >= 0x80 || (percent && byte.is_ascii_whitespace())
        }
        Value::Character(character) => character.is_alphabetic() || (character.is_whitespace() && between()),
    }
}

/// The text with its escapes decoded, and from where to where they are.
fn decode(text: &str, offset: usize) -> Option<(String, Span)> {
    let mut decoded = Vec::with_capacity(text.len());
    let (mut copied, mut first, mut last) = (0, None, 0);
    for at in memchr3_iter(b'%', b'\\', b'&', text.as_bytes()) {
        let Some(escape) = text.as_bytes().get(at..).filter(|_| at >= copied).and_then(escape) else {
            continue;
        };
        decoded.extend_from_slice(text.as_bytes().get(copied..at).unwrap_or_default());
        match escape.value {
            Value::Byte(byte) => decoded.push(byte),
            Value::Character(character) => {
                decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        copied = at + escape.length;
        first.get_or_insert(at);
        last = copied;
    }
    decoded.extend_from_slice(text.as_bytes().get(copied..).unwrap_or_default());
    let decoded = String::from_utf8_lossy(&decoded).into_owned();
    Some((decoded, Span::new(offset + first?, offset + last)))
}

/// What an escape stands for, and how long it is.
struct Escape {
    value: Value,
    length: usize,
}

enum Value {
    /// Of text in UTF-8.
    Byte(u8),
    Character(char),
}

/// The escape at the start of `bytes`.
fn escape(bytes: &[u8]) -> Option<Escape> {
    let byte = |value, length| Some(Escape { value: Value::Byte(value), length });
    let character =
        |(value, length), lead: usize| Some(Escape { value: Value::Character(value), length: length + lead });
    match bytes {
        [b'%', high, low, ..] => byte(hex_byte(&[*high, *low])?, 3),
        [b'\\', b'x', high, low, ..] => byte(hex_byte(&[*high, *low])?, 4),
        [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] => {
            byte((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'), 4)
        }
        [b'\\', b'u', b'{', rest @ ..] => {
            let found = number(rest, 16)?;
            (rest.get(found.1) == Some(&b'}')).then_some(())?;
            character((found.0, found.1 + 1), 3)
        }
        [b'\\', b'u', digits @ ..] => {
            let [first, second, third, fourth] = digits.first_chunk::<4>()?;
            let (high, low) = (hex_byte(&[*first, *second])?, hex_byte(&[*third, *fourth])?);
            character((char::from_u32(u32::from(high) << 8 | u32::from(low))?, 4), 2)
        }
        [b'&', b'#', b'x' | b'X', rest @ ..] => character(reference(rest, 16)?, 3),
        [b'&', b'#', rest @ ..] => character(reference(rest, 10)?, 2),
        [b'&', rest @ ..] => {
            let (name, value) = NAMED.iter().find(|(name, _)| rest.starts_with(name.as_bytes()))?;
            character((*value, name.len()), 1)
        }
        _ => None,
    }
}

/// The characters with names that matter between words and for markup.
const NAMED: &[(&str, char)] = &[
    ("nbsp;", ' '),
    ("ensp;", ' '),
    ("emsp;", ' '),
    ("thinsp;", ' '),
    ("Tab;", ' '),
    ("NewLine;", '\n'),
    ("lt;", '<'),
    ("gt;", '>'),
    ("quot;", '"'),
    ("amp;", '&'),
];

/// A number as a character, and its length. Browsers do not need the semicolon.
fn reference(bytes: &[u8], radix: u32) -> Option<(char, usize)> {
    let (value, length) = number(bytes, radix)?;
    let value = if value == '\u{a0}' { ' ' } else { value };
    Some((value, length + usize::from(bytes.get(length) == Some(&b';'))))
}

/// The digits at the start of `bytes` as a character, and how many they are.
fn number(bytes: &[u8], radix: u32) -> Option<(char, usize)> {
    let digits = bytes.iter().take(7).map_while(|byte| char::from(*byte).to_digit(radix));
    let (value, length) =
        digits.fold((0_u32, 0), |(value, length), digit| (value * radix + digit, length + 1));
    Some((char::from_u32(value).filter(|_| length > 0)?, length))
}

/// Calls `each` with every stretch of text that has words split or joined as mail does it: `=20`, or `=` at the end of a
/// line.
pub(super) fn decode_mail(source: &Source<'_>, mut each: impl FnMut(Payload)) {
    let bytes = source.bytes();
    // Every search is a pass over the text, so that what two marks share is looked for first.
    let words = memmem::find(bytes, b"9=67").is_some();
    for mark in ["=20", "=\n", "=69=67", "=49=67"].into_iter().take(if words { 4 } else { 2 }) {
        let mut done = 0;
        for at in memmem::find_iter(bytes, mark) {
            let word = |place: Option<usize>| {
                place.and_then(|place| bytes.get(place)).is_some_and(u8::is_ascii_alphabetic)
            };
            let inside = word(at.checked_sub(1)) && word(Some(at + mark.len()));
            if at < done || !(inside || mark.len() > 3) {
                continue;
            }
            let part = source.around(Span::new(at, at + mark.len()));
            let (text, place) = (part.text, at.saturating_sub(part.start));
            let from = place.saturating_sub(REACH).max(done.saturating_sub(part.start));
            let to = text.len().min(place + REACH);
            let span = Span::new(text.floor_char_boundary(from), text.ceil_char_boundary(to));
            done = part.outside(span).end;
            let text = from_mail(span.of(text).unwrap_or_default());
            each(Payload { span: part.outside(span), via: "quoted-printable", text });
        }
    }
}

fn from_mail(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'=', [b'\n', after @ ..] | [b'\r', b'\n', after @ ..]) => rest = after,
            (b'=', [high, low, after @ ..]) => match hex_byte(&[*high, *low]) {
                Some(byte) => {
                    decoded.push(byte);
                    rest = after;
                }
                None => decoded.push(*first),
            },
            _ => decoded.push(*first),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
