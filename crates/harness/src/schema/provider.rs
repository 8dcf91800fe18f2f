//! Provider definitions and profiles.

use fullsend_yaml::{Diagnostic, FromNode, Located, Location, Node, Reader, Value, record};
use indexmap::IndexMap;

use crate::rules;
use crate::value::{Bounded, Slug};

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

/// A profile: the hosts that a provider stands for. Its other keys belong to other sandboxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The identifier by which providers refer to it.
    pub id: Located<Slug>,
    /// The hosts.
    pub endpoints: Vec<ProfileEndpoint>,
    /// Whether only some programs were meant to reach them.
    pub binaries: Option<Location>,
}

/// A host of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileEndpoint {
    /// `host` or `*.domain`.
    pub host: Located<String>,
    /// The port. Default: 443.
    pub port: Option<Located<Bounded<1, 65535>>>,
    /// Whether only reading was meant.
    pub read_only: bool,
}

impl FromNode for Profile {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::Mapping(entries) = &node.value else {
            reader.wrong_type(node, "a mapping (`key: value` lines)");
            return None;
        };
        let entry = |key: &str| entries.iter().find(|entry| entry.key == key);
        let Some(id) = entry("id") else {
            let diagnostic = Diagnostic::new(&rules::MISSING_KEY, node.at, "the profile has no `id`");
            reader.report(diagnostic.with_help("add `id: <name>`"));
            return None;
        };
        let endpoints = entry("endpoints").and_then(|entry| reader.field(entry)).unwrap_or_default();
        let binaries = entry("binaries").map(|entry| entry.value.at);
        let id = reader.at_key("id", |reader| FromNode::from_node(&id.value, reader))?;
        Some(Self { id, endpoints, binaries })
    }
}

impl FromNode for ProfileEndpoint {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let entries = reader.mapping(node)?;
        let entry = |key: &str| entries.iter().find(|entry| entry.key == key);
        let Some(host) = entry("host").and_then(|entry| reader.field(entry)) else {
            let diagnostic = Diagnostic::new(&rules::MISSING_KEY, node.at, "the endpoint has no `host`");
            reader.report(diagnostic.with_help("add `host: <name>`"));
            return None;
        };
        let port = entry("port").and_then(|entry| reader.field(entry));
        let access: Option<Located<String>> = entry("access").and_then(|entry| reader.field(entry));
        let read_only = access.is_some_and(|access| matches!(access.as_str(), "ro" | "read" | "read-only"));
        Some(Self { host, port, read_only })
    }
}
