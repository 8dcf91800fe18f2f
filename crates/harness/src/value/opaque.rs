//! A value of any shape, kept as it is for the software that reads it.

use fullsend_yaml::{FromNode, Node, Reader, Scalar, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// Any YAML value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opaque(serde_json::Value);

impl FromNode for Opaque {
    fn from_node(node: &Node<'_>, _: &mut Reader<'_>) -> Option<Self> {
        Some(Self(to_json(node)))
    }
}

/// Recursion is bounded by the depth limit that the document was parsed under.
fn to_json(node: &Node<'_>) -> serde_json::Value {
    match &node.value {
        Value::Scalar(scalar) => scalar_to_json(scalar),
        Value::Sequence(items) => items.iter().map(to_json).collect(),
        Value::Mapping(entries) => {
            entries.iter().map(|entry| (entry.key.clone().into_owned(), to_json(&entry.value))).collect()
        }
    }
}

fn scalar_to_json(scalar: &Scalar<'_>) -> serde_json::Value {
    if scalar.is_null() {
        return serde_json::Value::Null;
    }
    let number = || scalar.as_integer().map(Into::into).or_else(|| scalar.as_float().map(Into::into));
    scalar
        .as_bool()
        .map(Into::into)
        .or_else(number)
        .unwrap_or_else(|| scalar.text.clone().into_owned().into())
}

impl JsonSchema for Opaque {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Any".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}
