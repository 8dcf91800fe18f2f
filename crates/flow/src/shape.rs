//! What may be told about a value that is not shown: its type and a rough size, never its content.
//!
//! Everything here is rebuilt from a list of what is allowed. Copying and deleting would let through the next
//! keyword someone invents.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::pointer;

const MOST_ENTRIES: usize = 200;
const LONGEST_NAME: usize = 128;
const DEEPEST: usize = 100;
const TYPES: [&str; 9] =
    ["object", "array", "string", "integer", "number", "boolean", "null", "undefined", "unknown"];
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// How large a hidden value is, roughly: an exact size would be a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SizeClass {
    /// No bytes.
    Empty,
    /// At most 1 KiB.
    Small,
    /// At most 64 KiB.
    Medium,
    /// More than 64 KiB.
    Large,
}

impl SizeClass {
    /// The class of this many bytes.
    #[must_use]
    pub const fn of(bytes: u64) -> Self {
        match bytes {
            0 => Self::Empty,
            1..=1024 => Self::Small,
            1025..=65_536 => Self::Medium,
            _ => Self::Large,
        }
    }
}

/// The outermost type of a value as a schema.
///
/// Nothing inside is described: keys, lengths, and the way lists nest are all free for the author of the value
/// to choose. Where a schema was declared, [`shape_of`] says more.
#[must_use]
pub fn shape_of_value(value: &Value) -> Value {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    json!({ "type": name })
}

/// The structure of a schema: types, property names and how parts nest, without any text or value it holds.
#[must_use]
pub fn shape_of(schema: &Value) -> Value {
    let roots = DEFINITIONS.map(|map| (map, renamed(schema.get(map))));
    Shaping { roots: roots.into() }.shape(schema, 0)
}

/// What the kept entries of a map of definitions are called: their own names are free text.
fn renamed(map: Option<&Value>) -> HashMap<&str, String> {
    let names = map.and_then(Value::as_object).map(disclosed).unwrap_or_default();
    names.into_iter().enumerate().map(|(at, (name, _))| (name, format!("d{at}"))).collect()
}

fn disclosed(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let short = |name: &str| name.encode_utf16().count() <= LONGEST_NAME;
    map.iter()
        .map(|(name, schema)| (name.as_str(), schema))
        .filter(|(name, _)| short(name))
        .take(MOST_ENTRIES)
        .collect()
}

struct Shaping<'s> {
    roots: HashMap<&'static str, HashMap<&'s str, String>>,
}

impl Shaping<'_> {
    fn shape(&self, schema: &Value, depth: usize) -> Value {
        match schema {
            Value::Bool(_) => schema.clone(),
            Value::Object(map) if depth <= DEEPEST => Value::Object(self.shape_of_map(map, depth + 1)),
            Value::Object(_) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                json!({})
            }
        }
    }

    fn shape_of_map(&self, map: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut shape = Map::new();
        let mut keep = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                shape.insert(key.to_owned(), value);
            }
        };
        keep("type", map.get("type").and_then(known_types));
        keep("format", map.get("format").filter(|format| is_one_of(format, &FORMATS)).cloned());
        keep("$ref", map.get("$ref").and_then(|reference| self.reference(reference)));
        for key in ["items", "contains", "additionalProperties", "not"] {
            keep(key, map.get(key).map(|part| self.shape(part, depth)));
        }
        for key in ["allOf", "anyOf", "oneOf", "prefixItems"] {
            let parts = map.get(key).and_then(Value::as_array);
            keep(key, parts.map(|parts| parts.iter().map(|part| self.shape(part, depth)).collect()));
        }
        self.keep_maps(map, depth, &mut shape);
        shape
    }

    fn keep_maps(&self, map: &Map<String, Value>, depth: usize, shape: &mut Map<String, Value>) {
        let mut omitted = false;
        if let Some(properties) = map.get("properties").and_then(Value::as_object) {
            let kept = disclosed(properties);
            omitted |= kept.len() < properties.len();
            let shapes: Map<_, _> =
                kept.into_iter().map(|(name, part)| (name.to_owned(), self.shape(part, depth))).collect();
            if let Some(required) = map.get("required").and_then(|names| required_of(names, &shapes)) {
                shape.insert("required".to_owned(), required);
            }
            shape.insert("properties".to_owned(), Value::Object(shapes));
        }
        for key in DEFINITIONS {
            let Some(definitions) = map.get(key).and_then(Value::as_object) else { continue };
            let kept = disclosed(definitions);
            omitted |= kept.len() < definitions.len();
            let parts = kept.into_iter().enumerate();
            let parts = parts.map(|(at, (_, part))| (format!("d{at}"), self.shape(part, depth)));
            shape.insert(key.to_owned(), Value::Object(parts.collect()));
        }
        if omitted {
            // What is left out must not read as forbidden.
            shape.insert("additionalProperties".to_owned(), Value::Bool(true));
        }
    }

    /// Only the root and its definitions may be referred to: any other pointer repeats names of the original.
    fn reference(&self, reference: &Value) -> Option<Value> {
        let pointer = pointer::local_pointer(reference.as_str()?)?;
        if pointer.is_empty() {
            return Some(json!("#"));
        }
        let (map, name) = pointer.strip_prefix('/')?.split_once('/')?;
        if name.contains('/') {
            return None;
        }
        let renamed = self.roots.get(map)?.get(pointer::unescaped_step(name).as_str())?;
        Some(json!(format!("#/{map}/{renamed}")))
    }
}

fn is_one_of(value: &Value, allowed: &[&str]) -> bool {
    value.as_str().is_some_and(|text| allowed.contains(&text))
}

fn known_types(types: &Value) -> Option<Value> {
    let Some(list) = types.as_array() else {
        return is_one_of(types, &TYPES).then(|| types.clone());
    };
    let kept = unique(list.iter().filter_map(Value::as_str).filter(|name| TYPES.contains(name)));
    (!kept.is_empty()).then(|| json!(kept))
}

fn required_of(names: &Value, properties: &Map<String, Value>) -> Option<Value> {
    let named = names.as_array()?.iter().filter_map(Value::as_str);
    let kept = unique(named.filter(|name| properties.contains_key(*name)));
    (!kept.is_empty()).then(|| json!(kept))
}

/// Each name once, in order: how often it was repeated is nobody's business.
fn unique<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut kept = Vec::new();
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}
