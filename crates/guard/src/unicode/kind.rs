//! Which characters are letters and which are marks, at the price of two look-ups.

include!(concat!(env!("OUT_DIR"), "/kind_table.rs"));

/// Whether the character goes on the letter in front of it.
pub(super) fn is_mark(character: char) -> bool {
    is_mark_code(u32::from(character))
}

/// The same for a character by its number.
pub(super) fn is_mark_code(code: u32) -> bool {
    has(&MARK_PAGES, MARK_BITS, code)
}

/// Whether the character is a letter.
pub(super) fn is_letter(character: char) -> bool {
    is_letter_code(u32::from(character))
}

/// The same for a character by its number.
pub(super) fn is_letter_code(code: u32) -> bool {
    has(&LETTER_PAGES, LETTER_BITS, code)
}

fn has(pages: &[u8; 0x1100], bits: &[[u64; 4]], code: u32) -> bool {
    let page = pages.get((code >> 8) as usize).map_or(0, |page| usize::from(*page));
    let word =
        bits.get(page).and_then(|words| words.get((code >> 6 & 3) as usize)).copied().unwrap_or_default();
    word >> (code & 63) & 1 != 0
}

#[cfg(test)]
mod tests {
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

    use super::{is_letter, is_mark};

    #[test]
    fn the_tables_say_what_the_standard_says_of_every_character() {
        for character in '\0'..=char::MAX {
            let group = character.general_category_group();
            assert_eq!(is_mark(character), group == GeneralCategoryGroup::Mark, "{character:?}");
            assert_eq!(is_letter(character), group == GeneralCategoryGroup::Letter, "{character:?}");
        }
    }
}
