//! Provider definitions and profiles.

use fullsend_yaml::{Diagnostic, FromNode, Located, Node, Reader, Value, record};
use indexmap::IndexMap;

use crate::rules;
use crate::value::Slug;

record! {
    /// A provider: credentials and settings that the sandbox's proxy attaches outside it.
    pub struct ProviderDefinition {
        /// The name by which harnesses refer to it. Required.
        name: Located<Slug> = required,
        /// The profile it uses. Required.
        profile_type as "type": Located<Slug> = required,
        /// Credentials by name; each value should be one `${VAR}` so that no secret stands in the file.
        credentials: IndexMap<String, Located<String>>,
        /// Settings by name.
        config: IndexMap<String, Located<String>>,
    }
}

/// A profile; it belongs to the sandbox, and only its identifier matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The identifier by which providers refer to it.
    pub id: Located<Slug>,
}

impl FromNode for Profile {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::Mapping(entries) = &node.value else {
            reader.wrong_type(node, "a mapping (`key: value` lines)");
            return None;
        };
        let Some(entry) = entries.iter().find(|entry| entry.key == "id") else {
            let diagnostic = Diagnostic::new(&rules::MISSING_KEY, node.at, "the profile has no `id`");
            reader.report(diagnostic.with_help("add `id: <name>`"));
            return None;
        };
        reader.at_key("id", |reader| FromNode::from_node(&entry.value, reader)).map(|id| Self { id })
    }
}
