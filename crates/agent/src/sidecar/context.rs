//! What a runtime is told about a command.

use std::collections::BTreeMap;

use fullsend_flow::{Atom, Clause, Confidentiality, Label};
use fullsend_origin::Sha256Digest;
use serde_json::{Map, Value, json};

use crate::gate::FlowMode;
use crate::slot::PromptSlot;
use crate::store::RunId;

/// What is the same for every command of a run.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// The run.
    pub run_id: RunId,
    /// How strictly flows are judged.
    pub mode: FlowMode,
    /// How the prompt came to be.
    pub prompt_slot: Option<PromptSlot>,
    /// What everything carries that the prompt had influence on.
    pub influence: Option<Atom>,
    /// What is said of the manifest of the run: `present`, and more if there is one.
    pub manifest: Map<String, Value>,
}

/// How a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A line for a shell.
    Shell,
    /// A program with arguments.
    Command,
}

impl Operation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Command => "command",
        }
    }
}

/// A command that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The tool that runs it.
    pub tool_id: &'a str,
    /// The number of the tool's output.
    pub tool_output_id: Option<&'a str>,
    /// How it is run.
    pub operation: Operation,
    /// Where it starts.
    pub cwd: &'a str,
    /// Whether the model has chosen where.
    pub cwd_is_chosen: bool,
    /// The line for a shell.
    pub command: Option<&'a str>,
    /// The program and its arguments.
    pub argv: Option<&'a [String]>,
    /// The arguments.
    pub args: Option<&'a [String]>,
    /// What it reads.
    pub stdin: Option<&'a [u8]>,
    /// Its variables.
    pub env: Option<&'a BTreeMap<String, String>>,
    /// Where all of this came from.
    pub label: &'a Label,
}

impl<'a> Invocation<'a> {
    /// A container that starts before there is a command for it.
    pub(super) fn of_container(label: &'a Label) -> Self {
        Self {
            tool_id: "sandbox",
            tool_output_id: None,
            operation: Operation::Command,
            cwd: "/",
            cwd_is_chosen: false,
            command: None,
            argv: None,
            args: None,
            stdin: None,
            env: None,
            label,
        }
    }

    /// The inputs that a model had a say in, in the order of their names.
    fn labelled(&self) -> impl Iterator<Item = &'static str> {
        let inputs = [
            ("args", self.args.is_some()),
            ("argv", self.argv.is_some()),
            ("command", self.command.is_some()),
            ("cwd", self.cwd_is_chosen),
            ("env", self.env.is_some()),
            ("stdin", self.stdin.is_some()),
        ];
        inputs.into_iter().filter_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// The document about a command. Nothing in it can be turned back into the command.
pub(super) fn document(
    facts: &RunFacts,
    invocation: &Invocation<'_>,
    sequence: u64,
    created_at: &str,
) -> Map<String, Value> {
    let mut document = Map::new();
    let mut put = |key: &str, value: Value| drop(document.insert(key.to_owned(), value));
    put("type", "fullsend.cfc-invocation-context".into());
    put("version", 1.into());
    put("sequence", sequence.into());
    put("runId", facts.run_id.as_str().into());
    put("createdAt", created_at.into());
    put("toolId", invocation.tool_id.into());
    if let Some(output_id) = invocation.tool_output_id {
        put("toolOutputId", output_id.into());
    }
    put("operation", invocation.operation.as_str().into());
    put("cfcEnforcementMode", facts.mode.as_str().into());
    put("cwd", invocation.cwd.into());
    if let Some(slot) = &facts.prompt_slot {
        put("promptSlot", slot.clone().into());
    }
    put("runManifest", manifest(&facts.manifest).into());
    put("inputs", inputs(invocation).into());
    if let Some(labels) = input_labels(facts, invocation) {
        put("cfcInputLabels", labels);
    }
    document
}

/// What a runtime needs to know of the manifest of the run.
fn manifest(summary: &Map<String, Value>) -> Map<String, Value> {
    let told =
        ["present", "path", "source", "wishId", "dispatchClass", "cfcEnforcementMode", "promptSlotPresent"];
    let member = |key: &str| Some((key.to_owned(), summary.get(key)?.clone()));
    told.into_iter().filter_map(member).collect()
}

fn inputs(invocation: &Invocation<'_>) -> Map<String, Value> {
    let mut inputs = Map::new();
    let mut put = |key: &str, value: Option<Value>| inputs.extend(value.map(|value| (key.to_owned(), value)));
    put("command", invocation.command.map(|command| text(command.as_bytes())));
    put("argv", invocation.argv.map(sequence));
    put("args", invocation.args.map(sequence));
    put("stdin", invocation.stdin.map(text));
    put("env", invocation.env.map(names));
    inputs
}

fn text(bytes: &[u8]) -> Value {
    json!({"type": "fullsend.redacted-text-summary", "bytes": bytes.len(), "digest": digest(bytes)})
}

fn sequence(words: &[String]) -> Value {
    json!({
        "type": "fullsend.redacted-sequence-summary",
        "count": words.len(),
        "totalBytes": words.iter().map(String::len).sum::<usize>(),
        "digest": digest(Value::from(words).to_string().as_bytes()),
    })
}

fn names(variables: &BTreeMap<String, String>) -> Value {
    let names: Vec<&String> = variables.keys().collect();
    json!({"type": "fullsend.env-summary", "count": names.len(), "names": names})
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", Sha256Digest::of(bytes))
}

/// The labels of what a model had a say in. Only who may see it: that somebody vouches for a conversation does not mean that
/// he vouches for what a model makes of it.
fn input_labels(facts: &RunFacts, invocation: &Invocation<'_>) -> Option<Value> {
    let influence = facts.influence.iter().map(|atom| Clause::any_of([atom.clone()]));
    let clauses = invocation.label.confidentiality.clauses().cloned().chain(influence);
    let confidentiality = Confidentiality::all_of(clauses);
    if confidentiality.is_public() {
        return None;
    }
    let confidentiality = clauses_of(&confidentiality);
    let entry = |path| json!({"path": [path], "label": {"confidentiality": confidentiality}});
    let entries: Vec<Value> = invocation.labelled().map(entry).collect();
    (!entries.is_empty()).then(|| json!({"version": 1, "entries": entries}))
}

/// Who may see something, as runtimes write it: one alternative stands for itself.
fn clauses_of(confidentiality: &Confidentiality) -> Vec<Value> {
    let clause = |clause: &Clause| {
        let atoms: Vec<Value> = clause.atoms().map(Atom::to_value).collect();
        match <[Value; 1]>::try_from(atoms) {
            Ok([only]) => only,
            Err(atoms) => json!({ "anyOf": atoms }),
        }
    };
    confidentiality.clauses().map(clause).collect()
}
