//! The strings of a parsed JSON value.

use serde_json::Value;

/// A string of a parsed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit<'v> {
    /// A key, which is shown and stays: no string can become, replace or remove a member.
    Key(&'v str),
    /// A value.
    Value {
        /// The nearest key above it.
        key: Option<&'v str>,
        /// The string.
        text: &'v str,
    },
}

/// Shows every string of `value` to `map`, and puts what it returns for a value in its place. What it returns for a key
/// is dropped.
///
/// The shape stays: members, their order, elements, numbers. Values of any depth are walked without recursion.
pub fn map_strings(value: &mut Value, mut map: impl FnMut(Visit<'_>) -> Option<String>) {
    let mut left: Vec<(Option<&str>, &mut Value)> = vec![(None, value)];
    while let Some((key, value)) = left.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if let Some(changed) = map(Visit::Value { key, text: text.as_str() }) {
                    *text = changed;
                }
            }
            Value::Array(items) => left.extend(items.iter_mut().rev().map(|item| (key, item))),
            Value::Object(members) => {
                let first = left.len();
                for (name, member) in members {
                    map(Visit::Key(name));
                    left.push((Some(name), member));
                }
                // What was put last comes off first.
                left.get_mut(first..).unwrap_or_default().reverse();
            }
        }
    }
}
