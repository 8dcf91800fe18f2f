//! Runs of characters of one class.

/// A class of characters that tokens are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters and digits.
    Alnum,
    /// Letters, digits and the underscore.
    Underscored,
    /// Letters, digits, underscore and hyphen.
    Word,
    /// The same and the dot.
    Dotted,
    /// Upper-case letters and digits.
    Upper,
    /// Lower-case hexadecimal digits.
    Hex,
    /// The alphabet of base64.
    Base64,
    /// Letters, digits, underscore, hyphen and the equals sign.
    Padded,
    /// Anything that an unquoted value may hold.
    Bare,
    /// The same, up to what parts one value from the next.
    Listed,
}

const CLASSES: usize = 10;

impl Class {
    /// Whether it holds `byte`.
    pub(super) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Underscored => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Padded => Self::Word.has(byte) || byte == b'=',
            Self::Bare => byte > b' ' && byte != 0x7f && !matches!(byte, b'"' | b'\'' | b'`' | b'\\'),
            Self::Listed => Self::Bare.has(byte) && !matches!(byte, b',' | b';' | b'&' | b')' | b'|'),
        }
    }
}

/// Where runs end. The end of a run does not depend on where in it one begins to read, so the last end is kept: a text of
/// ten million prefixes is read once, not once per prefix.
#[derive(Debug, Default)]
pub(super) struct Runs {
    last: [(usize, usize); CLASSES],
    judged: (usize, usize),
}

/// How many candidates that end at the same place are judged.
const MOST_JUDGED: usize = 16;

impl Runs {
    /// Where the run of `class` that `at` is in ends; `at` itself when it is in none.
    pub(super) fn end(&mut self, bytes: &[u8], at: usize, class: Class) -> usize {
        let Some(last) = self.last.get_mut(class as usize) else { return at };
        if last.0 <= at && at < last.1 {
            return last.1;
        }
        let run = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| class.has(**byte)).count();
        *last = (at, at + run);
        at + run
    }

    /// Whether another candidate that ends at `end` is worth a look. Judging costs far more than reading, and in a text
    /// like `key=key=key=…` there is a candidate at every fourth byte.
    pub(super) fn may_judge(&mut self, end: usize) -> bool {
        let count = if self.judged.0 == end { self.judged.1 + 1 } else { 1 };
        self.judged = (end, count);
        count <= MOST_JUDGED
    }
}
