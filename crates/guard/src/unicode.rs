//! Characters that hide, mislead or command: found, and taken out of a text without harm to what people write.
//!
//! Invisible characters split words for filters and carry messages to a model; direction characters make text read
//! differently from what it says; escape sequences command the terminal that shows it. Most of them also have honest
//! uses, in emoji and in the scripts of half the world, and those stay as they are, byte for byte. Text is not normalised:
//! accents, typographic spaces and symbols stay in the form in which they were written, and whoever matches text folds it
//! for the matching.
//!
//! Three passes, each over what the one before left: what has no place anywhere, what depends on its company, and letters
//! in disguise. Cleaning what was cleaned finds nothing.

mod class;
mod draft;
mod fold;
mod kind;
mod paragraph;
mod plain;
mod rules;
mod run;
mod script;
mod settle;
mod smuggled;
mod strip;
mod styled;
mod terminal;

use draft::Draft;

pub use rules::{
    ALL as RULES, ANNOTATION, ANSI_ESCAPE, BIDI_OVERRIDE, BLANK_FILLER, CONTROL_CHAR, FULLWIDTH, LIGATURE,
    NULL_BYTE, OSC_ESCAPE, SOFT_HYPHEN, STACKED_MARKS, STYLED_LETTERS, TAG_CHAR, VARIATION_SELECTOR,
    ZERO_WIDTH,
};

use crate::scanner::{Scan, Scanner, ScannerId};

/// Finds and takes out characters that hide, mislead or command.
#[derive(Clone, Copy, Debug)]
pub struct UnicodeScanner {
    beginning: Beginning,
}

/// What U+FEFF at the very beginning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// A character of no width.
    Text,
    /// A byte-order mark, which some programs need to read their file.
    File,
}

impl UnicodeScanner {
    /// For text from anywhere.
    pub const fn new() -> Self {
        Self { beginning: Beginning::Text }
    }

    /// For whole files, which may begin with a byte-order mark.
    pub const fn for_files() -> Self {
        Self { beginning: Beginning::File }
    }
}

impl Default for UnicodeScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner for UnicodeScanner {
    fn id(&self) -> ScannerId {
        ScannerId::UnicodeNormalizer
    }

    fn scan(&self, text: &str) -> Scan {
        let mut draft = Draft::default();
        let (stripped, rest) = draft.pass(text, |text, pass| strip::strip(text, self.beginning, pass));
        let settled = match rest.dependent {
            true => draft.pass(&stripped, settle::settle).0,
            false => stripped.as_ref().into(),
        };
        if rest.disguised {
            draft.pass(&settled, fold::fold);
        }
        draft.finish()
    }
}

#[cfg(test)]
mod tests;
