//! What a skill may be called.
//!
//! Letters and digits are those of the Unicode categories L and N, not `char::is_alphanumeric`, which also counts vowel
//! signs and circled letters: two validators that disagree about 1,442 characters disagree about which skills exist.

use unicode_normalization::{UnicodeNormalization as _, is_nfkc};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// The most characters of a name.
pub const MAX_NAME: usize = 64;

/// A name in the form in which names are compared: trimmed, with compatibility characters resolved.
#[must_use]
pub fn canonical(name: &str) -> String {
    let trimmed = name.trim();
    if is_nfkc(trimmed) { trimmed.to_owned() } else { trimmed.nfkc().collect() }
}

/// Whether a canonical name satisfies every rule about names.
#[must_use]
pub fn is_valid(name: &str) -> bool {
    !name.is_empty() && flaws(name).next().is_none()
}

/// A rule that a name breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// More than [`MAX_NAME`] characters.
    TooLong {
        /// How many there are.
        characters: usize,
    },
    /// Some letter is not in lower case.
    NotLowercase,
    /// A hyphen at an end.
    OuterHyphen,
    /// Two hyphens in a row.
    DoubleHyphen,
    /// Something that is neither letter, digit nor hyphen.
    InvalidCharacter,
}

/// The rules that a canonical name breaks, in the order in which they are reported.
pub fn flaws(name: &str) -> impl Iterator<Item = Flaw> {
    let characters = name.chars().count();
    [
        (characters > MAX_NAME).then_some(Flaw::TooLong { characters }),
        (name.to_lowercase() != name).then_some(Flaw::NotLowercase),
        (name.starts_with('-') || name.ends_with('-')).then_some(Flaw::OuterHyphen),
        name.contains("--").then_some(Flaw::DoubleHyphen),
        name.chars().any(|letter| !is_name_character(letter)).then_some(Flaw::InvalidCharacter),
    ]
    .into_iter()
    .flatten()
}

fn is_name_character(letter: char) -> bool {
    let group = letter.general_category_group();
    letter == '-' || matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}
