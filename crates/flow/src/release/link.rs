//! Sealed links: the mark that stands where something was hidden.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const KEY: &str = "@link";
const SCHEME: &str = "opaque:";

/// Whether a value is a mark left by [`release`](super::release()).
#[must_use]
pub fn is_sealed(value: &Value) -> bool {
    link_in(value).is_some_and(|link| link.starts_with(SCHEME))
}

/// The link of an object that holds a link and nothing else.
pub(super) fn link_in(value: &Value) -> Option<&str> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get(KEY)?.as_str()
}

/// The name under which schemas declare links.
pub(super) const fn link_key() -> &'static str {
    KEY
}

/// `opaque:` and the id, escaped so that no id can imitate a position.
pub(super) fn prefix(id: &str) -> String {
    let mut prefix = SCHEME.to_owned();
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            prefix.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(prefix, "%{byte:02X}");
        }
    }
    prefix
}

/// The mark for one position.
pub(super) fn sealed(prefix: &str, pointer: &str) -> Value {
    let link = if pointer.is_empty() { prefix.to_owned() } else { format!("{prefix}#{pointer}") };
    Value::Object(Map::from_iter([(KEY.to_owned(), Value::String(link))]))
}
