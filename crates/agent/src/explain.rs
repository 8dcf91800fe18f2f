//! Why a call was denied, or allowed by an exception: which part, what it must be, what it is, where that came from, and
//! which exception would allow it; and what of the results was kept from the model.

use std::path::Path;

use fullsend_flow::{
    Bound, Grant, Label, LabelId, LabelTable, Missed, Part, PathPattern, Pattern, SinkRule, Trust, Verdict,
    Violation,
};
use fullsend_model::ToolCall;
use serde::Serialize;
use serde_json::Value;

use crate::flow::FlowRecord;
use crate::store::{KeptMessage, PolicyDecision, Row, StoreError, rows};

/// A decision, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The gateway's name for the call.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// What was decided.
    pub verdict: Verdict,
    /// Words for the rules that decided.
    pub reason_codes: Vec<String>,
    /// What speaks against it.
    pub against: Vec<Objection>,
    /// The exceptions that it was allowed by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    /// An exception that would allow it, once, as a policy would say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_allow: Option<Grant>,
    /// A rule under which it may change the paths that it may not change, as a policy would say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_lift: Option<SinkRule>,
}

/// One part of a call that is not what it must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Objection {
    /// Which part.
    pub part: Part,
    /// What it must be.
    pub bound: Bound,
    /// What it is.
    pub label: Label,
    /// Which half is missed.
    pub missed: Missed,
    /// What in the conversation made it so.
    pub came_from: Vec<Contribution>,
}

/// Something in the conversation that a label came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contribution {
    /// The number of the message, from one, as in `transcript.json`; none for what is no message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<usize>,
    /// What it is.
    pub what: String,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
}

/// A result that was kept from the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HiddenResult {
    /// The gateway's name for the call.
    pub tool_call_id: String,
    /// The tool.
    pub tool: String,
    /// What the model got in its place; also the number of the output.
    pub handle: String,
    /// What the result was made of.
    pub label: Label,
    /// A word for why: `flow_observation_readers`, `flow_observation_trust`, `flow_observation_readers_trust` or
    /// `flow_child_return`.
    pub reason: String,
    /// How many bytes of it the model has looked at since.
    pub inspected_bytes: u64,
}

/// What is explained of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explained {
    /// What was decided about calls.
    pub decisions: Vec<Explanation>,
    /// What the model did not get to see of those that were made.
    pub hidden: Vec<HiddenResult>,
}

/// Explains what was decided in a run about one call, or about every call that was not simply allowed, and what was kept from
/// the model.
pub fn explain(run: &Path, call: Option<&str>) -> Result<Explained, StoreError> {
    let mut account = Account::default();
    let mut found = Explained::default();
    for row in rows(run)? {
        if let Row::Hidden { call_id, tool, output_id, label, reason } = row {
            if call.is_none_or(|call| call == call_id) {
                let label = account.label(label);
                let (tool_call_id, handle) = (call_id, output_id);
                let hidden = HiddenResult { tool_call_id, tool, handle, label, reason, inspected_bytes: 0 };
                found.hidden.push(hidden);
            }
        } else if let Row::Inspected { handle, bytes, .. } = row {
            if let Some(hidden) = found.hidden.iter_mut().find(|hidden| hidden.handle == handle) {
                hidden.inspected_bytes = hidden.inspected_bytes.saturating_add(bytes);
            }
        } else if let Row::Label { label, .. } = row {
            account.labels.number(&label);
        } else if let Row::Message { label, message, .. } = row {
            let label = account.label(label);
            account.hear(message, label);
        } else if let Row::Decision(decision) = row {
            let wanted = match call {
                Some(call) => decision.tool_call_id == call,
                None => decision.decision != Verdict::Allowed || uses_grants(&decision),
            };
            if wanted {
                found.decisions.push(account.explained(*decision));
            }
        }
    }
    Ok(found)
}

fn uses_grants(decision: &PolicyDecision) -> bool {
    decision.flow.as_ref().is_some_and(|flow| !flow.grants.is_empty())
}

/// The conversation up to a decision.
#[derive(Debug, Default)]
struct Account {
    labels: LabelTable,
    messages: Vec<(String, Label)>,
    /// The calls of the last answer.
    calls: Vec<ToolCall>,
}

impl Account {
    /// The label of this number; a journal with another one is not read.
    fn label(&self, id: LabelId) -> Label {
        self.labels.get(id).cloned().unwrap_or_else(|_| Label::untrusted())
    }

