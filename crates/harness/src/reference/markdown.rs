//! A JSON Schema as a Markdown page: one section per record, one row per key.

use std::fmt::Write;

use serde_json::Value;

use crate::compose::MERGE_RULES;
use crate::reference::DocumentKind;
use crate::rules;

pub(super) fn page(kind: DocumentKind, schema: &Value) -> String {
    let mut page = Page { text: String::new(), schema, queue: Vec::new(), done: Vec::new() };
    let _infallible = writeln!(page.text, "# {}\n", kind.title());
    match schema.get("anyOf").and_then(Value::as_array) {
        Some(variants) => {
            page.line(schema.get("description").and_then(Value::as_str).unwrap_or_default());
            variants.iter().for_each(|variant| page.variant(variant));
        }
        None => page.record(schema, kind == DocumentKind::Harness),
    }
    while !page.queue.is_empty() {
        let name = page.queue.remove(0);
        if !page.done.contains(&name) {
            page.section(&name);
            page.done.push(name);
        }
    }
    page.text
}

struct Page<'s> {
    text: String,
    schema: &'s Value,
    queue: Vec<String>,
    done: Vec<String>,
}

impl<'s> Page<'s> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim());
        self.text.push_str("\n\n");
    }

    /// One of the forms that a document takes: a link to its section, and when it applies.
    fn variant(&mut self, variant: &Value) {
        let link = self.type_name(variant);
        self.line(&format!("{link}: {}", paragraphs(variant)));
    }

    fn section(&mut self, name: &str) {
        let _infallible = writeln!(self.text, "## {name}\n");
        if let Some(definition) = self.definition(name) {
            self.record(definition, false);
        }
    }

    fn definition(&self, name: &str) -> Option<&'s Value> {
        self.schema.get("definitions")?.get(name)
    }

    fn record(&mut self, record: &'s Value, with_inheritance: bool) {
        self.line(&paragraphs(record));
        let Some(properties) = record.get("properties").and_then(Value::as_object) else {
            let forms = self.type_name(record);
            self.line(&format!("Written as: {forms}"));
            return;
        };
        let inheritance = if with_inheritance { " Inheritance |" } else { "" };
        let _infallible = writeln!(self.text, "| Key | Type |{inheritance} Meaning |");
        let rule = if with_inheritance { "---|" } else { "" };
        let _infallible = writeln!(self.text, "|---|---|{rule}---|");
        for (key, property) in properties {
            let type_name = self.type_name(property);
            let inherited =
                MERGE_RULES.iter().find(|(name, _)| name == key).map_or("", |(_, rule)| rule.describe());
            let inherited = if with_inheritance { format!(" {inherited} |") } else { String::new() };
            let meaning = cell(&paragraphs(property));
            let _infallible = writeln!(self.text, "| `{key}` | {type_name} |{inherited} {meaning} |");
        }
        self.text.push('\n');
    }

    /// The type of a property in words, with links to the sections of records.
    fn type_name(&mut self, schema: &Value) -> String {
        if let Some(name) = reference_name(schema) {
            self.queue.push(name.clone());
            return format!("[{name}](#{})", name.to_lowercase());
        }
        if let Some(title) = schema.get("title").and_then(Value::as_str) {
            return title.to_owned();
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            let words: Vec<String> =
                words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
            return words.join(", ");
        }
        if let Some(value) = schema.get("const") {
            return format!("`{value}`");
        }
        if let Some(forms) = schema.get("anyOf").or(schema.get("allOf")).and_then(Value::as_array) {
            let named: Vec<String> =
                forms.iter().filter(|form| !is_null(form)).map(|form| self.type_name(form)).collect();
            return named.join(" or ");
        }
        self.plain_type(schema)
    }

    fn plain_type(&mut self, schema: &Value) -> String {
        match simple_type(schema) {
            Some("array") => match schema.get("items") {
                Some(items) => format!("list of {}", self.type_name(items)),
                None => "list".to_owned(),
            },
            Some("object") => match schema.get("additionalProperties").filter(|values| values.is_object()) {
                Some(values) => format!("map of {}", self.type_name(values)),
                None => "map".to_owned(),
            },
            Some("integer") => format!("whole number{}", range(schema)),
            Some("number") => format!("number{}", range(schema)),
            Some("boolean") => "boolean".to_owned(),
            Some("string") => "text".to_owned(),
            _ => "anything".to_owned(),
        }
    }
}

/// The record that a schema refers to; a reference with a description of its own is wrapped in `allOf`.
fn reference_name(schema: &Value) -> Option<String> {
    if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        return reference_name(only);
    }
    let pointer = schema.get("$ref")?.as_str()?;
    pointer.rsplit_once('/').map(|(_, name)| name.to_owned())
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

/// Null is accepted everywhere and means "absent", so it is not worth a word.
fn simple_type(schema: &Value) -> Option<&str> {
    let name = schema.get("type")?;
    match name.as_array() {
        Some(types) => types.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        None => name.as_str(),
    }
}

fn range(schema: &Value) -> String {
    let bound = |key: &str| schema.get(key).map(ToString::to_string);
    match (bound("minimum"), bound("maximum")) {
        (Some(low), Some(high)) => format!(" from {low} to {high}"),
        (Some(low), None) => format!(" from {low}"),
        (None, _) => String::new(),
    }
}

/// Doc comments are wrapped where the source is; a page wraps by itself.
fn paragraphs(schema: &Value) -> String {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let join = |paragraph: &str| paragraph.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
    description.split("\n\n").map(join).collect::<Vec<_>>().join("\n\n")
}

fn cell(text: &str) -> String {
    text.replace("\n\n", " ").replace('|', "\\|")
}

pub(super) fn rules_page() -> String {
    let mut text = "# Lint rules\n\nWhat `fullsend harness lint` checks. The code stands in brackets after the severity, \
                    in JSON as `code`, in SARIF as `ruleId`.\n\n| Code | Severity | Rule | What to do |\n|---|---|---|---|\n"
        .to_owned();
    for rule in rules::all() {
        let (summary, remedy) = (cell(rule.summary), cell(rule.remedy));
        let _infallible =
            writeln!(text, "| `{}` | {} | {summary} | {remedy} |", rule.code, rule.severity.as_str());
    }
    text
}
