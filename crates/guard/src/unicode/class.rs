//! Which characters need a closer look, and a fast way to the next one.

use std::hint::select_unpredictable;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::kind::{is_letter_code, is_mark, is_mark_code};
use super::plain::plain_length;
use super::script::is_wide_filling;
use super::styled;

/// How many marks a letter may carry. Real text stays well below, in every script.
const MOST_MARKS: usize = 8;

/// What a character is to this scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Of no interest.
    Plain,
    /// Goes on the letter in front of it.
    Mark,
    /// Has no place in any text.
    Banned(Banned),
    /// Has a meaning in some company only.
    Dependent(Dependent),
    /// Reads as something plainer.
    Disguised(Disguised),
}

/// Characters that have no place in any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Banned {
    /// U+0000.
    Null,
    /// A control character that begins no sequence.
    Control,
    /// ESC, or a control character that stands for ESC and the character that follows it.
    Escape,
    /// Invisible.
    ZeroWidth,
    /// U+00AD.
    SoftHyphen,
    /// A letter that is drawn as nothing.
    Filler,
    /// U+FFF9 to U+FFFB.
    Annotation,
}

/// Characters that have a meaning in some company only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependent {
    /// U+200B to U+200D, needed by some scripts and by emoji.
    Joiner,
    /// U+180E, needed between Mongolian letters.
    VowelSeparator,
    /// U+2800, the braille cell without dots.
    BrailleBlank,
    /// A direction mark.
    BidiMark,
    /// Opens or closes a stretch of another direction.
    BidiPair,
    /// An invisible copy of an ASCII character.
    Tag,
    /// Selects a variant of the character in front of it.
    Selector,
}

/// Characters that read as plainer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disguised {
    /// The full-width form of an ASCII character.
    Fullwidth,
    /// A letter or digit in mathematical style or in a circle, box or parentheses.
    Styled,
    /// A Latin ligature.
    Ligature,
}

impl Class {
    /// What `character` is.
    #[inline]
    pub(super) fn of(character: char) -> Self {
        if is_letter_or_mark(character) {
            Self::of_letter_or_mark(character)
        } else {
            Self::of_other(character)
        }
    }

    fn of_letter_or_mark(character: char) -> Self {
        if is_mark(character) { Self::Mark } else { Self::Plain }
    }

    fn of_other(character: char) -> Self {
        match character {
            '\0' => Self::Banned(Banned::Null),
            '\t' | '\n' | '\r' | ' '..='~' => Self::Plain,
            '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}' => Self::Banned(Banned::Escape),
            '\u{1}'..='\u{9f}' => Self::Banned(Banned::Control),
            '\u{ad}' => Self::Banned(Banned::SoftHyphen),
            '\u{a0}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{590}' => Self::Plain,
            '\u{34f}' => Self::Banned(Banned::ZeroWidth),
            '\u{300}'..='\u{36f}' => Self::Mark,
            '\u{2000}'..='\u{2fff}' => Self::of_symbol(character),
            '\u{3000}'..='\u{a66e}' => match character {
                '\u{302a}'..='\u{302f}' | '\u{3099}' | '\u{309a}' => Self::Mark,
                '\u{3164}' => Self::Banned(Banned::Filler),
                _ => Self::Plain,
            },
            '\u{ac00}'..='\u{d7ff}' | '\u{e000}'..='\u{faff}' => Self::Plain,
            '\u{10000}'.. => Self::of_supplementary(character),
            _ => Self::of_script(character),
        }
    }

