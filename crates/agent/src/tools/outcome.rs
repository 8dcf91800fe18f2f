//! How the end of a command is told to a model.

use std::collections::BTreeMap;

use fullsend_flow::{Act, Bound, Label, LabelId, Missed, Part, Violation};
use fullsend_sandbox::{Denial, Denied, ExecExit, LimitHit};
use serde_json::{Map, Value, json};

use crate::execution::{Captured, CapturedStream, Stream};
use crate::flow::{self, FlowRecord, PROTECTED};
use crate::gate::{FlowMode, Verdict};
use crate::protect::{Change, Compared};
use crate::sidecar::SandboxLabels;
use crate::store::{EventSeverity, PolicyDecision, PolicyEvent, Row};
use crate::tool::{Effect, ToolOutput};

/// Adds what came of a command to a result.
pub(super) fn describe(captured: Captured, result: &mut Map<String, Value>) {
    let Captured { stdout, stderr, exit, labels, compared: _ } = captured;
    describe_stream(Stream::Stdout, stdout, result);
    describe_stream(Stream::Stderr, stderr, result);
    result.insert("exitCode".to_owned(), exit.exit_code.into());
    describe_exit(&exit, result);
    if let Some(labels) = labels {
        result.insert("cfc".to_owned(), labels.record());
    }
}

/// Adds what a command has done to paths that it may not change: to what the model reads, and to what is on record.
pub(super) fn protect(found: Protected<'_>, output: &mut ToolOutput) {
    let Protected { tool, compared, label, mode } = found;
    if compared.incomplete
        && let Value::Object(record) = &mut output.record
    {
        record.insert("protectedIncomplete".to_owned(), true.into());
    }
    if compared.changes.is_empty() {
        return;
    }
    let enforced = mode.act() == Act::Deny;
    let told = flow::of_changes(tool, compared, enforced);
    if let (true, Value::Object(record)) = (enforced, &mut output.record) {
        record.insert("protected".to_owned(), told.clone());
    }
    let violation = |change: &Change| Violation {
        part: Part::Path(change.path.clone()),
        bound: Bound { readers: None, integrity: change.needs.integrity() },
        label: label.clone(),
        missed: Missed::Trust,
    };
    let violations = compared.changes.iter().take(MOST_NAMED).map(violation).collect();
    output.rows.push(Row::Decision(Box::new(PolicyDecision {
        // Whoever made the call knows its name.
        tool_call_id: String::new(),
        tool_id: tool.to_owned(),
        effect_class: Some(Effect::SideEffect),
        cfc_enforcement_mode: mode,
        decision: if enforced { Verdict::Denied } else { Verdict::Warned },
        reason_codes: vec![PROTECTED.to_owned()],
        detail: told.get("detail").and_then(Value::as_str).map(str::to_owned),
        tool_input_summary: None,
        subagent_profile: None,
        flow: Some(FlowRecord {
            context: LabelId::BOTTOM,
            violations,
            grants: Vec::new(),
            handles: BTreeMap::new(),
        }),
    })));
    output.rows.push(Row::PolicyEvent(Box::new(PolicyEvent {
        severity: if enforced { EventSeverity::Denied } else { EventSeverity::Warning },
        mode,
        tool_id: tool.to_owned(),
        tool_call_id: None,
        detail: format!("{tool} changed {} protected paths: {PROTECTED}", compared.changes.len()),
        tool_input_summary: None,
        observation_denied: Some(told).filter(|_| enforced),
    })));
}

/// What a command has done to paths that it may not change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Protected<'a> {
    pub(super) tool: &'static str,
    pub(super) compared: &'a Compared,
    /// What decided the call.
    pub(super) label: &'a Label,
    pub(super) mode: FlowMode,
}

/// How many paths are named one by one in a decision.
const MOST_NAMED: usize = 64;

