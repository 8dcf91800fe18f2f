//! Reference material generated from the schema: JSON Schema for editors, Markdown for people.

mod markdown;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::schema::{AgentDefinition, ConfigFile, FlowRules, HarnessFile, ProviderDefinition, SandboxPolicy};

/// A kind of document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// A harness file.
    Harness,
    /// `config.yaml`.
    Config,
    /// The front matter of an agent definition.
    Agent,
    /// A provider definition.
    Provider,
    /// The policy file of a sandbox.
    SandboxPolicy,
    /// The rules of information flow.
    FlowPolicy,
}

impl DocumentKind {
    fn title(self) -> &'static str {
        match self {
            DocumentKind::Harness => "Harness file",
            DocumentKind::Config => "Configuration file",
            DocumentKind::Agent => "Agent definition",
            DocumentKind::Provider => "Provider definition",
            DocumentKind::SandboxPolicy => "Sandbox policy",
            DocumentKind::FlowPolicy => "Flow policy",
        }
    }
}

/// The JSON Schema of a kind of document.
#[must_use]
pub fn json_schema(kind: DocumentKind) -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let schema = match kind {
        DocumentKind::Harness => generator.into_root_schema_for::<HarnessFile>(),
        DocumentKind::Config => generator.into_root_schema_for::<ConfigFile>(),
        DocumentKind::Agent => generator.into_root_schema_for::<AgentDefinition>(),
        DocumentKind::Provider => generator.into_root_schema_for::<ProviderDefinition>(),
        DocumentKind::SandboxPolicy => generator.into_root_schema_for::<SandboxPolicy>(),
        DocumentKind::FlowPolicy => generator.into_root_schema_for::<FlowRules>(),
    };
    let mut schema = schema.to_value();
    accept_any_scalar(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        let head = [("$schema", root.shift_remove("$schema")), ("title", Some(kind.title().into()))];
        root.shift_remove("title");
        for (key, value) in head.into_iter().rev() {
            root.shift_insert(0, key.to_owned(), value.unwrap_or_default());
        }
    }
    schema
}

/// The reader takes numbers and booleans by their source text wherever any text will do; editors must not complain
/// about `LEVEL: 3`.
fn accept_any_scalar(schema: &mut Value) {
    if let Some(map) = schema.as_object_mut()
        && !map.contains_key("pattern")
        && !map.contains_key("enum")
        && let Some(kind) = map.get_mut("type").filter(|kind| names_text(kind))
    {
        *kind = json!(["string", "number", "boolean", "null"]);
    }
    match schema {
        Value::Object(map) => map.values_mut().for_each(accept_any_scalar),
        Value::Array(items) => items.iter_mut().for_each(accept_any_scalar),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn names_text(kind: &Value) -> bool {
    kind == "string" || kind.as_array().is_some_and(|kinds| kinds.contains(&"string".into()))
}

/// The reference page of a kind of document.
#[must_use]
pub fn markdown(kind: DocumentKind) -> String {
    markdown::page(kind, &json_schema(kind))
}

/// The reference page of the lint rules.
#[must_use]
pub fn rules_markdown() -> String {
    markdown::rules_page()
}
