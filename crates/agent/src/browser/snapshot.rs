//! A page as text: one line per element, by role and name, as people with screen readers meet it.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::Value;

use super::action::Scope;
use super::page_state::PageState;

/// Roles of elements that can be clicked, filled or chosen.
const INTERACTIVE: &[&str] = &[
    "button",
    "checkbox",
    "combobox",
    "link",
    "listbox",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "option",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "treeitem",
    "ComboBoxSelect",
    "Date",
    "DateTime",
    "InputTime",
    "ColorWell",
    "DisclosureTriangle",
    "ListBoxOption",
    "MenuListOption",
    "PopUpButton",
];
/// Roles that say nothing by themselves.
const SILENT: &[&str] = &["", "none", "generic", "InlineTextBox", "LineBreak", "ListMarker", "MenuListPopup"];
/// Properties worth telling.
const TOLD: &[&str] =
    &["checked", "disabled", "expanded", "focused", "invalid", "level", "readonly", "required", "selected"];
/// Characters of a name or a value.
const LONGEST_NAME: usize = 300;
/// Characters of a role.
const LONGEST_ROLE: usize = 40;
/// Steps to the right, at most.
const DEEPEST: usize = 20;

/// One node of the accessibility tree.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Node {
    node_id: String,
    ignored: bool,
    role: Option<Held>,
    name: Option<Held>,
    value: Option<Held>,
    properties: Vec<Property>,
    child_ids: Vec<String>,
    #[serde(rename = "backendDOMNodeId")]
    dom_node: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Held {
    value: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Property {
    name: String,
    value: Held,
}

/// The tree in an answer of the browser.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// Writes the tree down and names its elements.
    pub(super) fn describe(&self, scope: Scope, state: &mut PageState) -> String {
        state.forget_elements();
        let by_id: HashMap<&str, &Node> =
            self.nodes.iter().map(|node| (node.node_id.as_str(), node)).collect();
        let mut lines = String::new();
        // A tree that leads back to itself would be written for ever.
        let mut seen = HashSet::new();
        let mut open: Vec<(&Node, usize, &str)> =
            self.nodes.first().map(|root| (root, 0, "")).into_iter().collect();
        while let Some((node, depth, above)) = open.pop() {
            if !seen.insert(node.node_id.as_str()) {
                continue;
            }
            let line = node.line(scope, above, state);
            let (depth, above) = match &line {
                Some(line) => {
                    let indent = if scope == Scope::Page { depth.min(DEEPEST) } else { 0 };
                    lines.push_str(&"  ".repeat(indent));
                    lines.push_str(line);
                    lines.push('\n');
                    (depth + 1, node.heading())
                }
                None => (depth, above),
            };
            let children = node.child_ids.iter().rev().filter_map(|id| by_id.get(id.as_str()));
            open.extend(children.map(|child| (*child, depth, above)));
        }
        lines.truncate(lines.trim_end().len());
        if lines.is_empty() { "(nothing to see)".to_owned() } else { lines }
    }
}

/// What a model sees of a page whose browser has answered this when asked for its accessibility tree; nothing where that is
/// no tree.
pub fn describe(answer: Value, scope: Scope) -> Option<String> {
    let tree: Tree = serde_json::from_value(answer).ok()?;
    let nobody = SocketAddr::from(([127, 0, 0, 1], 0));
    Some(tree.describe(scope, &mut PageState::new(nobody)))
}

impl Node {
    /// The name, as far as texts inside are compared with it.
    fn heading(&self) -> &str {
        let name = self.name.as_ref().and_then(|held| held.value.as_str()).unwrap_or_default();
        let end = name.char_indices().nth(LONGEST_NAME).map_or(name.len(), |(at, _)| at);
        name.get(..end).unwrap_or_default()
    }

    /// The line of this element, if it has one. `above` is the name of what it stands in.
    fn line(&self, scope: Scope, above: &str, state: &mut PageState) -> Option<String> {
        let role = word(&held(self.role.as_ref()));
        if self.ignored || SILENT.contains(&role.as_str()) {
            return None;
        }
        let name = held(self.name.as_ref());
        if role == "StaticText" {
            // What an element is called by its own text is not said twice.
            let new = scope == Scope::Page && !name.trim().is_empty() && !above.contains(name.trim());
            return new.then(|| format!("- text {}", quoted(&name)));
        }
        if scope == Scope::Interactive && !INTERACTIVE.contains(&role.as_str()) {
            return None;
        }
        let mut line = format!("- {role}");
        if !name.is_empty() {
            line.push_str(&format!(" {}", quoted(&name)));
        }
        let facts = self.facts(&name);
        if !facts.is_empty() {
            line.push_str(&format!(" [{}]", facts.join(", ")));
        }
        if let Some(node) = self.dom_node {
            line.push_str(&format!(" {}", state.name(node)));
        }
        Some(line)
    }

    fn facts(&self, name: &str) -> Vec<String> {
        let mut facts = Vec::new();
        let value = held(self.value.as_ref());
        if !value.is_empty() && value != name {
            facts.push(format!("value={}", quoted(&value)));
        }
        for property in &self.properties {
            let value = held(Some(&property.value));
            if TOLD.contains(&property.name.as_str()) && value != "false" && !value.is_empty() {
                facts.push(if value == "true" {
                    property.name.clone()
                } else if property.value.value.is_number() {
                    format!("{}={value}", property.name)
                } else {
                    format!("{}={}", property.name, quoted(&value))
                });
            }
        }
        facts
    }
}

fn held(held: Option<&Held>) -> String {
    match held.map(|held| &held.value) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// So much of a role as is a word: it must not look like another line either.
fn word(role: &str) -> String {
    role.chars().filter(|one| one.is_alphanumeric() || "-_".contains(*one)).take(LONGEST_ROLE).collect()
}

/// In quotes, on one line: what a page calls its elements must not look like another line.
fn quoted(text: &str) -> String {
    // Line ends that JSON does not escape.
    let ends_line =
        |one: char| ('\u{7f}'..='\u{9f}').contains(&one) || matches!(one, '\u{2028}' | '\u{2029}');
    let short = text.chars().take(LONGEST_NAME).map(|one| if ends_line(one) { ' ' } else { one });
    Value::from(short.collect::<String>()).to_string()
}
