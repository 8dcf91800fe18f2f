//! What may be said about what a server said.

use std::borrow::Cow;

use super::config::{ApiKey, Auth};

/// How much of a refusal is kept, in characters.
pub(super) const MAX_EXCERPT: usize = 2048;
/// Shorter keys are no secrets, and would be found in every word.
const MIN_KEY: usize = 4;

/// Takes the key out of a text: servers quote it in their refusals, and hostile ones on purpose.
pub(super) fn without_key<'t>(text: &'t str, auth: &Auth) -> Cow<'t, str> {
    let key = match auth {
        Auth::Bearer { key, .. } => ApiKey::reveal(key),
        Auth::None => "",
    };
    if key.len() >= MIN_KEY && text.contains(key) {
        Cow::Owned(text.replace(key, "[key]"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The beginning of a text with control characters made visible, and whether there is more.
pub(super) fn excerpt(text: &str) -> (String, bool) {
    let mut shown = String::new();
    let mut room = MAX_EXCERPT;
    for letter in text.chars() {
        let length = if is_only_shown(letter) { 1 } else { letter.escape_default().count() };
        let Some(rest) = room.checked_sub(length) else { return (shown, true) };
        room = rest;
        if length == 1 {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    (shown, false)
}

/// Whether a terminal only shows a character, and does nothing else about it.
fn is_only_shown(letter: char) -> bool {
    let directs =
        matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !letter.is_control() && !directs
}
