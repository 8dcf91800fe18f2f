//! A skill entry: a source, optionally with files to replace in it or remove from it.

use std::path::Path;

use fullsend_yaml::{
    Diagnostic, Entry, FromNode, Located, Location, Node, Reader, Value, Visitor, Walk, rules as yaml_rules,
};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::rules;
use crate::value::Resource;

/// One entry of `skills`.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillEntry {
    /// The skill directory.
    pub source: Located<Resource>,
    /// Files below it: a source that replaces the file, or `None` to remove it. The map itself is absent in the short
    /// form.
    pub overrides: Option<IndexMap<String, Option<Located<Resource>>>>,
}

impl SkillEntry {
    /// A skill that lies at a path and was written, in some sense, at a place; `None` when the path cannot be written in
    /// a file.
    #[must_use]
    pub fn at_path(path: &Path, at: Location) -> Option<Self> {
        Resource::at_path(path).map(|value| Self { source: Located { value, at }, overrides: None })
    }
}

impl FromNode for SkillEntry {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        match &node.value {
            Value::Scalar(_) => Some(Self { source: FromNode::from_node(node, reader)?, overrides: None }),
            Value::Mapping(entries) => match entries.as_slice() {
                [entry] => with_overrides(entry, reader),
                _ => {
                    report_shape(node, reader, "must have exactly one key, the skill's source");
                    None
                }
            },
            Value::Sequence(_) => {
                report_shape(node, reader, "must be a source or `source: {file: replacement}`, not a list");
                None
            }
        }
    }
}

fn report_shape(node: &Node<'_>, reader: &mut Reader<'_>, problem: &str) {
    let message = format!("{} {problem}", reader.subject());
    let help = "write `- skills/name`, or `- skills/name: {path/in/skill.md: replacement.md}`";
    reader.report(Diagnostic::new(&yaml_rules::WRONG_TYPE, node.at, message).with_help(help));
}

fn with_overrides(entry: &Entry<'_>, reader: &mut Reader<'_>) -> Option<SkillEntry> {
    let source = Node { value: Value::Scalar(as_plain(entry)), at: entry.key_at };
    let source = FromNode::from_node(&source, reader);
    let Value::Mapping(files) = &entry.value.value else {
        report_shape(&entry.value, reader, "needs a mapping of files after the source");
        return None;
    };
    let mut overrides = IndexMap::with_capacity(files.len());
    for file in files {
        check_override_key(file, reader);
        let replacement = reader.at_key(&file.key, |reader| replacement(file, reader));
        overrides.extend(replacement.map(|replacement| (file.key.clone().into_owned(), replacement)));
    }
    Some(SkillEntry { source: source?, overrides: Some(overrides) })
}

/// What stands in for a file: nothing when it is null, which is not the same as empty text.
fn replacement(file: &Entry<'_>, reader: &mut Reader<'_>) -> Option<Option<Located<Resource>>> {
    if file.value.is_null() {
        return Some(None);
    }
    if file.value.is_empty_text() {
        let message = format!("{} is empty", reader.subject());
        let problem = Diagnostic::new(&rules::PATH, file.value.at, message);
        reader.report(problem.with_help("write `null` to remove the file, or the path of its replacement"));
        return None;
    }
    FromNode::from_node(&file.value, reader).map(Some)
}

fn as_plain<'t>(entry: &Entry<'t>) -> fullsend_yaml::Scalar<'t> {
    fullsend_yaml::Scalar { text: entry.key.clone(), style: fullsend_yaml::ScalarStyle::Text }
}

/// The key names a file inside the skill: anything that could leave the directory is refused.
fn check_override_key(file: &Entry<'_>, reader: &mut Reader<'_>) {
    let key = &*file.key;
    let escapes = key.starts_with('/') || key.split('/').any(|segment| segment == "..");
    if key.is_empty() || escapes || key.chars().any(char::is_control) {
        let message = format!("{}: `{key}` is not a path inside the skill", reader.subject());
        reader.report(Diagnostic::new(&rules::SKILL_OVERRIDE, file.key_at, message));
    }
}

impl Serialize for SkillEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.overrides {
            None => self.source.serialize(serializer),
            Some(overrides) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(&self.source.to_string(), overrides)?;
                map.end()
            }
        }
    }
}

impl Walk for SkillEntry {
    fn walk(&self, visitor: &mut Visitor<'_>) {
        visitor.leaf(self.source.at);
        if let Some(overrides) = &self.overrides {
            visitor.key(&self.source.to_string(), overrides);
        }
    }
}

impl JsonSchema for SkillEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SkillEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let resource = generator.subschema_for::<Resource>();
        let replacement = generator.subschema_for::<Option<Resource>>();
        json_schema!({
            "description": "A skill directory or pinned URL, or one such source with files to replace or remove in it.",
            "anyOf": [
                resource,
                {
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 1,
                    "additionalProperties": { "type": "object", "additionalProperties": replacement },
                },
            ],
        })
    }
}
