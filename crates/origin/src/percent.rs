//! Percent-encoding as RFC 3986 defines it, over bytes and without repairs.

/// A `%` that is not followed by two hexadecimal digits, at this byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadEscape(pub(crate) usize);

/// Decodes every escape once.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, BadEscape> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            decoded.push(byte);
            rest = tail;
            continue;
        }
        let (value, after) = read_escape(tail).ok_or(BadEscape(text.len() - rest.len()))?;
        decoded.push(value);
        rest = after;
    }
    Ok(decoded)
}

/// Reads the two digits after a `%`.
fn read_escape(digits: &[u8]) -> Option<(u8, &[u8])> {
    let (pair, after) = digits.split_at_checked(2)?;
    let value = pair
        .iter()
        .try_fold(0, |value, digit| char::from(*digit).to_digit(16).map(|digit| value * 16 + digit))?;
    Some((u8::try_from(value).ok()?, after))
}

/// Appends `bytes` to `out`, escaping those for which `keep` is false.
pub(crate) fn escape_into(out: &mut String, bytes: &[u8], keep: impl Fn(u8) -> bool) {
    for &byte in bytes {
        if byte.is_ascii() && keep(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend([byte >> 4, byte & 15].map(hex_digit));
        }
    }
}

/// The upper-case digit that escapes are written with.
fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Whether a byte stands for itself in one path segment.
pub(crate) fn is_plain_in_segment(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~$&+,:;=@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_once_and_reports_where_it_fails() {
        assert_eq!(decode(b"a%2Fb%2f%25"), Ok(b"a/b/%".to_vec()));
        assert_eq!(decode(b"%2541"), Ok(b"%41".to_vec()));
        for (text, offset) in [(&b"ab%"[..], 2), (b"%4", 0), (b"x%zz", 1), (b"%+1", 0), (b"%4\xc3", 0)] {
            assert_eq!(decode(text), Err(BadEscape(offset)), "{text:?}");
        }
    }

    #[test]
    fn escapes_with_upper_case_digits() {
        let mut out = String::new();
        escape_into(&mut out, "a é?/%".as_bytes(), is_plain_in_segment);
        assert_eq!(out, "a%20%C3%A9%3F%2F%25");
    }
}
