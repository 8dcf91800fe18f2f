//! A host as name preparation leaves it: escapes decoded, look-alike digits and dots mapped, invisible characters gone.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::RestrictionLevel::HighlyRestrictive;
use unicode_security::RestrictionLevelDetection as _;

use super::verdict::Malformed;

include!(concat!(env!("OUT_DIR"), "/look_table.rs"));

/// A text in its prepared form.
#[derive(Debug)]
pub(super) struct Prepared<'a> {
    /// In lower case.
    pub(super) text: Cow<'a, str>,
    /// Whether it was written so that it hides what it is.
    pub(super) disguised: bool,
}

/// Prepares a host for comparison.
pub(super) fn prepare(raw: &str) -> Result<Prepared<'_>, Malformed> {
    let decoded = percent_decode(raw).ok_or(Malformed::Escape)?;
    let escaped = matches!(decoded, Cow::Owned(_));
    if decoded.contains('%') {
        return Err(Malformed::Escape);
    }
    if decoded.is_ascii() {
        let text = match decoded {
            Cow::Borrowed(text) if !text.bytes().any(|byte| byte.is_ascii_uppercase()) => Cow::Borrowed(text),
            Cow::Borrowed(text) => Cow::Owned(text.to_ascii_lowercase()),
            Cow::Owned(text) => Cow::Owned(text.to_ascii_lowercase()),
        };
        return Ok(Prepared { text, disguised: escaped });
    }
    let turned = decoded.chars().any(turns_into_ascii);
    Ok(Prepared { text: Cow::Owned(fold(&decoded)), disguised: escaped || turned })
}

/// The compatibility form in lower case, without what preparation drops.
pub(super) fn fold(text: &str) -> String {
    let mapped = text.chars().filter(|character| !is_dropped(*character)).map(|character| match character {
        '\u{3002}' | '\u{ff61}' => '.',
        other => other,
    });
    let lower: String = mapped.nfkc().flat_map(char::to_lowercase).collect();
    // Lower case may leave marks that compose, and compatibility forms may leave something to drop.
    lower.nfkc().filter(|character| !is_dropped(*character)).collect()
}

/// Characters that name preparation takes out.
fn is_dropped(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Whether preparation makes nothing or ASCII of it. The ideographic full stop does not count: it is what keyboards type.
fn turns_into_ascii(character: char) -> bool {
    !character.is_ascii()
        && character != '\u{3002}'
        && (is_dropped(character)
            || character == '\u{ff61}'
            || std::iter::once(character).nfkc().all(|c| c.is_ascii()))
}

/// Decodes escapes; none when one is broken or the result is not UTF-8.
fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let (decoded, broken) = decode_bytes(text);
    if broken { None } else { String::from_utf8(decoded).ok().map(Cow::Owned) }
}

/// Decodes the escapes that can be decoded: one broken escape must not hide what the others say.
pub(super) fn percent_decode_lossy(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(String::from_utf8_lossy(&decode_bytes(text).0).into_owned())
}

/// The bytes behind the escapes, and whether one was broken and is kept as it is.
fn decode_bytes(text: &str) -> (Vec<u8>, bool) {
    let mut decoded = Vec::with_capacity(text.len());
    let mut broken = false;
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escape = match rest {
            [b'%', high, low, ..] => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        match escape {
            Some((high, low)) => {
                decoded.push(high << 4 | low);
                rest = rest.get(3..).unwrap_or_default();
            }
            None => {
                broken |= *first == b'%';
                decoded.push(*first);
                rest = after;
            }
        }
    }
    (decoded, broken)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The ASCII name that a reader would take `name` for, if there is one.
pub(super) fn ascii_look(name: &str) -> Option<String> {
    let mut look = String::with_capacity(name.len());
    for character in name.nfkd().filter(|character| !is_combining_mark(*character)) {
        if character.is_ascii() {
            look.push(character);
        } else {
            look.push_str(ascii_skeleton(character)?);
        }
    }
    look.make_ascii_lowercase();
    Some(look)
}

/// What a character is taken for, if that is ASCII.
fn ascii_skeleton(character: char) -> Option<&'static str> {
    let place = LOOKS.binary_search_by_key(&character, |(known, _, _)| *known).ok()?;
    let (_, start, length) = LOOKS.get(place)?;
    let start = usize::from(*start);
    LOOK_TEXT.get(start..start + usize::from(*length))
}

/// Whether a label mixes scripts that no language mixes.
pub(super) fn mixes_scripts(label: &str) -> bool {
    !label.is_ascii() && !label.check_restriction_level(HighlyRestrictive)
}

#[cfg(test)]
mod tests {
    use unicode_security::confusable_detection::skeleton;

    use super::ascii_skeleton;

    #[test]
    fn the_table_holds_every_ascii_skeleton_and_no_other() {
        for character in ('\0'..=char::MAX).filter(|character| !character.is_ascii()) {
            let expected: String = skeleton(character.encode_utf8(&mut [0; 4])).collect();
            let expected = expected.is_ascii().then_some(expected);
            assert_eq!(ascii_skeleton(character), expected.as_deref(), "{character:?}");
        }
    }
}
