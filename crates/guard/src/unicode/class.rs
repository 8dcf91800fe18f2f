//! Which characters need a closer look, and a fast way to the next one.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

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
    pub(super) fn of(character: char) -> Self {
        match Self::at_a_glance(character) {
            Some(class) => class,
            None if is_mark(character) => Self::Mark,
            None => Self::Plain,
        }
    }

    /// What `character` is; none where only the tables know whether it is a mark or plain.
    fn at_a_glance(character: char) -> Option<Self> {
        Some(match character {
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
            '\u{10000}'.. => return Self::of_supplementary(character),
            _ => return Self::of_script(character),
        })
    }

    /// What a character of the scripts between Hebrew and Vai, or of the compatibility forms, is.
    fn of_script(character: char) -> Option<Self> {
        Some(match character {
            '\u{61c}' => Self::Dependent(Dependent::BidiMark),
            '\u{115f}' | '\u{1160}' | '\u{ffa0}' => Self::Banned(Banned::Filler),
            '\u{180e}' => Self::Dependent(Dependent::VowelSeparator),
            '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' => Self::Dependent(Dependent::Selector),
            '\u{17b4}' | '\u{17b5}' | '\u{feff}' | '\u{fff0}'..='\u{fff8}' => Self::Banned(Banned::ZeroWidth),
            '\u{fff9}'..='\u{fffb}' => Self::Banned(Banned::Annotation),
            '\u{fb00}'..='\u{fb06}' => Self::Disguised(Disguised::Ligature),
            '\u{ff01}'..='\u{ff5e}' if is_wide_filling(character) => Self::Plain,
            '\u{ff01}'..='\u{ff5e}' => Self::Disguised(Disguised::Fullwidth),
            _ => return None,
        })
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
    fn of_supplementary(character: char) -> Option<Self> {
        Some(match character {
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
            _ => return None,
        })
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
    fn carries_marks(self) -> bool {
        match self {
            Self::Plain | Self::Disguised(_) | Self::Dependent(Dependent::BrailleBlank) => true,
            Self::Mark | Self::Banned(_) | Self::Dependent(_) => false,
        }
    }
}

/// Whether the character goes on the letter in front of it.
pub(super) fn is_mark(character: char) -> bool {
    matches!(
        character.general_category(),
        GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark | GeneralCategory::EnclosingMark
    )
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
    /// How many marks the last letter carries, apart from those in question.
    marks: usize,
    /// How many characters behind those may be marks. The tables are asked only when they would be too many, because
    /// asking for each letter of a script takes longer than all the rest.
    in_question: usize,
    /// Where the first of them is.
    question: usize,
}

impl<'t> Finder<'t> {
    /// From the start of `text`.
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, marks: 0, in_question: 0, question: 0 }
    }

    /// Goes on at `at`.
    pub(super) fn resume(&mut self, at: usize) {
        self.at = at;
    }

    /// The next character that is not plain; marks only where they are too many.
    pub(super) fn next(&mut self) -> Option<Found> {
        let bytes = self.text.as_bytes();
        loop {
            let byte = *bytes.get(self.at)?;
            let width = usize::from(*PLAIN_WIDTH.get(usize::from(byte))?);
            if width > 0 {
                (self.marks, self.in_question) = (0, 0);
                self.at += if width == 1 { plain_ascii(bytes.get(self.at..)?) } else { width };
                continue;
            }
            let character = self.text.get(self.at..)?.chars().next()?;
            let (at, class) = (self.at, Class::at_a_glance(character));
            self.at += character.len_utf8();
            match class {
                Some(Class::Mark) | None => {
                    if self.is_surplus(at) {
                        return Some(Found { at, character, class: Class::Mark });
                    }
                }
                Some(Class::Plain) => (self.marks, self.in_question) = (0, 0),
                Some(class) => {
                    if class.carries_marks() {
                        (self.marks, self.in_question) = (0, 0);
                    } else if class == Class::Banned(Banned::Escape) {
                        // What a sequence is made of carries no marks once the sequence is gone.
                        self.answer(at);
                    }
                    return Some(Found { at, character, class });
                }
            }
        }
    }

    /// Counts the character at `at`, which may be a mark, and says whether it is one too many.
    fn is_surplus(&mut self, at: usize) -> bool {
        if self.in_question == 0 {
            self.question = at;
        }
        self.in_question += 1;
        if self.marks + self.in_question <= MOST_MARKS {
            return false;
        }
        self.answer(self.at);
        self.marks > MOST_MARKS
    }

    /// Finds out how many of the characters in question up to `end` are marks on the last letter.
    fn answer(&mut self, end: usize) {
        if self.in_question == 0 {
            return;
        }
        self.in_question = 0;
        let mut marks = 0;
        for character in self.text.get(self.question..end).unwrap_or_default().chars().rev() {
            match Class::of(character) {
                Class::Mark => marks += 1,
                class if class.carries_marks() => {
                    self.marks = marks;
                    return;
                }
                Class::Plain | Class::Banned(_) | Class::Dependent(_) | Class::Disguised(_) => {}
            }
        }
        self.marks += marks;
    }
}

/// How many bytes a plain character takes, by its first byte; zero where the first byte does not tell that it is plain.
static PLAIN_WIDTH: [u8; 256] = plain_widths();

const fn plain_widths() -> [u8; 256] {
    let mut widths = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::indexing_slicing, reason = "bounded by the loop, and evaluated when compiled")]
        {
            widths[byte] = match byte {
                0x09 | 0x0a | 0x0d | 0x20..=0x7e => 1,
                // Latin, Greek, Cyrillic without its marks, Armenian
                0xc3..=0xcb | 0xce..=0xd1 | 0xd3..=0xd5 => 2,
                // Han and Hangul
                0xe4..=0xe9 | 0xeb..=0xed => 3,
                _ => 0,
            };
        }
        byte += 1;
    }
    widths
}

/// How many bytes at the start of `bytes` are plain ASCII, counted in large steps. At least one, which the caller saw.
fn plain_ascii(bytes: &[u8]) -> usize {
    const STEP: usize = 64;
    // A space between words of another script.
    if !bytes.get(1).copied().is_some_and(is_plain_ascii) {
        return 1;
    }
    let mut count = 0;
    while let Some(chunk) = bytes.get(count..).and_then(|rest| rest.first_chunk::<STEP>()) {
        // Without a branch per byte this compiles to vector instructions.
        if !chunk.iter().fold(true, |plain, byte| plain & is_plain_ascii(*byte)) {
            break;
        }
        count += STEP;
    }
    let rest = bytes.get(count..).unwrap_or_default();
    let tail = rest.iter().take(STEP).take_while(|byte| is_plain_ascii(**byte)).count();
    (count + tail).max(1)
}

fn is_plain_ascii(byte: u8) -> bool {
    (byte.wrapping_sub(b' ') < 0x5f) | (byte == b'\t') | (byte == b'\n') | (byte == b'\r')
}
