//! A value of any shape, kept as it is for the software that reads it.

use fullsend_yaml::{FromNode, Node, Reader};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// Any YAML value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opaque(serde_json::Value);

impl Opaque {
    /// Whether it says no: `false`, `none` or `off`.
    pub fn is_no(&self) -> bool {
        match &self.0 {
            serde_json::Value::Bool(flag) => !flag,
            serde_json::Value::String(word) => matches!(word.as_str(), "none" | "off"),
            serde_json::Value::Null
            | serde_json::Value::Number(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => false,
        }
    }
}

impl FromNode for Opaque {
    fn from_node(node: &Node<'_>, _: &mut Reader<'_>) -> Option<Self> {
        Some(Self(node.to_json()))
    }
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
