//! The secret that whoever asks must show.

use std::fmt;
use std::hint::black_box;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// How many random bytes a token has.
const BYTES: usize = 32;

/// A secret of one run, as lower-case hexadecimal.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    /// A new one.
    pub(super) fn generate() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
        if filled != BYTES {
            return Err(io::Error::other("the system has no randomness to give"));
        }
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `header` is `Bearer` and this token. How long the answer takes does not depend on where the two differ, so
    /// that a token cannot be guessed letter by letter.
    pub(super) fn is_shown_by(&self, header: &[u8]) -> bool {
        let Some(shown) = header.strip_prefix(b"Bearer ") else { return false };
        if shown.len() != self.0.len() {
            return false;
        }
        let difference =
            shown.iter().zip(self.0.bytes()).fold(0, |seen, (one, other)| black_box(seen | (one ^ other)));
        difference == 0
    }
}

/// Without the secret.
impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn only_the_token_itself_is_accepted() {
        let token = Token::generate().unwrap();
        let text = token.as_str().to_owned();
        assert!(text.len() == 64 && text.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{text}");
        assert_ne!(text, Token::generate().unwrap().as_str());
        assert!(token.is_shown_by(format!("Bearer {text}").as_bytes()));
        let other = format!("{}{}", &text[..63], if text.ends_with('0') { '1' } else { '0' });
        let upper = text.to_uppercase();
        for header in [
            String::new(),
            text.clone(),
            format!("bearer {text}"),
            format!("Bearer  {text}"),
            format!("Bearer {text} "),
            format!("Basic {text}"),
            format!("Bearer {other}"),
            format!("Bearer {}", &text[..63]),
            format!("Bearer {text}0"),
            "Bearer ".to_owned(),
        ] {
            assert!(!token.is_shown_by(header.as_bytes()), "{header}");
        }
        // A token of digits alone has no upper-case spelling.
        assert!(upper == text || !token.is_shown_by(format!("Bearer {upper}").as_bytes()));
        assert_eq!(format!("{token:?}"), "[secret]");
    }
}
