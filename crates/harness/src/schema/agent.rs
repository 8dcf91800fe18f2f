//! The front matter of an agent definition.
//!
//! Keys are those that agent files of common runtimes carry. Keys with which a definition could run commands or loosen
//! permissions by itself are refused: what enforces must not lie in what it constrains.

use fullsend_yaml::{Diagnostic, Entry, FromNode, Located, Node, Reader, Value, Visitor, Walk, record};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::rules;
use crate::value::{Bounded, Effort, ModelName};

record! {
    /// The YAML block on top of an agent definition; the Markdown below it is the agent's instructions.
    pub struct AgentDefinition {
        /// The agent's name. Default: the file name without `.md`.
        name: Located<String>,
        /// What the agent is for and when to use it.
        description: Located<String>,
        /// The tools it may use: a list, or one line separated by commas.
        tools: ToolList,
        /// Tools it may not use, in the same form.
        disallowed_tools as "disallowedTools": ToolList,
        /// The model, unless the harness names one.
        model: Located<ModelName>,
        /// How much thought the model spends, unless the harness says.
        effort: Located<Effort>,
        /// Skills to load at the start: a list, or one line separated by commas.
        skills: ToolList,
        /// The greatest number of turns.
        max_turns as "maxTurns": Located<Bounded<1, { i64::MAX }>>,
        /// The colour in which user interfaces show it.
        color: Located<String>,
    }
}

/// Keys that would let a definition act or loosen permissions outside the harness's control.
const REFUSED: &[&str] = &["hooks", "mcpServers", "permissionMode", "initialPrompt", "isolation", "memory"];

impl AgentDefinition {
    /// Reads front matter, reporting keys that an agent definition may not carry by their own rule.
    pub fn read(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let entries = reader.mapping(node)?;
        let (refused, kept): (Vec<&Entry<'_>>, Vec<&Entry<'_>>) =
            entries.iter().partition(|entry| REFUSED.contains(&&*entry.key));
        for entry in &refused {
            let message = format!("an agent definition may not set `{}`", entry.key);
            reader.report(Diagnostic::new(&rules::AGENT_KEY, entry.key_at, message));
        }
        if refused.is_empty() {
            return Self::from_node(node, reader);
        }
        let kept = Node { value: Value::Mapping(kept.into_iter().cloned().collect()), at: node.at };
        Self::from_node(&kept, reader)
    }
}

/// Names written as a list or as one line separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolList(pub Vec<Located<String>>);

impl FromNode for ToolList {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        match &node.value {
            Value::Sequence(_) => Vec::from_node(node, reader).map(Self),
            Value::Scalar(scalar) => Some(Self(split_names(&scalar.text, node.at))),
            Value::Mapping(_) => {
                reader.wrong_type(node, "a list, or names separated by commas");
                None
            }
        }
    }
}

/// Commas inside parentheses, as in `Bash(git add, git commit)`, do not separate names.
fn split_names(text: &str, at: fullsend_yaml::Location) -> Vec<Located<String>> {
    let mut depth = 0_u32;
    text.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|name| !name.is_empty())
    .map(|name| Located { value: name.to_owned(), at })
    .collect()
}

impl Serialize for ToolList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Walk for ToolList {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        self.0.walk(visitor);
    }
}

impl JsonSchema for ToolList {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ToolList".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "string" }] })
    }
}
