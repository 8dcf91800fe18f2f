//! Text that shows what it contains.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// `text` with every character that would not show as itself written as an escape such as `\u{202e}`.
///
/// For findings and reports: what hid in a file must not hide in the message about it, nor reach a terminal as a command.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            hidden if is_hidden(hidden) => {
                let _infallible = write!(shown, "\\u{{{:x}}}", u32::from(hidden));
            }
            plain => shown.push(plain),
        }
    }
    Cow::Owned(shown)
}

/// Whether a reader could not see the character, or a terminal would act on it.
pub(crate) fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    let invisible_letter = matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    );
    invisible_letter
        || matches!(
            character.general_category(),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Surrogate
                | GeneralCategory::Unassigned
        )
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn shows_what_hides_and_leaves_the_rest() {
        assert_eq!(visible("plain text"), "plain text");
        assert_eq!(visible("naïve 漢字 🎉"), "naïve 漢字 🎉");
        assert_eq!(visible("a\u{202e}b\u{200b}c\u{1b}[31m\n"), "a\\u{202e}b\\u{200b}c\\u{1b}[31m\\n");
        assert_eq!(visible("\u{e0048}\u{fe0f}\u{3164}"), "\\u{e0048}\\u{fe0f}\\u{3164}");
    }
}
