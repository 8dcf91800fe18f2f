//! Handles in arguments: which are named, and what they stand for.

use std::collections::BTreeMap;

use fullsend_flow::{Label, LabelTable, Part};
use serde_json::{Map, Value};

use super::state::FlowState;
use crate::store::Row;

/// The handles that the arguments of a call name, by argument.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named(Vec<NamedIn>);

#[derive(Clone, Debug)]
struct NamedIn {
    argument: String,
    ids: Vec<String>,
    /// Of what they stand for.
    label: Label,
}

impl Named {
    pub(super) fn of(input: &Map<String, Value>, state: &FlowState, labels: &LabelTable) -> Self {
        if state.handles().next().is_none() {
            return Self::default();
        }
        let found = input.iter().filter_map(|(argument, value)| {
            let mut ids = Vec::new();
            find(value, state, &mut ids);
            // A label that cannot be found counts as that of nobody's and everybody's words: it never is one of ours.
            let label_of = |id: &String| {
                let handle = state.handle(id)?;
                Some(labels.get(handle.label).cloned().unwrap_or_else(|_| Label::untrusted()))
            };
            let label = ids.iter().filter_map(label_of).reduce(|left, right| left.join(&right))?;
            Some(NamedIn { argument: argument.clone(), ids, label })
        });
        Self(found.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every name, each once.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|one| one.ids.iter().map(String::as_str))
    }

    /// The label of what all of them stand for.
    pub(crate) fn label(&self) -> Option<Label> {
        self.0.iter().map(|one| one.label.clone()).reduce(|left, right| left.join(&right))
    }

    pub(super) fn label_in(&self, argument: &str) -> Option<&Label> {
        self.0.iter().find(|one| one.argument == argument).map(|one| &one.label)
    }

    pub(super) fn by_argument(&self) -> BTreeMap<String, Vec<String>> {
        self.0.iter().map(|one| (one.argument.clone(), one.ids.clone())).collect()
    }
}

fn find(value: &Value, state: &FlowState, ids: &mut Vec<String>) {
    match value {
        Value::String(text) if state.handle(text).is_some() => {
            if !ids.contains(text) {
                ids.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find(item, state, ids)),
        Value::Object(members) => members.values().for_each(|member| find(member, state, ids)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Puts the texts in the place of the names, as long as `left` bytes last: few names could stand for a great deal.
pub(crate) fn substitute(value: &mut Value, texts: &BTreeMap<String, String>, left: &mut usize) -> bool {
    match value {
        Value::String(text) => {
            let Some(hidden) = texts.get(text.as_str()) else { return true };
            let Some(rest) = left.checked_sub(hidden.len()) else { return false };
            *left = rest;
            text.clone_from(hidden);
            true
        }
        Value::Array(items) => items.iter_mut().all(|item| substitute(item, texts, left)),
        Value::Object(members) => members.values_mut().all(|member| substitute(member, texts, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Puts the names back into what a tool says for the record about its arguments: what is hidden stays out of journals.
pub(crate) fn conceal(row: &mut Row, texts: &BTreeMap<String, String>) {
    if texts.is_empty() {
        return;
    }
    if let Row::SkillActivated { activation: entry }
    | Row::SkillRead { read: entry }
    | Row::SkillExecuted { execution: entry } = row
    {
        entry.values_mut().for_each(|value| conceal_in(value, texts));
    } else if let Row::PolicyEvent(event) = row {
        event.observation_denied.iter_mut().for_each(|told| conceal_in(told, texts));
    } else if let Row::Decision(decision) = row {
        let violations = decision.flow.iter_mut().flat_map(|flow| &mut flow.violations);
        for violation in violations {
            if let Part::Path(path) = &mut violation.part {
                conceal_text(path, texts);
            }
        }
    }
}

fn conceal_text(text: &mut String, texts: &BTreeMap<String, String>) {
    for (id, hidden) in texts.iter().filter(|(_, hidden)| !hidden.is_empty()) {
        if text.contains(hidden.as_str()) {
            *text = text.replace(hidden.as_str(), id);
        }
    }
}

fn conceal_in(value: &mut Value, texts: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => conceal_text(text, texts),
        Value::Array(items) => items.iter_mut().for_each(|item| conceal_in(item, texts)),
        Value::Object(members) => members.values_mut().for_each(|member| conceal_in(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a handle stands for: what a person would take for the result. Always a text, so that its shape tells nothing, not
/// even whether the call did what was asked.
pub(crate) fn text_of(tool: &str, record: &Value) -> String {
    if tool == crate::subagent::NAME {
        return crate::subagent::text_of(record);
    }
    let key = match tool {
        "bash" | "run_skill_script" => Some("stdout"),
        "browser" => Some("output"),
        "read_file" => Some("content"),
        "web_fetch" => Some("text"),
        _ => None,
    };
    let text = key.and_then(|key| record.get(key)).and_then(Value::as_str);
    text.map_or_else(|| record.to_string(), str::to_owned)
}
