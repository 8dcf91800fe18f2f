//! In which company an invisible character has a meaning.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::kind::{is_letter, is_mark};

/// A letter or mark of a script whose letters form clusters, where joiners choose between forms of a cluster.
pub(super) fn is_indic(character: char) -> bool {
    matches!(
        character,
        '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1700}'..='\u{17ff}' | '\u{1900}'..='\u{1aaf}'
            | '\u{1b00}'..='\u{1c4f}' | '\u{1cd0}'..='\u{1cff}' | '\u{a800}'..='\u{a83f}' | '\u{a880}'..='\u{a8ff}'
            | '\u{a930}'..='\u{aaff}' | '\u{abc0}'..='\u{abff}' | '\u{11000}'..='\u{11fff}'
    ) && (is_letter(character) || is_mark(character))
}

/// A letter or mark of a script that is written without spaces, where U+200B says where a line may break.
pub(super) fn is_unspaced(character: char) -> bool {
    matches!(
        character,
        '\u{e00}'..='\u{eff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19df}'
            | '\u{1a20}'..='\u{1aaf}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}'
    ) && (is_letter(character) || is_mark(character))
}

/// A letter of a script whose letters join, as in handwriting.
pub(super) fn is_joining_letter(character: char) -> bool {
    is_joining_script(character) && is_letter(character)
}

/// A letter of such a script, or a mark on one.
pub(super) fn is_joining(character: char) -> bool {
    is_joining_script(character) && (is_letter(character) || is_mark(character))
}

fn is_joining_script(character: char) -> bool {
    matches!(
        character,
        '\u{600}'..='\u{77f}' | '\u{7c0}'..='\u{7ff}' | '\u{840}'..='\u{8ff}' | '\u{1800}'..='\u{18af}'
            | '\u{a840}'..='\u{a87f}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10ac0}'..='\u{10aff}'
            | '\u{10b80}'..='\u{10baf}' | '\u{10d00}'..='\u{10fdf}' | '\u{1e900}'..='\u{1e95f}'
    )
}

/// A letter of Mongolian and the scripts encoded with it.
pub(super) fn is_mongolian(character: char) -> bool {
    matches!(character, '\u{1820}'..='\u{18aa}') && is_letter(character)
}

/// A letter of a script that is written from right to left.
pub(super) fn is_right_to_left(character: char) -> bool {
    matches!(
        character,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    ) && is_letter(character)
}

/// A character of Chinese, Japanese or Korean text: what full-width forms belong to. Marks, and the wide space that may
/// stand in any full-width text, do not count.
pub(super) fn is_east_asian(character: char) -> bool {
    match character {
        '\u{302a}'..='\u{302f}' | '\u{3099}' | '\u{309a}' | '\u{3164}' => false,
        '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}' | '\u{2e80}'..='\u{2fdf}' => true,
        '\u{3001}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' => true,
        '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff61}'..='\u{ff9f}' => true,
        '\u{1b000}'..='\u{1b16f}' | '\u{20000}'..='\u{3ffff}' => true,
        _ => false,
    }
}

/// The wide space, and punctuation that East Asian writers also put between words of other scripts.
pub(super) fn is_wide_filling(character: char) -> bool {
    matches!(character, '\u{3000}' | '！' | '（' | '）' | '，' | '：' | '；' | '？' | '～')
}

/// A Chinese character, of which there are registered variants.
pub(super) fn is_han(character: char) -> bool {
    matches!(
        character,
        '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// A pictograph that may be joined to others.
pub(super) fn is_pictograph(character: char) -> bool {
    matches!(
        character,
        '\u{2194}'..='\u{2199}' | '\u{21a9}' | '\u{21aa}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
            | '\u{1f300}'..='\u{1faff}'
    )
}

/// A symbol that can be drawn as text or as a picture.
pub(super) fn has_emoji_style(character: char) -> bool {
    // Boxed and circled letters fold to plain ones, unless they are emoji and say so.
    if super::styled::letter(character).is_some() {
        return matches!(character, 'Ⓜ' | '🅰' | '🅱' | '🅾' | '🅿');
    }
    matches!(
        character,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}'
            | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// A symbol or letter with a standardised variant under one of the first three selectors.
pub(super) fn has_standard_variant(character: char) -> bool {
    is_han(character)
        || matches!(character, '\u{1000}'..='\u{109f}' | '\u{a840}'..='\u{a877}' | '\u{3001}' | '\u{3002}' | '\u{13000}'..='\u{1342f}')
            && !is_mark(character)
        || matches!(character, '\u{2200}'..='\u{22ff}' | '\u{2a00}'..='\u{2aff}')
            && character.general_category() == GeneralCategory::MathSymbol
}
