//! The parsed document: scalars, sequences and mappings, each with its place.

use std::borrow::Cow;

use crate::Location;

/// One node of a document; text is borrowed from the source where no escape had to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'t> {
    /// What it is.
    pub value: Value<'t>,
    /// Where it was written; for an alias, where its anchor stands.
    pub at: Location,
}

/// The three kinds of node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'t> {
    /// Text, number, boolean or null: see [`Scalar`].
    Scalar(Scalar<'t>),
    /// A list.
    Sequence(Vec<Node<'t>>),
    /// Key-value pairs in document order, merge keys applied, keys unique.
    Mapping(Vec<Entry<'t>>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The key's text.
    pub key: Cow<'t, str>,
    /// Where the key was written.
    pub key_at: Location,
    /// The value.
    pub value: Node<'t>,
}

/// A scalar as written; what it means depends on the type that reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar<'t> {
    /// The text after undoing quotes and escapes.
    pub text: Cow<'t, str>,
    /// How it was written.
    pub style: ScalarStyle,
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarStyle {
    /// Without quotes: may mean a number, a boolean or null.
    Plain,
    /// Quoted or a block scalar: always text.
    Text,
}

impl Node<'_> {
    /// What a person would call this node, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar(scalar) => scalar.kind(),
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }

    /// The same value as JSON. Recursion is bounded by the depth limit that the document was parsed under.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Scalar(scalar) => scalar.to_json(),
            Value::Sequence(items) => items.iter().map(Node::to_json).collect(),
            Value::Mapping(entries) => {
                entries.iter().map(|entry| (entry.key.clone().into_owned(), entry.value.to_json())).collect()
            }
        }
    }

    /// Whether the node means "absent": empty, `~` or `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.is_null())
    }

    /// Whether the node is a scalar without any text.
    #[must_use]
    pub fn is_empty_text(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.text.is_empty())
    }
}
