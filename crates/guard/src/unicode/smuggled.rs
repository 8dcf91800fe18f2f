//! Text that hides in invisible characters.

use crate::severity::Severity;
use crate::visible::is_hidden;

/// How much hidden text a detail shows, in characters.
const MOST_SHOWN: usize = 120;
/// How many selectors in a row are no accident.
const LONG_RUN: usize = 4;

/// The ASCII text that tag characters stand for.
pub(super) fn tagged_text(run: &str) -> String {
    run.chars()
        .filter_map(|tag| match tag {
            '\u{e0020}'..='\u{e007e}' => char::from_u32(u32::from(tag) - 0xe0000),
            _ => None,
        })
        .take(MOST_SHOWN)
        .collect()
}

/// How bad a run of selectors is, and the text it carries, if it is text.
pub(super) fn selected_text(run: &str) -> (Severity, Option<String>) {
    let bytes: Vec<u8> = run.chars().filter_map(selected_byte).collect();
    let decoded = String::from_utf8_lossy(&bytes);
    let readable = |character: &char| {
        *character == '\n' || (*character != char::REPLACEMENT_CHARACTER && !is_hidden(*character))
    };
    let (all, seen) = (decoded.chars().count(), decoded.chars().filter(readable).count());
    // A few stray bytes around a message do not make it less of one.
    if seen >= LONG_RUN && seen * 4 >= all * 3 {
        return (Severity::Critical, Some(decoded.chars().take(MOST_SHOWN).collect()));
    }
    match run.chars().take(LONG_RUN).count() {
        LONG_RUN => (Severity::High, None),
        1 => (Severity::Low, None),
        _ => (Severity::Medium, None),
    }
}

/// The byte that a selector stands for, as they are used to carry data.
fn selected_byte(selector: char) -> Option<u8> {
    let code = u32::from(selector);
    match code {
        0xfe00..=0xfe0f => u8::try_from(code - 0xfe00).ok(),
        0xe0100..=0xe01ef => u8::try_from(code - 0xe0100 + 16).ok(),
        _ => None,
    }
}