/// The result as a runtime has labelled it; as it is when none has.
pub(super) fn mediate(labels: Option<&SandboxLabels>, output: ToolOutput) -> ToolOutput {
    let (Some(labels), Value::Object(record)) = (labels, &output.record) else { return output };
    let model_view = Some(released(labels, record));
    ToolOutput { model_view, label: output.label.join(&labels.label), ..output }
}

/// What a model sees of a result that a runtime has labelled: not what the runtime withholds, nor anything made from it.
fn released(labels: &SandboxLabels, result: &Map<String, Value>) -> Value {
    let withheld = [
        ("stdout", "stdout", labels.withholds(labels.stdout)),
        ("stderr", "stderr", labels.withholds(labels.stderr)),
        ("exitCode", "exit code", labels.withholds(labels.exit_code)),
    ];
    let mut shown = result.clone();
    for (channel, name, denial) in withheld {
        let Some(reason) = denial else { continue };
        shown.retain(|key, _| !key.starts_with(channel));
        let denial = json!({
            "type": "fullsend.observation-denied",
            "reason": reason,
            "detail": format!("{name} was not released by CFC policy"),
        });
        shown.insert(channel.to_owned(), denial);
    }
    if labels.withholds(labels.exit_code).is_some() {
        let made_of_it =
            ["timedOut", "signal", "limitsReached", "denied", "protected", "protectedIncomplete"];
        shown.retain(|key, _| !made_of_it.contains(&key.as_str()));
    }
    shown.insert("cfc".to_owned(), labels.shown());
    Value::Object(shown)
}

fn describe_stream(stream: Stream, captured: CapturedStream, result: &mut Map<String, Value>) {
    let name = stream.name();
    result.insert(name.to_owned(), captured.text.into());
    if captured.omitted > 0 {
        result.insert(format!("{name}Truncated"), true.into());
        result.insert(format!("{name}OriginalLength"), captured.original_length.into());
    }
    if captured.replaced > 0 {
        result.insert(format!("{name}ReplacedCharacters"), captured.replaced.into());
    }
    if captured.dropped_bytes > 0 {
        result.insert(format!("{name}DroppedBytes"), captured.dropped_bytes.into());
    }
    // Only the name: where on the host it lies is nothing that a model can use.
    if let Some(name_of_file) = captured.file.as_ref().and_then(|file| file.file_name()) {
        result.insert(format!("{name}Artifact"), name_of_file.to_string_lossy().into());
    }
}

fn describe_exit(exit: &ExecExit, result: &mut Map<String, Value>) {
    if exit.timed_out {
        result.insert("timedOut".to_owned(), true.into());
    }
    if let Some(signal) = exit.signal.filter(|_| !exit.timed_out) {
        result.insert("signal".to_owned(), signal.into());
    }
    let limits: Vec<Value> = exit.limits_hit.iter().filter_map(limit_name).map(Value::from).collect();
    if !limits.is_empty() {
        result.insert("limitsReached".to_owned(), limits.into());
    }
    let denials: Vec<Value> = exit.denials.iter().map(|denial| denial_line(denial).into()).collect();
    if !denials.is_empty() {
        result.insert("denied".to_owned(), denials.into());
    }
}

fn limit_name(limit: &LimitHit) -> Option<&'static str> {
    match limit {
        LimitHit::Memory => Some("memory"),
        LimitHit::Processes => Some("processes"),
        // Told in other words.
        LimitHit::Time | LimitHit::Output => None,
    }
}

fn denial_line(denial: &Denial) -> String {
    let reason = denial.reason.trim_end_matches('.');
    match &denial.what {
        Denied::Host { host, port } => format!("network: {host}:{port}: {reason}"),
        Denied::Path { path, access } => format!("{access}: {path}: {reason}"),
        Denied::Call { name } => format!("system call: {name}: {reason}"),
    }
}

/// The end of an output that ran out of time.
pub(super) fn add_timeout_notice(captured: &mut CapturedStream, milliseconds: u128) {
    if !captured.text.is_empty() && !captured.text.ends_with('\n') {
        captured.text.push('\n');
    }
    captured.text.push_str(&format!("command timed out after {milliseconds}ms"));
}
