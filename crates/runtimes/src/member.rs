//! Members of JSON that may hold anything or nothing.

use serde_json::Value;

static NOTHING: Value = Value::Null;

/// A member; nothing if there is none.
pub(crate) fn at<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(&NOTHING)
}

/// A member that is a text; empty if it is none.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    at(value, name).as_str().unwrap_or_default()
}

/// A member that is a text, if it is one.
pub(crate) fn owned(value: &Value, name: &str) -> Option<String> {
    at(value, name).as_str().map(str::to_owned)
}

/// A member that counts something; 0 if it does not.
pub(crate) fn number(value: &Value, name: &str) -> u64 {
    at(value, name).as_u64().unwrap_or_default()
}
