//! Registered agents.

use fullsend_yaml::{Diagnostic, FromNode, Located, Location, Node, Reader, Value, Visitor, Walk, record};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::rules;
use crate::value::{AgentName, Resource};

record! {
    /// The long form of a registered agent.
    pub struct RegisteredAgent {
        /// The name to run it by. Default: the file name of `source` without its extension.
        name: Located<AgentName>,
        /// The harness file, relative to the fullsend directory, or its pinned URL.
        source: Located<Resource>,
        /// Whether it may run. A disabled entry hides an agent of the same name registered before it. Default: `true`.
        enabled: Located<bool>,
    }
}

/// One entry of `agents`: a source alone, or the long form.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEntry {
    /// What the entry says.
    pub agent: RegisteredAgent,
    /// Where it stands.
    pub at: Location,
    short: bool,
    damaged: bool,
}

impl AgentEntry {
    /// Whether a key of the entry could not be read, so that what it seems to lack was reported already.
    pub(crate) fn damaged(&self) -> bool {
        self.damaged
    }

    /// Whether the agent may run.
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.agent.enabled.as_ref().is_none_or(|enabled| enabled.value)
    }

    /// The name to run it by: its own, or the source's file name without its extension.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        if let Some(name) = &self.agent.name {
            return Some(name.as_str().to_owned());
        }
        let file = self.agent.source.as_ref()?.value.base_name();
        Some(file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem).to_owned())
    }
}

impl FromNode for AgentEntry {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        if let Value::Scalar(_) = &node.value {
            let source = FromNode::from_node(node, reader)?;
            let agent = RegisteredAgent { source: Some(source), ..RegisteredAgent::default() };
            return Some(Self { agent, at: node.at, short: true, damaged: false });
        }
        if is_legacy(node) {
            let message = format!("{} is in the removed `role:` format", reader.subject());
            reader.report(Diagnostic::new(&rules::LEGACY_AGENT, node.at, message));
            return None;
        }
        let before = reader.reported();
        let agent = RegisteredAgent::from_node(node, reader)?;
        Some(Self { agent, at: node.at, short: false, damaged: reader.reported() > before })
    }
}

fn is_legacy(node: &Node<'_>) -> bool {
    let Value::Mapping(entries) = &node.value else { return false };
    let has = |key: &str| entries.iter().any(|entry| entry.key == key);
    has("role") && !has("source")
}

impl Serialize for AgentEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.short { self.agent.source.serialize(serializer) } else { self.agent.serialize(serializer) }
    }
}

impl Walk for AgentEntry {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        if self.short { visitor.leaf(self.at) } else { self.agent.walk(visitor) }
    }
}

impl JsonSchema for AgentEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AgentEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let source = generator.subschema_for::<Resource>();
        let registered = generator.subschema_for::<RegisteredAgent>();
        json_schema!({ "description": "A harness source, or its long form.", "anyOf": [source, registered] })
    }
}
