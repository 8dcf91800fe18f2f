//! Whether what happened is what the script expects, and how it differs.

use serde_json::Value;
use similar::TextDiff;

use super::script::{Check, Expectation};
use super::template::{Past, Templates};

/// How much of a text goes into a difference.
const MAX_SHOWN: usize = 8 * 1024;

impl Expectation {
    /// What is wrong, if something is.
    pub(super) fn check(&self, past: &Past<'_>, templates: &Templates) -> Result<(), String> {
        if let Check::User(text) = &self.check {
            let text = templates.fill(text, past)?;
            let found = past.user.contains(&text);
            return if found {
                Ok(())
            } else {
                Err(differs("the last user message lacks a text", &text, past.user))
            };
        }
        let results = &past.results;
        let Some(result) = pick(results, self.result) else {
            let count = results.len();
            return Err(format!("result {} is expected, and there are {count} results", self.result));
        };
        match &self.check {
            Check::Contains(text) => {
                let text = templates.fill(text, past)?;
                if result.contains(&text) {
                    Ok(())
                } else {
                    Err(differs("the result lacks a text", &text, result))
                }
            }
            Check::Matches(pattern) if pattern.is_match(result) => Ok(()),
            Check::Matches(pattern) => {
                Err(differs("the result does not match a regular expression", pattern.as_str(), result))
            }
            Check::Json { pointer, part } => {
                let part = templates.fill_json(part, past)?;
                check_json(result, pointer, &part)
            }
            Check::User(_) => Ok(()),
        }
    }
}

/// The element at a position that counts from the end if it is negative.
fn pick<'m>(results: &[&'m str], position: i64) -> Option<&'m str> {
    let from_end = usize::try_from(position.unsigned_abs()).ok()?;
    match position < 0 {
        true => results.get(results.len().checked_sub(from_end)?).copied(),
        false => results.get(from_end).copied(),
    }
}

/// Checks that a result holds everything that is in `part`.
fn check_json(result: &str, pointer: &str, part: &Value) -> Result<(), String> {
    let Ok(whole) = serde_json::from_str::<Value>(result) else {
        return Err(differs("the result is not JSON", &pretty(part), result));
    };
    let Some(found) = whole.pointer(pointer) else {
        return Err(differs(
            &format!("the result has nothing at `{pointer}`"),
            &pretty(part),
            &pretty(&whole),
        ));
    };
    // What the result would be if it held everything: the difference to it shows what is missing, and nothing else.
    let expected = overlaid(found, part);
    if expected == *found {
        return Ok(());
    }
    Err(differs("the result does not hold what is expected", &pretty(&expected), &pretty(found)))
}

/// `found` with everything that is in `part`. Lists must have the same length; their elements may hold more.
fn overlaid(found: &Value, part: &Value) -> Value {
    match (found, part) {
        (Value::Object(found), Value::Object(part)) => {
            let mut all = found.clone();
            for (name, value) in part {
                let below = found.get(name).map_or_else(|| value.clone(), |found| overlaid(found, value));
                all.insert(name.clone(), below);
            }
            Value::Object(all)
        }
        (Value::Array(found), Value::Array(part)) if found.len() == part.len() => {
            found.iter().zip(part).map(|(found, part)| overlaid(found, part)).collect()
        }
        (Value::Number(found_number), Value::Number(number)) if found_number.as_f64() == number.as_f64() => {
            found.clone()
        }
        _ => part.clone(),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

/// A message with the difference between what was expected and what came, line by line.
fn differs(what: &str, expected: &str, found: &str) -> String {
    let (expected, found) = (beginning(expected), beginning(found));
    let diff = TextDiff::from_lines(expected.as_str(), found.as_str());
    let mut unified = diff.unified_diff();
    let lines = unified.header("expected", "found").missing_newline_hint(false).to_string();
    format!("{what}\n{}", lines.trim_end())
}

/// The beginning of a text, for people: without what a terminal would act on.
fn beginning(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_SHOWN);
    let shown = text.get(..end).unwrap_or_default();
    let mut lines: Vec<String> =
        shown.lines().map(|line| fullsend_yaml::printable(line.to_owned())).collect();
    if end < text.len() {
        lines.push("…".to_owned());
    }
    lines.join("\n") + "\n"
}
