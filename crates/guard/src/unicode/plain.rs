//! How far a text is plain, found out for many bytes at a time.
//!
//! Nothing here decides about a character: what may be of interest is left for a look at the character itself. What is
//! certain to be plain, in most living scripts almost everything, costs less than a nanosecond a byte.

/// How many bytes are looked at in one go.
const STEP: usize = 16;
/// Those bytes, and the two behind them that the last character may need.
const WINDOW: usize = STEP + 2;

/// How many bytes at the start of `bytes`, where a character starts, belong to characters that are certainly plain.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    // Letters and marks take turns in these scripts; a long look would end at once.
    let blank = usize::from(bytes.first().is_some_and(|byte| is_plain_ascii(*byte)));
    if matches!(bytes.get(blank), Some(0xe0 | 0xe1) | None) {
        return blank;
    }
    let mut count = 0;
    while let Some(chunk) = bytes.get(count..).and_then(|rest| rest.first_chunk::<WINDOW>()) {
        if !is_ascii_chunk(chunk)
            && let Some(length) = first_doubtful(chunk)
        {
            return count + length;
        }
        count += STEP;
    }
    // The end of the text, made longer by what is not plain.
    let mut last = [0; WINDOW];
    let rest = bytes.get(count..).unwrap_or_default();
    last.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
    count += first_doubtful(&last).unwrap_or(STEP).min(rest.len());
    let inside = bytes.get(count..).unwrap_or_default().iter().take_while(|byte| is_continuation(**byte));
    count + inside.count()
}

// Without a branch per byte these compile to vector instructions.

fn is_ascii_chunk(chunk: &[u8; WINDOW]) -> bool {
    chunk.iter().take(STEP).fold(true, |plain, byte| plain & is_plain_ascii(*byte))
}

/// Where the first character starts that may not be plain. All other bytes may be skipped one by one.
fn first_doubtful(chunk: &[u8; WINDOW]) -> Option<usize> {
    let mut doubtful = [0_u8; STEP];
    let windows = chunk.iter().zip(chunk.iter().skip(1)).zip(chunk.iter().skip(2));
    for (flag, ((first, second), third)) in doubtful.iter_mut().zip(windows) {
        *flag = u8::from(!may_skip(*first, *second, *third));
    }
    let (words, _) = doubtful.as_chunks::<8>();
    let first = words.iter().map(|word| u64::from_le_bytes(*word)).enumerate().find(|(_, word)| *word != 0);
    first.map(|(at, word)| at * 8 + word.trailing_zeros() as usize / 8)
}

/// Whether a byte is the inside of a character, or the first of one that is certainly plain; it and the next two bytes.
fn may_skip(first: u8, second: u8, third: u8) -> bool {
    is_plain_ascii(first)
        | is_continuation(first)
        // Latin, Greek, Cyrillic without its marks, Armenian; Han, Hangul.
        | within(first, 0xc3, 0xcb)
        | within(first, 0xce, 0xd1)
        | within(first, 0xd3, 0xd5)
        | within(first, 0xe4, 0xe9)
        | within(first, 0xeb, 0xed)
        | ((first == 0xea) & (second >= 0xb0))
        | ((first == 0xc2) & (second >= 0xa0) & (second != 0xad))
        | is_plain_right_to_left(first, second)
        | ((first == 0xe2) & is_plain_symbol(second, third))
        | ((first == 0xe3) & is_plain_kana(second, third))
        | ((first == 0xef) & (second == 0xbc) & is_plain_wide(third))
        // Pictographs.
        | ((first == 0xf0) & (second == 0x9f) & within(third, 0x8c, 0xab))
}

/// Hebrew and Arabic letters.
fn is_plain_right_to_left(first: u8, second: u8) -> bool {
    ((first == 0xd7) & (second >= 0x90))
        | ((first == 0xd8) & (second >= 0xa0))
        | ((first == 0xd9) & ((second < 0x8b) | within(second, 0xa0, 0xaf) | (second > 0xb0)))
        | (first == 0xda)
        | ((first == 0xdb) & !within(second, 0x96, 0xad))
}

/// Typographic signs, currencies, arrows, mathematical and geometric symbols.
fn is_plain_symbol(second: u8, third: u8) -> bool {
    ((second == 0x80) & !within(third, 0x8b, 0x8f) & !within(third, 0xaa, 0xae))
        | (second == 0x82)
        | within(second, 0x86, 0x91)
        | within(second, 0x94, 0x9f)
        | within(second, 0xac, 0xaf)
}

/// Punctuation of East Asia, hiragana, katakana.
fn is_plain_kana(second: u8, third: u8) -> bool {
    ((second == 0x80) & !within(third, 0xaa, 0xaf))
        | (second == 0x81)
        | ((second == 0x82) & !within(third, 0x99, 0x9a))
        | within(second, 0x83, 0x84)
}

/// Full-width `！（），：；？`, which every Chinese sentence has.
fn is_plain_wide(third: u8) -> bool {
    (third == 0x81)
        | within(third, 0x88, 0x89)
        | (third == 0x8c)
        | within(third, 0x9a, 0x9b)
        | (third == 0x9f)
}

fn within(byte: u8, low: u8, high: u8) -> bool {
    byte.wrapping_sub(low) <= high - low
}

fn is_continuation(byte: u8) -> bool {
    within(byte, 0x80, 0xbf)
}

fn is_plain_ascii(byte: u8) -> bool {
    within(byte, b' ', b'~') | (byte == b'\t') | (byte == b'\n') | (byte == b'\r')
}

#[cfg(test)]
mod tests {
    use super::{may_skip, plain_length};
    use crate::unicode::class::Class;

    #[test]
    fn only_plain_characters_are_skipped() {
        for character in '\0'..=char::MAX {
            let mut bytes = [0; 6];
            character.encode_utf8(&mut bytes);
            let [first, second, third, ..] = bytes;
            if may_skip(first, second, third) {
                assert_eq!(Class::of(character), Class::Plain, "{character:?}");
            }
        }
    }

    #[test]
    fn what_is_skipped_ends_at_a_character_and_before_what_is_not_plain() {
        for plain in ["a", "é", "я", "ا", "あ", "漢", "한", "“", "aé漢"] {
            for before in 0..80 {
                let text =
                    format!("{}{}\u{200b}{}", "x".repeat(before % 7), plain.repeat(before), plain.repeat(40));
                assert_eq!(plain_length(text.as_bytes()), text.find('\u{200b}').unwrap(), "{text}");
                let all = text.replace('\u{200b}', "");
                let length = plain_length(all.as_bytes());
                assert!(all.is_char_boundary(length) && all.len() - length < 3, "{all}");
            }
        }
    }
}
