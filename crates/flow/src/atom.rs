//! The smallest thing a label speaks of: a principal, a source, an endorsement.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A principal, a source or an endorsement. Any JSON value; two are equal when they are the same value, whatever the order
/// of their keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom(Arc<str>);

impl Atom {
    /// An atom that is a plain name.
    pub fn named(name: &str) -> Self {
        Self::from_value(&Value::from(name))
    }

    /// An atom that is a JSON value.
    pub fn from_value(value: &Value) -> Self {
        Self(sorted(value).to_string().into())
    }

    /// The value.
    pub fn to_value(&self) -> Value {
        // The text was made from a value, so that it can be read; `Null` is never reached.
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_value() {
            Value::String(name) => formatter.write_str(&name),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                formatter.write_str(&self.0)
            }
        }
    }
}

impl Serialize for Atom {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Atom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from_value(&value))
    }
}

/// The same value with the keys of every object in order. Values come from parsed JSON, whose depth is bounded.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            let member = |key: &String| (key.clone(), members.get(key).map_or(Value::Null, sorted));
            Value::Object(keys.into_iter().map(member).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
