//! Every text in a value.

use serde_json::Value;

/// Shows every text in `value` to `visit`, also the names of members. Its depth is limited by the reader.
pub(super) fn each(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            visit(name);
            each(member, visit);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
