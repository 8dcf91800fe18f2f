//! The reference page of the protocol: what the types cannot say, in words, then the types as tables.

use serde_json::{Map, Value};

use super::WORKED_SESSION;

const RULES: &str = include_str!("rules.md");

pub(super) fn page(schema: &Value) -> String {
    let mut page = String::from(RULES);
    page.push_str("\n## Methods\n\n| method | what for | params | result |\n|---|---|---|---|\n");
    let definitions = schema.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, method) in schema.get("x-methods").and_then(Value::as_object).into_iter().flatten() {
        let (params, result) = (kind(method.get("params")), kind(method.get("result")));
        page.push_str(&format!("| `{name}` | {} | {params} | {result} |\n", purpose(&definitions, name)));
    }
    page.push_str("\n## Events\n\n| kind | when | keys |\n|---|---|---|\n");
    for event in variants(definitions.get("ChatEvent")) {
        let keys: Vec<String> = keys(event)
            .filter(|(key, _)| *key != "kind")
            .map(|(key, form)| format!("`{key}`{}: {}", optional(event, key), kind(Some(form))))
            .collect();
        let name = constant(event.get("properties").and_then(|properties| properties.get("kind")));
        page.push_str(&format!("| `{name}` | {} | {} |\n", description(event), keys.join(", ")));
    }
    page.push_str("\n## Errors\n\n| code | why |\n|---|---|\n");
    for code in variants(definitions.get("ErrorCode")) {
        page.push_str(&format!("| `{}` | {} |\n", constant(Some(code)), description(code)));
    }
    page.push_str("\n## Types\n\nA key with `?` may be left out.\n");
    let told_above = ["ChatEvent", "ErrorCode"];
    for (name, definition) in definitions.iter().filter(|(name, _)| !told_above.contains(&name.as_str())) {
        page.push_str(&table(name, definition));
    }
    page.push_str("\n## A session, line by line\n\n");
    page.push_str(
        "As it was said; times, made-up ids and paths are replaced. `>` is the client, `<` the service.\n\n",
    );
    page.push_str(&format!("```text\n{}\n```\n", WORKED_SESSION.trim_end()));
    page
}

/// The params of a method say what it is for.
fn purpose(definitions: &Map<String, Value>, method: &str) -> String {
    variants(definitions.get("Request"))
        .find(|variant| constant(variant.get("properties").and_then(|keys| keys.get("method"))) == method)
        .map(description)
        .unwrap_or_default()
}

fn table(name: &str, definition: &Value) -> String {
    let mut text = format!("\n### {name}\n\n{}\n\n", description(definition));
    if definition.get("properties").is_some() {
        text.push_str("| key | form | meaning |\n|---|---|---|\n");
        for (key, form) in keys(definition) {
            let optional = optional(definition, key);
            text.push_str(&format!("| `{key}`{optional} | {} | {} |\n", kind(Some(form)), description(form)));
        }
        if name == "Request" {
            text.push_str("| `method` | string | What is wanted: see [Methods](#methods). |\n");
            text.push_str("| `params` | object | What the method takes. |\n");
        }
        return text;
    }
    for variant in variants(Some(definition)) {
        let tag = variant.get("properties").and_then(|keys| keys.get("type"));
        let others: Vec<String> = keys(variant)
            .filter(|(key, _)| *key != "type")
            .map(|(key, form)| format!("`{key}`{}: {}", optional(variant, key), description(form)))
            .collect();
        let more = if others.is_empty() { String::new() } else { format!(" {}", others.join(" ")) };
        let name = constant(tag.or(Some(variant)));
        text.push_str(&format!("- `{name}`: {}{more}\n", description(variant)));
    }
    text
}

fn variants(definition: Option<&Value>) -> impl Iterator<Item = &Value> {
    definition.and_then(|definition| definition.get("oneOf")).and_then(Value::as_array).into_iter().flatten()
}

fn keys(definition: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = definition.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(key, form)| (key.as_str(), form))
}

fn optional(definition: &Value, key: &str) -> &'static str {
    let required = definition.get("required").and_then(Value::as_array);
    if required.is_some_and(|required| required.iter().any(|name| name == key)) { "" } else { "?" }
}

fn description(of: &Value) -> String {
    let text = of.get("description").and_then(Value::as_str).unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|")
}

fn constant(of: Option<&Value>) -> String {
    of.and_then(|of| of.get("const"))
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .unwrap_or_default()
}

/// The form of a value in a few words, with a link where it has a section of its own.
fn kind(of: Option<&Value>) -> String {
    let Some(of) = of else { return "anything".to_owned() };
    if let Some(target) = of.get("$ref").and_then(Value::as_str) {
        let name = target.rsplit('/').next().unwrap_or(target);
        let section = match name {
            "ChatEvent" => "events".to_owned(),
            "ErrorCode" => "errors".to_owned(),
            other => other.to_lowercase(),
        };
        return format!("[{name}](#{section})");
    }
    if let Some(value) = of.get("const") {
        return format!("`{value}`");
    }
    if let Some(values) = of.get("enum").and_then(Value::as_array) {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        if let Some(forms) = of.get(several).and_then(Value::as_array) {
            let some = forms.iter().filter(|form| form.get("type").is_none_or(|kind| kind != "null"));
            return some.map(|form| kind(Some(form))).collect::<Vec<_>>().join(" or ");
        }
    }
    match of.get("type") {
        Some(Value::String(name)) if name == "array" => format!("list of {}", kind(of.get("items"))),
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            let some = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            some.collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
