use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::class::{Class, Finder};
use super::styled;

/// Format characters that are seen, and stay: signs of Arabic, Syriac and Kaithi numbers.
const SEEN: [char; 13] = [
    '\u{600}',
    '\u{601}',
    '\u{602}',
    '\u{603}',
    '\u{604}',
    '\u{605}',
    '\u{6dd}',
    '\u{70f}',
    '\u{890}',
    '\u{891}',
    '\u{8e2}',
    '\u{110bd}',
    '\u{110cd}',
];

#[test]
fn every_format_and_control_character_is_looked_at_and_every_mark_counted() {
    for character in char::MIN..=char::MAX {
        let class = Class::of(character);
        match character.general_category_group() {
            GeneralCategoryGroup::Other if character.general_category() == GeneralCategory::Format => {
                assert_eq!(class == Class::Plain, SEEN.contains(&character), "{character:?}");
            }
            GeneralCategoryGroup::Other if character.is_control() => {
                assert_eq!(class == Class::Plain, "\t\n\r".contains(character), "{character:?}");
            }
            GeneralCategoryGroup::Mark => {
                assert!(class == Class::Mark || class.is_invisible(), "{character:?} is {class:?}");
            }
            GeneralCategoryGroup::Letter
            | GeneralCategoryGroup::Number
            | GeneralCategoryGroup::Punctuation
            | GeneralCategoryGroup::Symbol
            | GeneralCategoryGroup::Separator
            | GeneralCategoryGroup::Other => assert_ne!(class, Class::Mark, "{character:?}"),
        }
    }
}

#[test]
fn the_fast_way_passes_by_plain_characters_only() {
    let mut buffer = [0; 4];
    for character in char::MIN..=char::MAX {
        let found = Finder::new(character.encode_utf8(&mut buffer)).next().is_some();
        let interesting = !matches!(Class::of(character), Class::Plain | Class::Mark);
        assert_eq!(found, interesting, "{character:?}");
    }
}

#[test]
fn styled_letters_read_as_their_plain_ones() {
    let word = |text: &str| text.chars().filter_map(styled::letter).collect::<String>();
    assert_eq!(word("𝐀𝐳𝒜𝒷𝔄𝖟𝙰𝚣𝟎𝟗𝟶𝟿"), "AzAbAzAz0909");
    assert_eq!(word("ⒶⓏⓐⓩ⒜⒵🄐🄩🄰🅉🅐🅩🅰🆉"), "AZazazAZAZAZAZ");
    assert_eq!(word("𝑡ℎ𝑒 ℬ𝒶𝒹 ①½²"), "theBad");
}