    fn hear(&mut self, message: KeptMessage, label: Label) {
        let what = match message {
            KeptMessage::System { .. } => "instructions of the harness".to_owned(),
            KeptMessage::User { image_attachments, .. } if image_attachments.is_empty() => {
                "a prompt".to_owned()
            }
            KeptMessage::User { .. } => "pictures".to_owned(),
            KeptMessage::Assistant { tool_calls, .. } => {
                self.calls = tool_calls;
                "an answer of the model".to_owned()
            }
            KeptMessage::Tool { tool_name, tool_call_id, .. } => {
                format!("the result of {tool_name} ({tool_call_id})")
            }
        };
        self.messages.push((what, label));
    }

    fn explained(&self, decision: PolicyDecision) -> Explanation {
        let flow = decision.flow;
        let against =
            flow.iter().flat_map(|flow| &flow.violations).map(|one| self.objection(one, flow.as_ref()));
        let against: Vec<Objection> = against.collect();
        let would_lift = lifting(&against);
        let would_allow = if decision.decision == Verdict::Allowed || would_lift.is_some() {
            None
        } else {
            let context = flow.as_ref().and_then(|flow| self.labels.get(flow.context).ok());
            context.and_then(|context| self.exception(&decision.tool_call_id, &against, context))
        };
        Explanation {
            tool_call_id: decision.tool_call_id,
            tool: decision.tool_id,
            verdict: decision.decision,
            reason_codes: decision.reason_codes,
            against,
            grants: flow.map(|flow| flow.grants).unwrap_or_default(),
            would_allow,
            would_lift,
        }
    }

    fn objection(&self, violation: &Violation, flow: Option<&FlowRecord>) -> Objection {
        let mut came_from = Vec::new();
        // What a model says is made of what it has seen; the answers themselves explain nothing.
        let heard =
            self.messages.iter().enumerate().filter(|(_, (what, _))| what != "an answer of the model");
        if violation.part != Part::Inputs {
            for (index, (what, label)) in heard {
                if violation.bound.missed_by(label).is_some() {
                    let (what, label) = (what.clone(), Some(label.clone()));
                    came_from.push(Contribution { message: Some(index.saturating_add(1)), what, label });
                }
            }
        }
        if let Part::Argument(name) = &violation.part {
            for handle in flow.and_then(|flow| flow.handles.get(name)).into_iter().flatten() {
                let what = format!("what is behind the handle {handle}");
                came_from.push(Contribution { message: None, what, label: None });
            }
        }
        if violation.part == Part::Inputs {
            let what = "files that a command can read".to_owned();
            came_from.push(Contribution { message: None, what, label: Some(violation.label.clone()) });
        }
        Objection {
            part: violation.part.clone(),
            bound: violation.bound.clone(),
            label: violation.label.clone(),
            missed: violation.missed,
            came_from,
        }
    }

    fn exception(&self, call_id: &str, against: &[Objection], context: &Label) -> Option<Grant> {
        let call = self.calls.iter().find(|call| call.id == call_id)?;
        let input: Value = serde_json::from_str(&call.arguments).ok()?;
        let named = against.iter().find_map(|objection| match &objection.part {
            Part::Argument(name) => Some(name.as_str()),
            Part::Control | Part::Inputs | Part::Path(_) => None,
        });
        let usual = || ["command", "url", "path", "goal"].into_iter().find(|name| input.get(name).is_some());
        let argument = named.or_else(usual)?;
        let needed = against.iter().map(|objection| Trust::of(&objection.bound.integrity)).max()?;
        let short = against.iter().any(|objection| objection.missed != Missed::Readers);
        let mut declassify = Vec::new();
        for objection in against.iter().filter(|objection| objection.missed != Missed::Trust) {
            let names = objection.label.confidentiality.clauses().flat_map(|clause| clause.atoms());
            declassify.extend(
                names.map(ToString::to_string).filter(|name| !declassify.contains(name)).collect::<Vec<_>>(),
            );
        }
        declassify.sort_unstable();
        declassify.dedup();
        Some(Grant {
            id: format!("allow-{}", call.name.replace('_', "-")),
            tool: call.name.clone(),
            argument: argument.to_owned(),
            value: Pattern::of_values(input.get(argument)?.as_str()?).ok()?,
            trust: short.then_some(needed),
            declassify,
            from: Trust::of(&context.integrity),
            uses: Some(1),
            expires: None,
        })
    }
}

/// The rule that asks for no more trust than there is, for the paths that were changed.
fn lifting(against: &[Objection]) -> Option<SinkRule> {
    let changed = against.iter().filter_map(|objection| match &objection.part {
        Part::Path(path) => Some((path, Trust::of(&objection.label.integrity))),
        Part::Control | Part::Argument(_) | Part::Inputs => None,
    });
    let (paths, trust): (Vec<_>, Vec<_>) = changed.unzip();
    let trust = trust.into_iter().min()?;
    let paths = paths.into_iter().filter_map(|path| PathPattern::exactly(path).ok()).collect();
    Some(SinkRule { paths: Some(paths), trust: Some(trust), ..SinkRule::default() })
}
