//! What a skill says about itself, as far as it can be used.

use fullsend_yaml::{Diagnostic, Entry, Location, Node, Rule, ScalarStyle, Value};
use serde_json::{Map, Value as Json};

use crate::document::scalar_text;
use crate::name::{self, MAX_NAME};
use crate::validate::{MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_REPORTED, flaw_message};
use crate::{ToolRequest, rules, tool_requests};

/// Beyond this many characters a name is not one.
const LONGEST_NAME: usize = 4 * MAX_NAME;

/// What a skill says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Its name, in the form in which names are compared.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs.
    pub compatibility: Option<String>,
    /// Other facts, as text.
    pub metadata: Vec<(String, String)>,
    /// The tools it would like to use: a request, never a grant.
    pub allowed_tools: Vec<ToolRequest>,
    /// Whether a model may find it in the catalogue; a person can name it either way.
    pub model_invocation: ModelInvocation,
    /// The whole front matter; `true` and `false` are booleans, every other scalar is text.
    pub front_matter: Map<String, Json>,
    /// The prose.
    pub body: String,
}

/// Whether models may decide to use a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelInvocation {
    /// The catalogue lists it.
    Allowed,
    /// `disable-model-invocation: true`: only a person may name it.
    Disabled,
}

/// The manifest of some front matter and body.
pub(super) fn read(
    entries: &[Entry<'_>],
    body: &str,
    start: Location,
    directory: &str,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Manifest, (&'static Rule, String)> {
    let mut fields = Fields { entries, start, warnings };
    Ok(Manifest {
        name: fields.name(directory)?,
        description: fields.description(body)?,
        license: fields.text("license"),
        compatibility: fields.compatibility(),
        metadata: fields.metadata(),
        allowed_tools: fields.allowed_tools(),
        model_invocation: fields.model_invocation(),
        front_matter: mapping(entries),
        body: body.trim().to_owned(),
    })
}

struct Fields<'a, 't> {
    entries: &'a [Entry<'t>],
    start: Location,
    warnings: &'a mut Vec<Diagnostic>,
}

impl<'a, 't> Fields<'a, 't> {
    fn get(&self, key: &str) -> Option<&'a Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn warn(&mut self, rule: &'static Rule, at: Location, message: impl Into<String>) {
        self.warnings.push(Diagnostic::new(rule, at, message));
    }

    /// The text of a field; one of another type is reported and ignored.
    fn text(&mut self, key: &str) -> Option<String> {
        let entry = self.get(key)?;
        match scalar_text(&entry.value) {
            Some(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            None => {
                let message = format!("`{key}` must be text, not {}", entry.value.kind());
                self.warn(&rules::IGNORED_FIELD, entry.value.at, message);
                None
            }
        }
    }

    fn at(&self, key: &str) -> Location {
        self.get(key).map_or(self.start, |entry| entry.value.at)
    }

    fn name(&mut self, directory: &str) -> Result<String, (&'static Rule, String)> {
        let directory = name::canonical(directory);
        let at = self.at("name");
        let name = match self.text("name") {
            Some(text) => name::canonical(&text),
            None => {
                self.warn(&rules::MISSING_NAME, at, format!("no name; `{directory}` is used"));
                directory.clone()
            }
        };
        if name.is_empty() || name.chars().any(char::is_control) || name.chars().count() > LONGEST_NAME {
            return Err((&rules::UNUSABLE_NAME, "the name cannot be used".to_owned()));
        }
        for flaw in name::flaws(&name) {
            self.warn(&rules::INVALID_NAME, at, flaw_message(&name, flaw));
        }
        if name != directory {
            let message = format!("the skill `{name}` is in the directory `{directory}`");
            self.warn(&rules::NAME_DIRECTORY_MISMATCH, at, message);
        }
        Ok(name)
    }

    fn description(&mut self, body: &str) -> Result<String, (&'static Rule, String)> {
        let at = self.at("description");
        if let Some(text) = self.text("description") {
            let count = text.chars().count();
            if count > MAX_DESCRIPTION {
                let message =
                    format!("the description has {count} characters; the catalogue shows {MAX_DESCRIPTION}");
                self.warn(&rules::IGNORED_FIELD, at, message);
            }
            return Ok(text);
        }
        let is_prose = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let Some(line) = body.lines().map(str::trim).find(is_prose) else {
            return Err((&rules::MISSING_DESCRIPTION, "nothing says what the skill is for".to_owned()));
        };
        self.warn(&rules::DESCRIPTION_FROM_BODY, at, "no description; the first line of prose is used");
        Ok(line.to_owned())
    }

    fn compatibility(&mut self) -> Option<String> {
        let at = self.at("compatibility");
        let text = self.text("compatibility");
        let count = text.as_ref().map_or(0, |text| text.chars().count());
        if count > MAX_COMPATIBILITY {
            self.warn(&rules::IGNORED_FIELD, at, format!("`compatibility` has {count} characters"));
        } else if text.is_none()
            && self.get("compatibility").and_then(|entry| scalar_text(&entry.value)).is_some()
        {
            self.warn(&rules::IGNORED_FIELD, at, "`compatibility` is empty");
        }
        text
    }

    fn metadata(&mut self) -> Vec<(String, String)> {
        let Some(entry) = self.get("metadata") else { return Vec::new() };
        let Value::Mapping(entries) = &entry.value.value else {
            let message = format!("`metadata` must be a mapping, not {}", entry.value.kind());
            self.warn(&rules::IGNORED_FIELD, entry.value.at, message);
            return Vec::new();
        };
        let is_text = |nested: &&Entry<'_>| scalar_text(&nested.value).is_some();
        for nested in entries.iter().filter(|nested| !is_text(nested)).take(MAX_REPORTED) {
            let message = format!("`metadata.{}` must be text, not {}", nested.key, nested.value.kind());
            self.warn(&rules::IGNORED_FIELD, nested.value.at, message);
        }
        let pair =
            |nested: &Entry<'_>| Some((nested.key.to_string(), scalar_text(&nested.value)?.to_owned()));
        entries.iter().filter_map(pair).collect()
    }

    /// One text; a list of texts is understood, since many skills have one.
    fn allowed_tools(&mut self) -> Vec<ToolRequest> {
        let Some(entry) = self.get("allowed-tools") else { return Vec::new() };
        let at = entry.value.at;
        let text = match &entry.value.value {
            Value::Scalar(_) => scalar_text(&entry.value).map(str::to_owned),
            Value::Sequence(items) => {
                self.warn(&rules::IGNORED_FIELD, at, "`allowed-tools` should be one text, not a list");
                let texts: Option<Vec<&str>> = items.iter().map(scalar_text).collect();
                texts.map(|texts| texts.join(" "))
            }
            Value::Mapping(_) => None,
        };
        text.as_deref().and_then(tool_requests).unwrap_or_else(|| {
            self.warn(&rules::IGNORED_FIELD, at, "`allowed-tools` cannot be read");
            Vec::new()
        })
    }

    /// Any spelling of true hides the skill; a value that is neither true nor false does too, to be safe.
    fn model_invocation(&mut self) -> ModelInvocation {
        const KEY: &str = "disable-model-invocation";
        let Some(entry) = self.get(KEY) else { return ModelInvocation::Allowed };
        let text = scalar_text(&entry.value).map(str::to_ascii_lowercase);
        match text.as_deref().map(str::trim) {
            Some("false" | "no" | "off" | "") => ModelInvocation::Allowed,
            Some("true" | "yes" | "on") => ModelInvocation::Disabled,
            _ => {
                let message = format!("`{KEY}` must be `true` or `false`; taken as `true`");
                self.warn(&rules::IGNORED_FIELD, entry.value.at, message);
                ModelInvocation::Disabled
            }
        }
    }
}

fn mapping(entries: &[Entry<'_>]) -> Map<String, Json> {
    entries.iter().map(|entry| (entry.key.to_string(), json(&entry.value))).collect()
}

/// The depth of nodes is limited where they are parsed.
fn json(node: &Node<'_>) -> Json {
    match &node.value {
        Value::Scalar(scalar) => match (scalar_text(node).unwrap_or_default(), scalar.style) {
            ("true", ScalarStyle::Plain) => Json::Bool(true),
            ("false", ScalarStyle::Plain) => Json::Bool(false),
            (text, _) => Json::String(text.trim_end().to_owned()),
        },
        Value::Sequence(items) => Json::Array(items.iter().map(json).collect()),
        Value::Mapping(entries) => Json::Object(mapping(entries)),
    }
}