    /// What a character of the scripts between Hebrew and Vai, or of the compatibility forms, is.
    fn of_script(character: char) -> Self {
        match character {
            '\u{61c}' => Self::Dependent(Dependent::BidiMark),
            '\u{115f}' | '\u{1160}' | '\u{ffa0}' => Self::Banned(Banned::Filler),
            '\u{180e}' => Self::Dependent(Dependent::VowelSeparator),
            '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' => Self::Dependent(Dependent::Selector),
            '\u{17b4}' | '\u{17b5}' | '\u{feff}' | '\u{fff0}'..='\u{fff8}' => Self::Banned(Banned::ZeroWidth),
            '\u{fff9}'..='\u{fffb}' => Self::Banned(Banned::Annotation),
            '\u{fb00}'..='\u{fb06}' => Self::Disguised(Disguised::Ligature),
            '\u{ff01}'..='\u{ff5e}' if is_wide_filling(character) => Self::Plain,
            '\u{ff01}'..='\u{ff5e}' => Self::Disguised(Disguised::Fullwidth),
            _ => Self::of_letter_or_mark(character),
        }
    }

    /// What a character among punctuation and symbols is.
    fn of_symbol(character: char) -> Self {
        match character {
            '\u{200b}'..='\u{200d}' => Self::Dependent(Dependent::Joiner),
            '\u{200e}' | '\u{200f}' => Self::Dependent(Dependent::BidiMark),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Self::Dependent(Dependent::BidiPair),
            '\u{2060}'..='\u{206f}' => Self::Banned(Banned::ZeroWidth),
            '\u{20d0}'..='\u{20f0}' | '\u{2cef}'..='\u{2cf1}' | '\u{2d7f}' | '\u{2de0}'..='\u{2dff}' => {
                Self::Mark
            }
            '\u{2100}'..='\u{214f}' | '\u{249c}'..='\u{24e9}' if styled::letter(character).is_some() => {
                Self::Disguised(Disguised::Styled)
            }
            '\u{2800}' => Self::Dependent(Dependent::BrailleBlank),
            _ => Self::Plain,
        }
    }

    /// What a character beyond the basic plane is.
    fn of_supplementary(character: char) -> Self {
        match character {
            '\u{1f000}'..='\u{1faff}' | '\u{1d400}'..='\u{1d7ff}' if styled::letter(character).is_some() => {
                Self::Disguised(Disguised::Styled)
            }
            '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3ffff}' => Self::Plain,
            '\u{13430}'..='\u{1343f}' if character.general_category() == GeneralCategory::Format => {
                Self::Banned(Banned::ZeroWidth)
            }
            '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => Self::Banned(Banned::ZeroWidth),
            '\u{e0000}'..='\u{e007f}' => Self::Dependent(Dependent::Tag),
            '\u{e0100}'..='\u{e01ef}' => Self::Dependent(Dependent::Selector),
            '\u{e0080}'..='\u{e0fff}' => Self::Banned(Banned::ZeroWidth),
            _ => Self::of_letter_or_mark(character),
        }
    }

    /// Whether nothing of the character is seen, so that what stands before and after it looks adjacent.
    pub(super) fn is_invisible(self) -> bool {
        match self {
            Self::Banned(banned) => !matches!(banned, Banned::Escape | Banned::Filler),
            Self::Dependent(dependent) => dependent != Dependent::BrailleBlank,
            Self::Plain | Self::Mark | Self::Disguised(_) => false,
        }
    }

    /// Whether marks behind it go on it, rather than on what stands in front of it once it is gone.
    pub(super) fn carries_marks(self) -> bool {
        match self {
            Self::Plain | Self::Disguised(_) | Self::Dependent(Dependent::BrailleBlank) => true,
            Self::Mark | Self::Banned(_) | Self::Dependent(_) => false,
        }
    }
}

/// Whether a character is certain to be plain or a mark: Hebrew, Arabic, and the scripts of India and Southeast Asia.
fn is_letter_or_mark(character: char) -> bool {
    matches!(character, '\u{591}'..='\u{61b}' | '\u{61d}'..='\u{10ff}')
}

/// A character that needs a closer look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Where it starts.
    pub(super) at: usize,
    /// Which it is.
    pub(super) character: char,
    /// What it is.
    pub(super) class: Class,
}

/// Walks over a text from one character of interest to the next.
#[derive(Debug)]
pub(super) struct Finder<'t> {
    text: &'t str,
    at: usize,
    /// Where the search began, or was resumed.
    from: usize,
    /// How many marks the last letter carries.
    marks: usize,
}

