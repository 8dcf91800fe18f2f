//! The forms in which a token may turn up.

use super::token::CanaryToken;

/// How long a stretch of a random token must be to count.
const STRETCH: usize = 12;
const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How a token was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Hexadecimal,
    CodePoints,
    Rotated,
    Reversed,
    Base32,
    Base64,
}

impl Form {
    /// For findings.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "the canary token, or a part of it",
            Self::Hexadecimal => "the canary token in hexadecimal",
            Self::CodePoints => "the canary token as a list of numbers",
            Self::Rotated => "the canary token in rot13",
            Self::Reversed => "the canary token backwards",
            Self::Base32 => "the canary token in base32",
            Self::Base64 => "the canary token in base64",
        }
    }
}

/// The texts to look for, once everything that is not a letter or a digit has been left out.
#[derive(Default)]
pub(super) struct Forms {
    /// In lower case, for text in lower case.
    pub(super) folded: Vec<(Vec<u8>, Form)>,
    /// As they are; of base64, the alphabet with `+` and `/`.
    pub(super) exact: Vec<(Vec<u8>, Form)>,
}

impl Forms {
    /// Adds all forms of a token.
    pub(super) fn add(&mut self, token: &CanaryToken) {
        let text = token.reveal();
        let bare: String = text
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        self.fold(bare.bytes().collect(), Form::Plain);
        self.fold(bare.bytes().rev().collect(), Form::Reversed);
        self.fold(bare.bytes().map(rotated).collect(), Form::Rotated);
        let mut cases = vec![text.to_owned(), text.to_ascii_lowercase(), text.to_ascii_uppercase()];
        cases.dedup();
        for case in &cases {
            self.add_encoded(case.as_bytes());
            let written = |byte| [*b"0x", hexadecimal(byte)].into_iter().flatten();
            self.fold(case.bytes().flat_map(written).collect(), Form::CodePoints);
            self.fold(case.bytes().flat_map(decimal).collect(), Form::CodePoints);
        }
        let Some(random) = token.random_part() else { return };
        for stretch in random.as_bytes().windows(STRETCH) {
            self.fold(stretch.to_vec(), Form::Plain);
            self.add_encoded(stretch);
        }
    }

    /// Adds the encodings that hide a text from a plain search, at every place in a longer text.
    fn add_encoded(&mut self, text: &[u8]) {
        let mut digits = Vec::with_capacity(text.len() * 2);
        text.iter().for_each(|byte| digits.extend(hexadecimal(*byte)));
        self.fold(digits, Form::Hexadecimal);
        for skipped in 0..5 {
            self.fold(packed::<5>(text, skipped, BASE32), Form::Base32);
        }
        for skipped in [0, 2, 4] {
            self.exact.push((packed::<6>(text, skipped, BASE64), Form::Base64));
        }
    }

    fn fold(&mut self, text: Vec<u8>, form: Form) {
        self.folded.push((text, form));
    }
}

fn rotated(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => (byte - b'a' + 13) % 26 + b'a',
        other => other,
    }
}

/// The two hexadecimal digits of a byte.
fn hexadecimal(byte: u8) -> [u8; 2] {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    [digit(byte >> 4), digit(byte & 15)]
}

/// The decimal digits of a byte.
fn decimal(byte: u8) -> impl Iterator<Item = u8> {
    let digits = [byte / 100, byte / 10 % 10, byte % 10];
    let leading = digits.iter().take(2).take_while(|digit| **digit == 0).count();
    digits.into_iter().skip(leading).map(|digit| b'0' + digit)
}

/// The digits of `WIDTH` bits that only `text` decides, when its first `skipped` bits share a digit with what stands before.
fn packed<const WIDTH: usize>(text: &[u8], skipped: usize, alphabet: &[u8]) -> Vec<u8> {
    let byte = |at: usize| text.get(at).copied().unwrap_or_default();
    let digits = (text.len() * 8 - skipped) / WIDTH;
    let digit = |number: usize| {
        let bit = skipped + number * WIDTH;
        let window = u16::from_be_bytes([byte(bit / 8), byte(bit / 8 + 1)]);
        usize::from(window >> (16 - bit % 8 - WIDTH)) & ((1 << WIDTH) - 1)
    };
    let mut packed = Vec::with_capacity(digits);
    packed.extend((0..digits).filter_map(|number| alphabet.get(digit(number)).copied()));
    packed
}
