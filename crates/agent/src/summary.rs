//! Arguments as they stand in the record of decisions: sizes and digests, and what names a place.

use fullsend_origin::Sha256Digest;
use serde_json::{Map, Value};

/// Arguments that are kept as they are: they name what was touched, and are short.
const PLAIN: &[&str] = &["path", "cwd", "url", "mode", "skill", "glob", "name", "action", "kind", "ref"];

/// The longest of them.
const LONGEST_PLAIN: usize = 1024;

/// What is kept of the arguments of a call.
pub(crate) fn of(tool: &str, input: &Map<String, Value>) -> Map<String, Value> {
    let mut summary = Map::new();
    summary.insert("type".to_owned(), Value::from("fullsend.tool-input-summary"));
    summary.insert("toolId".to_owned(), Value::from(tool));
    for (key, value) in input {
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => {
                summary.insert(key.clone(), value.clone());
            }
            Value::String(text) if PLAIN.contains(&key.as_str()) && text.len() <= LONGEST_PLAIN => {
                summary.insert(key.clone(), value.clone());
            }
            Value::String(text) => measure(&mut summary, key, text),
            Value::Array(items) => {
                summary.insert(format!("{key}Count"), Value::from(items.len()));
                measure(&mut summary, key, &value.to_string());
            }
            Value::Object(_) => measure(&mut summary, key, &value.to_string()),
        }
    }
    summary
}

fn measure(summary: &mut Map<String, Value>, key: &str, text: &str) {
    summary.insert(format!("{key}Bytes"), Value::from(text.len()));
    let digest = format!("sha256:{}", Sha256Digest::of(text.as_bytes()));
    summary.insert(format!("{key}Digest"), Value::from(digest));
}
