//! The tools of a run: what the model is told about them, and what becomes of what it asks for.

use std::sync::Arc;

use fullsend_model::{ToolCall, ToolDescription};
use serde_json::{Map, Value, json};

use crate::schema::{Schema, SchemaError};
use crate::tool::{Effect, Tool};

/// The longest arguments of one call. Longer ones are not parsed.
pub const LONGEST_ARGUMENTS: usize = 4 << 20;

/// The tools of a run.
#[derive(Debug, Default)]
pub struct Toolbox {
    tools: Vec<Entry>,
    descriptions: Vec<ToolDescription>,
    forbidden: Vec<&'static str>,
}

#[derive(Debug)]
struct Entry {
    tool: Arc<dyn Tool>,
    schema: Schema,
    offered: bool,
}

/// A call that can be made.
#[derive(Debug)]
pub struct Prepared {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Arguments that fit its schema.
    pub input: Map<String, Value>,
}

/// Why a call cannot be made. Holds nothing that the model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// There is no such tool.
    UnknownTool,
    /// The run may not use it.
    NotAllowed {
        /// Which.
        tool: &'static str,
    },
    /// The arguments are not JSON, not an object, too long, or do not fit the schema.
    Arguments {
        /// Of which tool.
        tool: &'static str,
        /// `unparsable-arguments`, `arguments-not-an-object`, `arguments-too-long` or `invalid-argument`.
        reason: &'static str,
        /// Which argument, as a JSON Pointer.
        field: Option<String>,
        /// What was expected.
        expected: String,
    },
}

impl Toolbox {
    /// Adds a tool; one that is not offered is known by name only, so that asking for it can be refused for what it is.
    pub fn add(&mut self, tool: Arc<dyn Tool>, offered: bool) -> Result<(), SchemaError> {
        let spec = tool.spec();
        let schema = Schema::compile(&spec.parameters)?;
        if offered {
            self.descriptions.push(ToolDescription {
                name: spec.name.to_owned(),
                description: spec.description.clone(),
                parameters: spec.parameters.clone(),
            });
        }
        self.tools.push(Entry { tool, schema, offered });
        Ok(())
    }

    /// Makes a tool that does not exist in this run known by name.
    pub fn forbid(&mut self, name: &'static str) {
        self.forbidden.push(name);
    }

    /// What the model is told.
    pub fn descriptions(&self) -> &[ToolDescription] {
        &self.descriptions
    }

    /// The names of what may be called, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().filter(|entry| entry.offered).map(|entry| entry.tool.spec().name)
    }

    /// What a tool does to the world, if there is one of this name.
    pub fn effect(&self, name: &str) -> Option<Effect> {
        let entry = self.tools.iter().find(|entry| entry.offered && entry.tool.spec().name == name)?;
        Some(entry.tool.spec().effect)
    }

    /// The call, ready to be made, or why it cannot be.
    pub fn prepare(&self, call: &ToolCall) -> Result<Prepared, Rejection> {
        let known = self.tools.iter().find(|entry| entry.tool.spec().name == call.name);
        let Some(entry) = known else {
            let forbidden = self.forbidden.iter().find(|name| **name == call.name);
            return Err(forbidden.map_or(Rejection::UnknownTool, |tool| Rejection::NotAllowed { tool }));
        };
        let tool = entry.tool.spec().name;
        if !entry.offered {
            return Err(Rejection::NotAllowed { tool });
        }
        let reject = |reason, field, expected: String| Rejection::Arguments { tool, reason, field, expected };
        if call.arguments.len() > LONGEST_ARGUMENTS {
            let expected = format!("at most {LONGEST_ARGUMENTS} bytes of arguments");
            return Err(reject("arguments-too-long", None, expected));
        }
        // Some models send nothing for a tool without required arguments.
        let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            reject("unparsable-arguments", None, format!("a JSON object; what came is not JSON at {place}"))
        })?;
        let Value::Object(mut input) = value else {
            return Err(reject("arguments-not-an-object", None, "a JSON object".to_owned()));
        };
        // Labels are the harness's to give; a model that sends them is not believed.
        input.remove("cfcInputLabels");
        entry.tool.check(&input).map_err(|bad| reject("invalid-argument", Some(bad.field), bad.expected))?;
        let input = Value::Object(input);
        if let Some(first) = entry.schema.mismatches(&input).into_iter().next() {
            return Err(reject("invalid-argument", Some(first.place), first.expected));
        }
        let Value::Object(input) = input else {
            return Err(reject("arguments-not-an-object", None, "a JSON object".to_owned()));
        };
        Ok(Prepared { tool: entry.tool.clone(), input })
    }

    /// Whether arguments still fit the schema of a tool after a handle was replaced by what it stands for.
    pub(crate) fn fits(&self, name: &str, input: &Value) -> bool {
        let entry = self.tools.iter().find(|entry| entry.tool.spec().name == name);
        entry.is_some_and(|entry| entry.schema.mismatches(input).is_empty())
    }

    /// What the model reads in place of a result.
    pub fn explain(&self, rejection: &Rejection) -> Value {
        match rejection {
            Rejection::UnknownTool => {
                let names: Vec<&str> = self.names().collect();
                json!({
                    "type": "fullsend.invalid-tool-call",
                    "reason": "unknown-tool",
                    "expected": format!("one of {}", names.join(", ")),
                    "detail": "there is no tool of that name in this run",
                })
            }
            Rejection::NotAllowed { tool } => json!({
                "type": "fullsend.observation-denied",
                "reason": "not-authorized",
                "detail": format!("{tool} is not allowed in this run"),
            }),
            Rejection::Arguments { tool, reason, field, expected } => {
                let mut told = json!({
                    "type": "fullsend.invalid-tool-call",
                    "reason": reason,
                    "toolId": tool,
                    "expected": expected,
                    "detail": format!("the arguments of {tool} cannot be used; nothing was done"),
                });
                if let (Some(field), Some(members)) = (field, told.as_object_mut()) {
                    members.insert("field".to_owned(), Value::from(field.as_str()));
                }
                told
            }
        }
    }
}
