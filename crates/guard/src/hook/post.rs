//! What becomes of the output of a tool.

use serde_json::{Map, Value};

use crate::finding::Finding;
use crate::hook::call::Call;
use crate::hook::clean::Cleaner;
use crate::hook::decision::{Action, Decision, HookPhase, Recorded};
use crate::hook::engine::{Hook, STDOUT, says_nothing};
use crate::hook::plan::{self, Check};
use crate::hook::reply::{self, Output};
use crate::hook::rules::{CONTEXT_SUPPRESSED, UNCHANGEABLE_OUTPUT, UNCLEANABLE_OUTPUT};
use crate::hook::tool::Runtime;
use crate::hook::{shell_input, suppress};

/// Where the output stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// `tool_result`, which a hook may replace with anything.
    Result,
    /// `tool_response`, which must keep its shape.
    Response,
    /// `error`, which cannot be replaced.
    Error,
}

/// What was learned about the outputs of one call.
#[derive(Debug, Default)]
struct Outcome {
    output: Output,
    recorded: Vec<Recorded>,
    /// Why the run must end to keep the output from the model.
    stop: Option<String>,
}

pub(super) fn decide(hook: &Hook, mut call: Call) -> Decision {
    let checks: Vec<Check> =
        plan::checks_for(&hook.plan, HookPhase::PostTool, &call, &hook.config.checks).collect();
    let mut outcome = Outcome::default();
    let outputs = [
        (Slot::Result, call.result.take()),
        (Slot::Response, call.response.take()),
        (Slot::Error, call.error.take()),
    ];
    for (slot, value) in outputs {
        if let Some(value) = value {
            process(hook, &checks, &call, slot, value, &mut outcome);
        }
    }
    match outcome.stop {
        Some(reason) => reply::stop(&reason, outcome.recorded),
        None => reply::output(hook.config.runtime, outcome.output, outcome.recorded),
    }
}

fn process(hook: &Hook, checks: &[Check], call: &Call, slot: Slot, mut value: Value, outcome: &mut Outcome) {
    // To scripts of a model, Codex shows every change as a failure. A command that went well must not become one.
    let can_shorten = slot != Slot::Error && hook.config.runtime != Runtime::Codex;
    let suppressed =
        checks.contains(&Check::Suppress) && can_shorten && suppress_in(call, &mut value, outcome);
    let mut cleaner = Cleaner::new(hook.steps.iter().filter(|step| checks.contains(&step.check)));
    cleaner.clean(&mut value);
    let (cleaned, beyond_cleaning) = (cleaner.changed, cleaner.name_is_affected || cleaner.spread);
    let mut leaked = false;
    for (check, findings) in cleaner.into_findings() {
        leaked |= check.blocks_output() && !findings.is_empty();
        describe(&mut outcome.output.metadata, check, &findings);
        let action =
            |finding: &Finding| if slot == Slot::Error { Action::Warn } else { check.action(finding) };
        let record = |finding: Finding| Recorded { action: action(&finding), finding };
        outcome.recorded.extend(findings.into_iter().map(record));
    }
    if leaked {
        outcome.output.block =
            Some(format!("CANARY_LEAKED: canary token found in {} result", call.shown_name()));
    }
    match slot {
        Slot::Error if cleaned => {
            let finding = Finding::new(&UNCHANGEABLE_OUTPUT, None, call.shown_name());
            outcome.recorded.push(Recorded { finding, action: Action::Warn });
        }
        Slot::Error => {}
        Slot::Result | Slot::Response if beyond_cleaning => withhold(call, slot, outcome),
        Slot::Result if cleaned || suppressed || leaked => outcome.output.result = Some(value),
        Slot::Response if cleaned || suppressed || leaked => outcome.output.response = Some(value),
        Slot::Result | Slot::Response => {}
    }
}

/// A name cannot be changed without changing the shape, nor can what is spread over several texts be masked, so nothing of
/// the value is shown.
fn withhold(call: &Call, slot: Slot, outcome: &mut Outcome) {
    let name = call.shown_name();
    let reason = outcome.output.block.clone().unwrap_or_else(|| {
        format!("OUTPUT_WITHHELD: the output of {name} has something to remove where it cannot be removed")
    });
    let finding = Finding::new(&UNCLEANABLE_OUTPUT, None, format!("in the output of {name}"));
    outcome.recorded.push(Recorded { finding, action: Action::Block });
    if slot == Slot::Response {
        outcome.stop = Some(reason.clone());
    }
    outcome.output.result = Some(Value::String(reply::WITHHELD.to_owned()));
    outcome.output.block = Some(reason);
}

/// Adds how many findings there are, and under which rules. Never what was found: a decoded text would itself be injected.
fn describe(metadata: &mut Map<String, Value>, check: Check, findings: &[Finding]) {
    let Some((count_key, names_key)) = check.metadata_keys() else { return };
    if findings.is_empty() {
        return;
    }
    let before = metadata.get(count_key).and_then(Value::as_u64).unwrap_or_default();
    let count = before.saturating_add(u64::try_from(findings.len()).unwrap_or(u64::MAX));
    metadata.insert(count_key.to_owned(), count.into());
    let names = metadata.entry(names_key).or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(names) = names else { return };
    for finding in findings {
        if !names.iter().any(|name| name == finding.rule.id) {
            names.push(finding.rule.id.into());
        }
    }
}

/// Puts one line in the place of output without news.
fn suppress_in(call: &Call, value: &mut Value, outcome: &mut Outcome) -> bool {
    let Some(text) = plain_output(value) else { return false };
    let command =
        call.inputs.iter().rev().find_map(|input| shell_input::commands(input).ok()?.into_iter().next());
    let Some(line) = command.and_then(|command| suppress::summary(&command, text)) else { return false };
    if line == *text {
        return false;
    }
    let finding = Finding::new(&CONTEXT_SUPPRESSED, None, &line);
    outcome.recorded.push(Recorded { finding, action: Action::Suppress });
    outcome.output.metadata.insert("suppressed".to_owned(), true.into());
    *text = line;
    true
}

/// Members of a shell's result that say nothing about how the command ended.
const NEUTRAL: &[&str] = &[STDOUT, "noOutputExpected", "outputId", "durationMs", "cwd"];

/// The standard output of a shell that reports nothing else: no error, no interruption, no exit code.
fn plain_output(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Object(members) => {
            let quiet =
                |(name, member): (&String, &Value)| NEUTRAL.contains(&name.as_str()) || says_nothing(member);
            if !members.iter().all(quiet) {
                return None;
            }
            match members.get_mut(STDOUT)? {
                Value::String(text) => Some(text),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
