//! The characters of a text that count, without what a token may have been taken apart with.

use crate::finding::Span;

/// A character, and where in the text it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) byte: u8,
    pub(super) span: Span,
}

/// Letters in lower case and digits.
pub(super) fn plain(text: &str) -> impl Iterator<Item = Read> {
    let counts = |(at, byte): (usize, u8)| {
        byte.is_ascii_alphanumeric()
            .then(|| Read { byte: byte.to_ascii_lowercase(), span: Span::new(at, at + 1) })
    };
    text.bytes().enumerate().filter_map(counts)
}

/// The digits of base64, whichever two signs complete the alphabet.
pub(super) fn base64(text: &str) -> impl Iterator<Item = Read> {
    let digit = |(at, byte): (usize, u8)| {
        let byte = match byte {
            b'-' | b'+' => b'+',
            b'_' | b'/' => b'/',
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => return None,
        };
        Some(Read { byte, span: Span::new(at, at + 1) })
    };
    text.bytes().enumerate().filter_map(digit)
}

/// Letters in lower case and digits, after escapes have been resolved: `%66`, `\x66`, `\u0066`, `\u{66}`, `\146`, `&#102;`,
/// `&#x66;`.
pub(super) fn decoded(text: &str) -> impl Iterator<Item = Read> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(at..)?;
            let first = *rest.first()?;
            let (byte, length) = escape(rest).unwrap_or((first, 1));
            let span = Span::new(at, at + length);
            at += length;
            if byte.is_ascii_alphanumeric() {
                return Some(Read { byte: byte.to_ascii_lowercase(), span });
            }
        }
    })
}

/// The character that an escape stands for, and how long the escape is.
pub(super) fn escape(rest: &[u8]) -> Option<(u8, usize)> {
    match rest {
        [b'%', digits @ ..] => number(digits, 16, 2, 2).map(|(byte, length)| (byte, 1 + length)),
        [b'\\', b'x' | b'X', digits @ ..] => {
            number(digits, 16, 2, 2).map(|(byte, length)| (byte, 2 + length))
        }
        [b'\\', b'u', b'{', digits @ ..] => {
            let (byte, length) = number(digits, 16, 1, 6)?;
            (digits.get(length) == Some(&b'}')).then_some((byte, 4 + length))
        }
        [b'\\', b'u', digits @ ..] => number(digits, 16, 4, 4).map(|(byte, length)| (byte, 2 + length)),
        [b'\\', digits @ ..] => number(digits, 8, 3, 3).map(|(byte, length)| (byte, 1 + length)),
        [b'&', b'#', b'x' | b'X', digits @ ..] => closed(digits, 16, 3),
        [b'&', b'#', digits @ ..] => closed(digits, 10, 2),
        _ => None,
    }
}

/// A number of an entity, with or without its semicolon.
fn closed(digits: &[u8], radix: u32, before: usize) -> Option<(u8, usize)> {
    let (byte, length) = number(digits, radix, 1, 7)?;
    Some((byte, before + length + usize::from(digits.get(length) == Some(&b';'))))
}

/// A number of at least `least` and at most `most` digits that is an ASCII character.
fn number(digits: &[u8], radix: u32, least: usize, most: usize) -> Option<(u8, usize)> {
    let length = digits.iter().take(most).take_while(|digit| char::from(**digit).is_digit(radix)).count();
    (length >= least).then_some(())?;
    let value = digits.get(..length)?.iter().filter_map(|digit| char::from(*digit).to_digit(radix));
    let value = value.fold(0_u32, |value, digit| value * radix + digit);
    u8::try_from(value).ok().filter(u8::is_ascii).map(|byte| (byte, length))
}
