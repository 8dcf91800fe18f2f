use proptest::prelude::*;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::Beginning;
use super::class::{Class, Finder, Found};
use super::draft::Draft;
use super::settle::settle;
use super::strip::{Company, strip};
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

/// What the passes take for invisible, what gives it a meaning, and what takes it away.
const COMPANY: &[&str] = &[
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{fe0e}",
    "\u{fe0f}",
    "\u{fe00}",
    "\u{20e3}",
    "\u{feff}",
    "\u{2060}",
    "\u{1b}[1",
    "\u{1b}",
    "\u{e0061}",
    "\u{202e}",
    "\u{200e}",
    "\u{301}",
    "\u{64b}",
    "\u{94d}",
    "م",
    "ی",
    "ا",
    "क",
    "ก",
    "1",
    "#",
    "m",
    " ",
    "\n",
    "❤",
    "👩",
    "💻",
    "☀",
    "🇩",
    "🅰",
    "ⓐ",
    "🏴",
    "漢",
    "ａ",
    "\u{180e}",
    "ᠠ",
    "\u{34f}",
    "\u{ad}",
    "\u{9b}",
    "⭐",
    "é",
    "я",
    "かな",
    "한글",
    "कि",
    "plain words of some length ",
];

/// How many marks a letter may carry.
const MOST_MARKS: usize = 8;

/// What needs a closer look, found character by character.
fn found_one_by_one(text: &str) -> Vec<Found> {
    let mut marks = 0;
    let mut found = Vec::new();
    for (at, character) in text.char_indices() {
        let class = Class::of(character);
        marks = if class.carries_marks() { 0 } else { marks };
        match class {
            Class::Plain => {}
            Class::Mark if marks < MOST_MARKS => marks += 1,
            Class::Mark | Class::Banned(_) | Class::Dependent(_) | Class::Disguised(_) => {
                found.push(Found { at, character, class });
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_the_first_pass_says_needs_no_second_needs_none(
        parts in prop::collection::vec(prop::sample::select(COMPANY), 0..12),
    ) {
        let text = parts.concat();
        let mut draft = Draft::default();
        let (stripped, rest) = draft.pass(&text, |text, pass| strip(text, Beginning::Text, pass));
        if !rest.dependent {
            let mut second = Draft::default();
            let settled = second.pass(&stripped, settle).0;
            prop_assert_eq!(settled.as_ref(), stripped.as_ref(), "{:?}", text);
            prop_assert!(second.finish().findings.is_empty(), "{:?}", text);
        }
    }

    #[test]
    fn the_fast_way_only_leaves_out_what_is_certain_to_stay(
        parts in prop::collection::vec(prop::sample::select(COMPANY), 0..40),
    ) {
        let text = parts.concat();
        let mut finder = Finder::new(&text);
        let mut next = finder.next();
        for found in found_one_by_one(&text) {
            if next.is_some_and(|next| next.at == found.at) {
                prop_assert_eq!(next.map(|next| (next.character, next.class)), Some((found.character, found.class)));
                next = finder.next();
            } else {
                prop_assert!(Company::default().suits(&text, found), "{:?} in {:?}", found, text);
            }
        }
        prop_assert!(next.is_none(), "{:?} in {:?}", next, text);
    }

    #[test]
    fn marks_are_counted_in_every_script(marks in 0..14_usize, lead in 0..40_usize, mark in "[\u{301}\u{64b}\u{941}\u{e48}\u{103a}]") {
        for letter in ["e", "م", "क", "ก", "က ", "क ", "漢"] {
            let text = format!("{}{letter}{}{letter}", "कि ".repeat(lead), mark.repeat(marks));
            let first = Finder::new(&text).next();
            prop_assert_eq!(first.is_some(), marks > 8, "{}", text);
            if let Some(found) = first {
                prop_assert_eq!(found.at, "कि ".len() * lead + letter.len() + 8 * mark.len());
            }
        }
    }
}
