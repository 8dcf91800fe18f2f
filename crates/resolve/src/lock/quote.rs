//! When a text needs quotes in YAML, and which.
//!
//! Readers of the two YAML versions in use differ about what plain text means: `on`, `1_000`, `1:30` or a date may be
//! anything but text. Whatever any of them would not read as text is quoted, and nothing else, so that the file looks the
//! same whoever writes it.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` as a YAML scalar on one line, as a value or a key.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    if text.chars().any(needs_escape) || means_something_else(text) {
        return Cow::Owned(double_quoted(text));
    }
    if acts_as_syntax(text) {
        return Cow::Owned(format!("'{}'", text.replace('\'', "''")));
    }
    Cow::Borrowed(text)
}

/// Control characters, line breaks of all sorts, and characters that YAML does not count as printable.
fn needs_escape(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        // Writing to a string cannot fail.
        let _infallible = match letter {
            '"' | '\\' => write!(quoted, "\\{letter}"),
            '\n' => quoted.write_str("\\n"),
            '\t' => quoted.write_str("\\t"),
            '\r' => quoted.write_str("\\r"),
            _ if needs_escape(letter) => write!(quoted, "\\u{:04x}", u32::from(letter)),
            _ => quoted.write_char(letter),
        };
    }
    quoted.push('"');
    quoted
}

/// Whether plain text would start a comment, a list, a mapping, a quote, an anchor and so on.
fn acts_as_syntax(text: &str) -> bool {
    text.starts_with([' ', '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`'])
        || text.starts_with("---")
        || text.starts_with("...")
        || ["-", "?", ":"].iter().any(|mark| text == *mark || text.starts_with(&format!("{mark} ")))
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #")
}

/// Whether plain text would be null, a boolean, a merge, a number or a date to some reader.
fn means_something_else(text: &str) -> bool {
    const WORDS: &[&str] = &["", "~", "<<", "=", "null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
        || [".inf", ".nan"].iter().any(|word| word.eq_ignore_ascii_case(unsigned))
        || is_number(unsigned)
        || is_date(text)
}

/// Decimal, exponential, hexadecimal, octal, binary or base 60, with `_` between digits.
fn is_number(text: &str) -> bool {
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return false;
    }
    let digits = text.replace('_', "");
    let radix = ["0x", "0o", "0b"].iter().find_map(|prefix| digits.strip_prefix(prefix));
    if let Some(digits) = radix {
        return !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    }
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((&digits, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = mantissa.bytes().any(|byte| byte.is_ascii_digit());
    has_digits
        && all_digits(&whole.replace(':', ""))
        && all_digits(fraction)
        && !exponent.is_empty()
        && all_digits(exponent)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `2026-06-08`, alone or with a time.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let year = parts.next().is_some_and(|year| year.len() == 4 && all_digits(year));
    let month = parts.next().is_some_and(|month| matches!(month.len(), 1 | 2) && all_digits(month));
    let day = parts.next().is_some_and(|rest| {
        let day = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = rest.get(day..).unwrap_or_default();
        matches!(day, 1 | 2) && (after.is_empty() || after.starts_with(['T', 't', ' ']))
    });
    year && month && day
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn only_what_would_be_read_otherwise_is_quoted() {
        for plain in [
            "code",
            "skills[0]",
            "skills[https://x/y:dep0]",
            "https://x/a?b=c&d",
            "a b",
            "a#b",
            "a:b",
            "1.2.3",
            "1-2",
            "harness/code.yaml",
            "yesterday",
            "-a",
            "?a",
            ":a",
            "a'b",
            "a\"b",
            "é",
            "v1",
            "a, b",
            "2026-06-x",
            "e5",
            "1e5x",
            "0xg",
            "a]",
            "..",
            "--",
        ] {
            assert_eq!(quoted(plain), plain);
        }
        for (text, double) in [
            ("", "\"\""),
            ("~", "\"~\""),
            ("null", "\"null\""),
            ("Yes", "\"Yes\""),
            ("n", "\"n\""),
            ("off", "\"off\""),
            ("<<", "\"<<\""),
            ("1", "\"1\""),
            ("0123", "\"0123\""),
            ("1_0", "\"1_0\""),
            ("1e5", "\"1e5\""),
            ("-.inf", "\"-.inf\""),
            (".NaN", "\".NaN\""),
            ("0x1f", "\"0x1f\""),
            ("1:30", "\"1:30\""),
            ("1.5", "\"1.5\""),
            ("+1.", "\"+1.\""),
            (".5", "\".5\""),
            ("2026-06-08", "\"2026-06-08\""),
            ("2026-6-8 1:2:3", "\"2026-6-8 1:2:3\""),
            ("a\nb", "\"a\\nb\""),
            ("\u{7f}\"\\", "\"\\u007f\\\"\\\\\""),
            ("\u{2028}", "\"\\u2028\""),
        ] {
            assert_eq!(quoted(text), double);
        }
        for (text, single) in [
            ("a: b", "'a: b'"),
            ("a #b", "'a #b'"),
            ("a:", "'a:'"),
            (" a", "' a'"),
            ("a ", "'a '"),
            ("*a", "'*a'"),
            ("'a", "'''a'"),
            ("[a]", "'[a]'"),
            ("- a", "'- a'"),
            ("-", "'-'"),
            ("---", "'---'"),
            ("...", "'...'"),
            ("@a", "'@a'"),
        ] {
            assert_eq!(quoted(text), single);
        }
    }
}
