//! Front matter as many people write it: text with colons in it and no quotes around.

use std::borrow::Cow;

/// Quotes top-level values that YAML cannot read without quotes; `None` when there is none.
///
/// The number of lines stays the same, so that places in the result are places in the original.
pub(crate) fn quote_values(yaml: &str) -> Option<String> {
    let mut lines = yaml.split_inclusive('\n').peekable();
    let mut repaired = String::with_capacity(yaml.len() + 16);
    let mut changed = false;
    while let Some(line) = lines.next() {
        let mut continued = Vec::new();
        if plain_value(line).is_some() {
            while let Some(next) = lines.next_if(|next| is_indented(next)) {
                continued.push(next);
            }
        }
        match plain_value(line).and_then(|(key, value)| quoted(key, value, &continued)) {
            Some(text) => {
                changed = true;
                repaired.push_str(&text);
                repaired.extend(std::iter::repeat_n('\n', continued.len() + 1));
            }
            None => {
                repaired.push_str(line);
                repaired.extend(continued);
            }
        }
    }
    changed.then_some(repaired)
}

/// Key and value of a line at the top level whose value is neither empty nor written in another style.
fn plain_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key =
        !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter));
    let value = value.strip_prefix([' ', '\t'])?.trim();
    let is_plain =
        !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!', '#']);
    (is_key && is_plain).then_some((key, value))
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty()
}

/// The whole value on one line in quotes, if it needs them.
fn quoted(key: &str, value: &str, continued: &[&str]) -> Option<String> {
    let mut whole = Cow::Borrowed(without_comment(value));
    for line in continued {
        let text = without_comment(line.trim());
        let joined = whole.to_mut();
        joined.push(' ');
        joined.push_str(text);
    }
    let needs_quotes = whole.contains(": ")
        || whole.contains(":\t")
        || whole.ends_with(':')
        || whole.starts_with(['@', '`', '%'])
        || whole.starts_with("- ");
    needs_quotes.then(|| format!("{key}: '{}'", whole.replace('\'', "''")))
}

fn without_comment(text: &str) -> &str {
    text.split_once(" #").map_or(text, |(before, _)| before.trim_end())
}
