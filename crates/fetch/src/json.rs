//! JSON in the one spelling that the files of the cache have.
//!
//! Other programs read and write the same files. They escape `&`, `<` and `>` inside strings, so ours do too: two
//! programs that store the same fact store the same bytes.

use serde::Serialize;

/// Indented by two spaces, without a newline at the end.
pub(crate) fn pretty<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| escape(&text))
}

/// On one line, without a newline at the end.
pub(crate) fn compact<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|text| escape(&text))
}

/// Replaces characters that JSON has inside strings only, so that no structure can be hit.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '<' | '>' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{compact, pretty};

    #[test]
    fn markup_characters_are_escaped_and_read_back_as_themselves() {
        let text = "https://x/y?a=1&b=<2>\u{2028}";
        let written = compact(&text).unwrap();
        assert_eq!(written, r#""https://x/y?a=1\u0026b=\u003c2\u003e\u2028""#);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    #[test]
    fn pretty_text_has_two_spaces_and_no_newline_at_the_end() {
        assert_eq!(pretty(&[1, 2]).unwrap(), "[\n  1,\n  2\n]");
    }
}
