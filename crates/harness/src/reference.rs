//! Reference material generated from the schema: JSON Schema for editors, Markdown for people.

mod markdown;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::schema::{AgentDefinition, ConfigFile, HarnessFile, ProviderDefinition};

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
}

impl DocumentKind {
    fn title(self) -> &'static str {
        match self {
            DocumentKind::Harness => "Harness file",
            DocumentKind::Config => "Configuration file",
            DocumentKind::Agent => "Agent definition",
            DocumentKind::Provider => "Provider definition",
        }
    }
}

/// The JSON Schema of a kind of document.
#[must_use]
pub fn json_schema(kind: DocumentKind) -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = match kind {
        DocumentKind::Harness => generator.into_root_schema_for::<HarnessFile>(),
        DocumentKind::Config => generator.into_root_schema_for::<ConfigFile>(),
        DocumentKind::Agent => generator.into_root_schema_for::<AgentDefinition>(),
        DocumentKind::Provider => generator.into_root_schema_for::<ProviderDefinition>(),
    };
    schema.insert("title".to_owned(), kind.title().into());
    schema.to_value()
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
