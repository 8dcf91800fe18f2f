//! What can be verified about a token without asking its maker.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Accepts what tokens do in practice: with and without padding.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// How much of a token is decoded to see what it is.
const LOOK: usize = 512;

/// How sure a look inside a token has made us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It holds what it should.
    Decoded,
    /// It only looks the part.
    Form,
}

/// How much a text looks drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Randomness {
    /// As much as keys do.
    Random,
    /// It has letters and digits.
    Mixed,
    /// As little as words do.
    Words,
}

/// The alphabet in which checksums are written, least digit first.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Whether the last six of 36 characters are the checksum of the others.
pub(super) fn checksum_fits(body: &str) -> bool {
    let Some((random, written)) = body.split_at_checked(30) else { return false };
    let mut sum = crc32(random.as_bytes());
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62.get((sum % 62) as usize).copied().unwrap_or_default();
        sum /= 62;
    }
    written.as_bytes() == digits
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 0 { sum >> 1 } else { (sum >> 1) ^ 0xedb8_8320 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

/// An installation token that carries a web token: number, underscore, header, payload, signature.
pub(super) fn server_token(body: &str) -> Option<Known> {
    let (app, token) = body.split_once('_')?;
    let numbered = !app.is_empty() && app.bytes().all(|byte| byte.is_ascii_digit());
    (numbered && token.bytes().filter(|byte| *byte == b'.').count() == 2).then_some(())?;
    let header = token.split('.').next()?;
    Some(if is_token_header(header) { Known::Decoded } else { Known::Form })
}

/// Whether the first part of a web token says how the token is signed.
pub(super) fn is_token_header(part: &str) -> bool {
    let cut = part.get(..LOOK).unwrap_or(part);
    let decoded = URL_SAFE.decode(cut).unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded);
    text.starts_with('{') && text.contains("\"alg\"")
}

/// Whether the first part of a web token says that the rest is encrypted.
pub(super) fn is_encrypted_header(part: &str) -> bool {
    let decoded = URL_SAFE.decode(part.get(..LOOK).unwrap_or(part)).unwrap_or_default();
    memchr::memmem::find(&decoded, b"\"enc\"").is_some()
}

/// The beginning of what is written in base64, if it is that.
pub(super) fn decoded_start(text: &str) -> Option<Vec<u8>> {
    let cut = text.get(..LOOK).unwrap_or(text);
    STANDARD.decode(cut).ok()
}

/// What is written in base64 of either alphabet, if it is that.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    engine.decode(text).ok()
}

/// Whether a text is `name:password` in base64.
pub(super) fn is_basic(text: &str) -> bool {
    let printable =
        |bytes: &Vec<u8>| bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) && bytes.contains(&b':');
    decoded_start(text).as_ref().is_some_and(printable)
}

/// What stands in documentation in place of a key.
const EXAMPLE_PARTS: [&str; 12] = [
    "example",
    "xxxx",
    "0000000",
    "1111111",
    "12345678",
    "abcdefgh",
    "placeholder",
    "your",
    "dummy",
    "redacted",
    "changeme",
    "aaaaaaaa",
];

/// Whether the body of a token is one of those that documentation is full of.
pub(super) fn is_example(body: &str) -> bool {
    let look: String = body.chars().take(LOOK).map(|character| character.to_ascii_lowercase()).collect();
    EXAMPLE_PARTS.iter().any(|part| look.contains(part)) || Profile::of(&look).entropy() < 2.5
}

/// How random `text` looks.
pub(super) fn randomness(text: &str) -> Randomness {
    let profile = Profile::of(text);
    if profile.is_random() {
        Randomness::Random
    } else if profile.digits > 0 && profile.letters() > 0 {
        Randomness::Mixed
    } else {
        Randomness::Words
    }
}

/// What a text is made of.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) length: usize,
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    pub(super) spaces: usize,
    pub(super) symbols: usize,
    /// How often a character is of another class than the one before.
    changes: usize,
    counts: [u16; 128],
}

impl Profile {
    /// Looks at the first few hundred characters, which tell as much as all of them.
    pub(super) fn of(text: &str) -> Self {
        let mut profile = Self {
            length: 0,
            lower: 0,
            upper: 0,
            digits: 0,
            spaces: 0,
            symbols: 0,
            changes: 0,
            counts: [0; 128],
        };
        let mut last = None;
        for character in text.chars().take(LOOK) {
            profile.length += 1;
            let (class, count) = match character {
                '0'..='9' => (0, &mut profile.digits),
                'A'..='Z' => (1, &mut profile.upper),
                letter if letter.is_whitespace() => (2, &mut profile.spaces),
                letter if letter.is_ascii_lowercase() || !letter.is_ascii() => (3, &mut profile.lower),
                _ => (4, &mut profile.symbols),
            };
            *count += 1;
            // Hyphens and underscores stand between words; what they part does not look more random for it.
            profile.changes += usize::from(class != 4 && last.is_some_and(|last| last != class && last != 4));
            last = Some(class);
            if let Some(count) = profile.counts.get_mut(u32::from(character) as usize % 128) {
                *count += 1;
            }
        }
        profile
    }

    pub(super) const fn letters(&self) -> usize {
        self.lower + self.upper
    }

    /// Bits per character.
    pub(super) fn entropy(&self) -> f64 {
        let length = self.length.max(1) as f64;
        let share = |count: &u16| f64::from(*count) / length;
        self.counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
    }

    /// Whether it changes between letters and digits as often, and repeats as little, as what was drawn at random.
    pub(super) fn is_random(&self) -> bool {
        self.length >= 16
            && self.digits > 0
            && self.letters() > 0
            && self.changes * 10 >= self.length * 3
            && self.entropy() >= 3.2
    }
}
