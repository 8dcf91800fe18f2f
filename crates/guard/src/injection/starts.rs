//! Where in a text an anchor may start, found out for many bytes at a time.

/// How many bytes are looked at in one go.
pub(super) const CHUNK: usize = 64;
/// Those bytes, and the two before them that the first depends on.
const WINDOW: usize = CHUNK + 2;

/// One bit for each of the bytes from `at` on: whether it starts a character, and is no letter within a word. A line break
/// or tab as strings in code spell them, such as `\\n`, separates words.
pub(super) fn starts(text: &[u8], at: usize) -> u64 {
    let mut padded = [0; WINDOW];
    let from = at.checked_sub(2).and_then(|from| text.get(from..));
    let window = from.and_then(|rest| rest.first_chunk::<WINDOW>()).unwrap_or_else(|| {
        let lead = 2_usize.saturating_sub(at);
        let rest = text.get(at.saturating_sub(2)..).unwrap_or_default();
        padded.iter_mut().skip(lead).zip(rest).for_each(|(slot, byte)| *slot = *byte);
        &padded
    });
    let mut flags = [0_u8; CHUNK];
    let bytes = window.iter().zip(window.iter().skip(1)).zip(window.iter().skip(2));
    for (flag, ((second_last, last), byte)) in flags.iter_mut().zip(bytes) {
        *flag = u8::from(may_start(*second_last, *last, *byte));
    }
    packed(&flags) & u64::MAX.checked_shr(CHUNK.saturating_sub(text.len() - at) as u32).unwrap_or_default()
}

// Without a branch per byte these compile to vector instructions.

/// Whether an anchor may start with `byte`, after the other two.
fn may_start(second_last: u8, last: u8, byte: u8) -> bool {
    let escape = (second_last == b'\\') & ((last == b'n') | (last == b'r') | (last == b't'));
    let word = is_letter(last) | within(last, b'0', b'9');
    let inside = is_letter(byte) & word & !escape;
    !inside & !within(byte, 0x80, 0xbf)
}

fn is_letter(byte: u8) -> bool {
    within(byte | 0x20, b'a', b'z')
}

fn within(byte: u8, low: u8, high: u8) -> bool {
    byte.wrapping_sub(low) <= high - low
}

/// The lowest bit of each byte.
pub(super) fn packed(flags: &[u8; CHUNK]) -> u64 {
    let (words, _) = flags.as_chunks::<8>();
    let bits = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    words.iter().rev().fold(0, |all, word| all << 8 | bits(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CHUNK, starts};
    use crate::injection::words::starts_word;

    proptest! {
        #[test]
        fn a_bit_says_whether_a_word_or_sign_starts(text in "([a-c nrt0\\\\.éя漢]|\\PC){0,200}") {
            for (at, byte) in text.bytes().enumerate() {
                let expected = !(0x80..0xc0).contains(&byte) && (!byte.is_ascii_alphabetic() || starts_word(&text, at));
                let chunk = at / CHUNK * CHUNK;
                prop_assert_eq!(starts(text.as_bytes(), chunk) >> (at - chunk) & 1 == 1, expected, "{} in {:?}", at, text);
            }
            let end = text.len() / CHUNK * CHUNK;
            let beyond = starts(text.as_bytes(), end).checked_shr((text.len() - end) as u32).unwrap_or_default();
            prop_assert_eq!(beyond, 0);
        }
    }
}
