//! What a runtime says a command has become.

use std::io;

use fullsend_flow::{Atom, Clause, Confidentiality, Integrity, Label};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::place::ContainerId;

/// What may be done with one thing that came of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelPolicy {
    /// The model may see it.
    Observed,
    /// It may be passed on unseen.
    Opaque,
    /// Nothing may be done with it.
    Denied,
}

/// What a runtime says a command has become.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxLabels {
    /// Where everything that came of it came from.
    pub label: Label,
    /// What may be done with its output.
    pub stdout: ChannelPolicy,
    /// What may be done with its complaints.
    pub stderr: ChannelPolicy,
    /// What may be done with how it ended.
    pub exit_code: ChannelPolicy,
    /// How this came to be known.
    pub diagnostic: Diagnostic,
    /// Whether the mode of the run withholds anything.
    pub enforced: bool,
}

impl SandboxLabels {
    /// Why a model is not shown something with this policy, in the words of the record; none when it is.
    pub fn withholds(&self, policy: ChannelPolicy) -> Option<&'static str> {
        match policy {
            ChannelPolicy::Opaque if self.enforced => Some("needs-opaque-pass-through"),
            ChannelPolicy::Denied if self.enforced => Some("not-observable"),
            ChannelPolicy::Observed | ChannelPolicy::Opaque | ChannelPolicy::Denied => None,
        }
    }

    /// What a model may know of it: no label, no size, and nothing that the runtime said.
    pub fn shown(&self) -> Value {
        json!({
            "version": 1,
            "stdout": {"channel": "stdout", "policy": self.stdout},
            "stderr": {"channel": "stderr", "policy": self.stderr},
            "exitCode": {"policy": self.exit_code},
            "diagnostics": [self.diagnostic.shown()],
        })
    }

    /// All of it, for the record.
    pub fn record(&self) -> Value {
        let mut record = self.shown();
        if let Value::Object(members) = &mut record {
            members.insert("label".to_owned(), json!(self.label));
            members.insert("details".to_owned(), self.diagnostic.details.clone().into());
        }
        record
    }
}

/// How something came to be known. The words are the same whatever the command did: they are shown to models, and an exit
/// status in them would tell what was withheld.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// `info` or `error`.
    pub level: &'static str,
    /// A word for it.
    pub code: &'static str,
    /// In words.
    pub message: &'static str,
    /// What the runtime said besides: for the record, never for a model.
    pub details: Map<String, Value>,
}

impl Diagnostic {
    /// What a model may see of it.
    pub fn shown(&self) -> Value {
        json!({"level": self.level, "code": self.code, "message": self.message})
    }
}

/// Reads what a runtime wrote. `seen` is what the model has seen already.
pub(super) fn labels(
    read: io::Result<Option<Vec<u8>>>,
    container: &ContainerId,
    seen: &Confidentiality,
) -> Option<SandboxLabels> {
    let text = match read {
        Ok(Some(text)) => text,
        Ok(None) => return None,
        Err(_) => {
            return Some(denied("runsc_cfc_sidecar_read_error", "the runtime's result cannot be read"));
        }
    };
    let Ok(result) = serde_json::from_slice::<Value>(&text) else {
        return Some(denied("runsc_cfc_sidecar_parse_error", "the runtime's result is not JSON"));
    };
    Some(labels_of(&result, container, seen))
}

fn labels_of(result: &Value, container: &ContainerId, seen: &Confidentiality) -> SandboxLabels {
    if result.get("version").and_then(Value::as_f64) != Some(1.0) {
        return denied("runsc_cfc_sidecar_version", "the runtime's result is of another version");
    }
    if result.get("containerId").and_then(Value::as_str) != Some(container.as_str()) {
        return denied(
            "runsc_cfc_sidecar_container_mismatch",
            "the runtime's result is of another container",
        );
    }
    let Some(Value::Object(taint)) = result.get("cfcTaint") else {
        return denied("runsc_cfc_sidecar_missing_taint", "the runtime's result says nothing about labels");
    };
    let label = taint_label(taint);
    let policy =
        if label.confidentiality.flows_to(seen) { ChannelPolicy::Observed } else { ChannelPolicy::Opaque };
    SandboxLabels {
        label,
        stdout: policy,
        stderr: policy,
        exit_code: policy,
        diagnostic: Diagnostic {
            level: "info",
            code: "runsc_cfc_result",
            message: "the runtime has labelled the result",
            details: details(result, taint),
        },
        enforced: true,
    }
}

fn details(result: &Value, taint: &Map<String, Value>) -> Map<String, Value> {
    let said = [
        ("containerId", result.get("containerId")),
        ("sandboxId", result.get("sandboxId")),
        ("waitStatus", result.get("waitStatus")),
        ("runscTaint", taint.get("string")),
        ("runscTaintXattrJSON", taint.get("xattrJSON")),
    ];
    said.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.clone()))).collect()
}

/// A result that cannot be used: nothing of it may be seen by anybody.
pub(super) fn denied(code: &'static str, message: &'static str) -> SandboxLabels {
    SandboxLabels {
        label: Label { confidentiality: nobody(), integrity: Integrity::none() },
        stdout: ChannelPolicy::Denied,
        stderr: ChannelPolicy::Denied,
        exit_code: ChannelPolicy::Denied,
        diagnostic: Diagnostic { level: "error", code, message, details: Map::new() },
        enforced: true,
    }
}

fn nobody() -> Confidentiality {
    Confidentiality::all_of([Clause::default()])
}

fn taint_label(taint: &Map<String, Value>) -> Label {
    let Some(Value::Object(attributes)) = taint.get("xattrJSON") else {
        let text = taint.get("string").and_then(Value::as_str).map(str::trim);
        let public = matches!(text, Some("" | "{}"));
        // There is a label, and nobody can tell whom it lets in.
        let confidentiality = if public { Confidentiality::public() } else { nobody() };
        return Label { confidentiality, integrity: Integrity::none() };
    };
    let mut clauses = Vec::new();
    for (key, value) in attributes.iter().filter(|(key, value)| *key != "integrity" && !is_empty(value)) {
        match value {
            Value::Array(items) if key == "confidentiality" => {
                clauses.extend(items.iter().filter(|item| !is_empty(item)).map(clause_of));
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => clauses.push(Clause::default()),
        }
    }
    let vouched = attributes.get("integrity").and_then(Value::as_array);
    let vouched = vouched.into_iter().flatten().map(Atom::from_value).collect();
    Label { confidentiality: Confidentiality::all_of(clauses), integrity: Integrity::Only(vouched) }
}

/// What a runtime writes in place of a label that it could not read.
const UNREAD: &str = "cfc:label-read-failed";

/// A clause: an atom, or alternatives. No alternative at all lets nobody in, and neither does a label that could not be read:
/// also where a policy names it, or another alternative is beside it.
fn clause_of(value: &Value) -> Clause {
    let clause = clause_as_written(value);
    let unread = Atom::named(UNREAD);
    if clause.atoms().any(|atom| *atom == unread) { Clause::default() } else { clause }
}

fn clause_as_written(value: &Value) -> Clause {
    match value {
        Value::Object(members) if members.len() == 1 => match members.get("anyOf") {
            Some(Value::Array(atoms)) => Clause::any_of(atoms.iter().map(Atom::from_value)),
            Some(_) | None => Clause::any_of([Atom::from_value(value)]),
        },
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => Clause::any_of([Atom::from_value(value)]),
    }
}

/// Whether there is nothing in it. Parsed JSON is not deep.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(members) => !members.contains_key("anyOf") && members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
