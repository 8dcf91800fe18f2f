//! The token that is planted.

use std::fmt;

/// The fewest letters and digits of a token.
const SHORTEST: usize = 8;
/// How tokens of ours begin.
const PREFIX: &str = "fsc-";
/// How many characters follow in a token of ours: 160 bits.
const RANDOM_LENGTH: usize = 32;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A text that was planted to see whether it comes out elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct CanaryToken {
    text: String,
}

/// Why a text is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A short text would be found in innocent ones.
    #[error("a canary token needs at least 8 ASCII letters and digits, and this one has {letters}")]
    TooShort {
        /// How many letters and digits it has.
        letters: usize,
    },
}

impl CanaryToken {
    /// A token from 160 random bits.
    pub fn from_random(random: [u8; 20]) -> Self {
        let mut text = String::from(PREFIX);
        for group in random.chunks(5) {
            let bits = group.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            text.extend(
                (0..8)
                    .rev()
                    .filter_map(|at| ALPHABET.get((bits >> (at * 5) & 31) as usize))
                    .map(|byte| char::from(*byte)),
            );
        }
        Self { text }
    }

    /// A token that someone else chose; blanks around it do not count.
    ///
    /// # Errors
    ///
    /// When it has too few letters and digits.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let letters = text.bytes().filter(u8::is_ascii_alphanumeric).count();
        if letters < SHORTEST {
            return Err(TokenError::TooShort { letters });
        }
        Ok(Self { text: text.to_owned() })
    }

    /// The token itself, for planting and for handing it to a scanner in another process.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The random part of a token of ours, every stretch of which is telling.
    pub(super) fn random_part(&self) -> Option<&str> {
        let random = self.text.strip_prefix(PREFIX)?;
        let ours = random.len() == RANDOM_LENGTH && random.bytes().all(|byte| ALPHABET.contains(&byte));
        ours.then_some(random)
    }
}

impl fmt::Debug for CanaryToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CanaryToken(…)")
    }
}