impl<'t> Finder<'t> {
    /// From the start of `text`.
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, from: 0, marks: 0 }
    }

    /// Goes on at `at`.
    pub(super) fn resume(&mut self, at: usize) {
        (self.at, self.from) = (at, at);
    }

    /// Goes on over the joiner at `at` if it stands between two letters that join, as in Persian, where every other word has
    /// one: it is certain to stay.
    fn skip_joiner(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let Some(before) = self.at.checked_sub(2).filter(|before| *before >= self.from) else { return false };
        let around = bytes.get(before..).and_then(|rest| rest.first_chunk::<7>());
        let Some(&[first @ 0xd8..0xdc, second, 0xe2, 0x80, 0x8c, third @ 0xd8..0xdc, fourth]) = around else {
            return false;
        };
        let code = |lead: u8, last: u8| u32::from(lead & 0x1f) << 6 | u32::from(last & 0x3f);
        let joins = is_letter_code(code(first, second)) && is_letter_code(code(third, fourth));
        self.at += if joins { 3 } else { 0 };
        joins
    }

    /// Goes on over what makes pictures at `at` where it is certain to stay: the joiner between two pictographs, and the
    /// selector behind a symbol, unless another selector or a joiner follows. Text full of emoji has little else.
    fn skip_emoji(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let before = bytes.get(self.from..self.at).unwrap_or_default();
        let stays = match bytes.get(self.at..).unwrap_or_default() {
            [0xe2, 0x80, 0x8d, 0xf0, 0x9f, 0x8c..0xac, ..] => {
                matches!(before, [.., 0xf0, 0x9f, 0x8c..0xac, _])
            }
            [0xef, 0xb8, 0x8f] | [0xef, 0xb8, 0x8f, 0..0x80 | 0xf0, ..] => {
                matches!(before, [.., 0xe2, 0x98..0x9f, _])
            }
            _ => false,
        };
        self.at += if stays { 3 } else { 0 };
        stays
    }

    /// Goes on over letters and marks of the scripts of India and Southeast Asia, and single spaces between them, as long
    /// as there are not too many marks; whether there were any.
    fn skip_letters(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let (mut at, mut marks) = (self.at, self.marks);
        while let Some([0xe0, second, third]) = bytes.get(at..).and_then(|rest| rest.first_chunk::<3>()) {
            let code = u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
            // In some scripts every other character is a mark, and nobody can foretell which.
            let more = select_unpredictable(is_mark_code(code), marks + 1, 0);
            if more > MOST_MARKS {
                break;
            }
            let space = bytes.get(at + 3) == Some(&b' ');
            marks = if space { 0 } else { more };
            at += 3 + usize::from(space);
        }
        let skipped = at > self.at;
        (self.at, self.marks) = (at, marks);
        skipped
    }

    /// The next character that is not plain; marks only where they are too many.
    pub(super) fn next(&mut self) -> Option<Found> {
        loop {
            let skipped = plain_length(self.text.as_bytes().get(self.at..)?);
            self.marks = if skipped > 0 { 0 } else { self.marks };
            self.at += skipped;
            if self.skip_letters() || self.skip_joiner() || self.skip_emoji() {
                continue;
            }
            let character = self.text.get(self.at..)?.chars().next()?;
            let at = self.at;
            self.at += character.len_utf8();
            if is_letter_or_mark(character) {
                // In some scripts every other character is a mark, and nobody can foretell which.
                self.marks = select_unpredictable(is_mark(character), self.marks + 1, 0);
                if self.marks <= MOST_MARKS {
                    continue;
                }
                self.marks = MOST_MARKS;
                return Some(Found { at, character, class: Class::Mark });
            }
            let class = Class::of(character);
            match class {
                Class::Plain => self.marks = 0,
                Class::Mark if self.marks < MOST_MARKS => self.marks += 1,
                Class::Mark | Class::Banned(_) | Class::Dependent(_) | Class::Disguised(_) => {
                    if class.carries_marks() {
                        self.marks = 0;
                    }
                    return Some(Found { at, character, class });
                }
            }
        }
    }
}
