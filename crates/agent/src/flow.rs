//! The rules of flow in a run: which calls may be made, and what the model gets to see of their results.
//!
//! Both are decided from labels, names and the operator's policy, never from what a model says. What may not be seen is
//! kept, and stands in the conversation as a handle; a handle can be used as an argument, and then the argument is as
//! secret and as doubtful as what it stands for.

mod arguments;
mod denial;
mod handles;
mod inspect;
mod observation;
mod record;
mod state;

use std::sync::Arc;

use fullsend_flow::{Act, Bound, Call, Deed, Label, LabelId, LabelTable, Missed, Part, Policy};
use jiff::Timestamp;
use serde_json::{Map, Value};

pub(crate) use self::arguments::Place;
pub(crate) use self::denial::of_changes;
pub(crate) use self::handles::{Named, conceal, substitute, text_of};
pub use self::inspect::INSPECT;
pub(crate) use self::inspect::{Inspect, Look, refused, shown};
pub(crate) use self::observation::{Seen, handle_for};
pub use self::record::FlowRecord;
pub use self::state::{FlowState, Handle};
use crate::gate::{self, FlowMode, PromptRole, Verdict};
use crate::sources::Sources;
use crate::subagent::Profile;
use crate::tool::ToolSpec;

/// The word of the record for a change of what only somebody else may change.
pub(crate) const PROTECTED: &str = "flow_protected_path";

/// What the calls of one answer were made of: all that the model had seen when it gave it. Siblings share it.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    pub(crate) id: LabelId,
    pub(crate) label: Label,
}

/// By which rules a run is judged.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) mode: FlowMode,
    pub(crate) role: PromptRole,
    pub(crate) policy: Arc<Policy>,
    pub(crate) sources: Arc<Sources>,
}

/// Decides about the calls and the results of a run.
#[derive(Debug)]
pub(crate) struct Gatekeeper {
    rules: Rules,
    place: Place,
    clearance: Bound,
    state: FlowState,
}

/// What is decided about a call.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<String>,
    /// What the rules of flow found; none where they were not asked.
    pub(crate) flow: Option<FlowRecord>,
    /// What the model reads where the call may not be made.
    pub(crate) told: Option<Value>,
    /// What a check says against it.
    pub(crate) objection: Option<String>,
    /// The profile of the child that is asked for.
    pub(crate) profile: Option<Profile>,
}

impl Judgement {
    /// About a call that is none, or that the run may not make whatever it says.
    pub(crate) fn refused(reason: &str) -> Self {
        Self {
            verdict: Verdict::Denied,
            reasons: vec![reason.to_owned()],
            flow: None,
            told: None,
            objection: None,
            profile: None,
        }
    }
}

impl Judgement {
    /// What the rules of flow have against a call, in words; nothing where they did not deny it: what the prompt does not
    /// permit, and what is no call, nobody can allow.
    pub(crate) fn appealable(&self) -> Option<String> {
        let violated = self.flow.as_ref().is_some_and(|flow| !flow.violations.is_empty());
        let told = self.told.as_ref().filter(|_| self.verdict == Verdict::Denied && violated)?;
        Some(told.get("detail").and_then(Value::as_str).unwrap_or("the rules of flow deny it").to_owned())
    }

    /// Allows a call that the rules of flow deny, because somebody who speaks for the operator said so.
    pub(crate) fn approve(&mut self) {
        self.verdict = Verdict::Warned;
        self.reasons.push("operator_approved".to_owned());
        self.told = None;
    }

    /// Denies a call that the rules of flow allow.
    pub(crate) fn object(&mut self, tool: &str, reason: String) {
        self.verdict = Verdict::Denied;
        self.reasons.push("hook_denied".to_owned());
        self.told = Some(crate::hooks::denial(tool, &reason));
        self.objection = Some(reason);
    }
}

impl Gatekeeper {
    pub(crate) fn new(rules: Rules, place: Place) -> Self {
        let clearance = rules.policy.clearance_bound();
        Self { rules, place, clearance, state: FlowState::default() }
    }

    /// Goes on where a record ends.
    pub(crate) fn go_on(&mut self, state: FlowState) {
        self.state = state;
    }

    pub(crate) fn state(&self) -> &FlowState {
        &self.state
    }

    pub(crate) fn state_mut(&mut self) -> &mut FlowState {
        &mut self.state
    }

    /// Whether the model could look at anything that is hidden from it. Without this, the tool for it would only be noise.
    pub(crate) fn lets_inspect(&self) -> bool {
        self.rules.mode.act() == Act::Deny && self.rules.policy.inspect_bound() != self.clearance
    }

    /// Decides about a call before it is made: by what the prompt is, then by where everything came from.
    pub(crate) fn judge(
        &self,
        spec: &ToolSpec,
        input: &Map<String, Value>,
        named: &Named,
        basis: &Basis,
        now: Timestamp,
    ) -> Judgement {
        let mode = self.rules.mode;
        let authorisation = gate::authorise(mode, self.rules.role, spec.name, spec.effect);
        let mut judgement = Judgement {
            verdict: authorisation.verdict,
            reasons: vec![authorisation.reason],
            flow: None,
            told: None,
            objection: None,
            profile: None,
        };
        if authorisation.verdict == Verdict::Denied {
            judgement.told = Some(denial::needs_command(spec.name));
            return judgement;
        }
        if mode.act() == Act::Ignore {
            return judgement;
        }
        let deed = match spec.deed {
            Deed::Execute { network } => {
                Deed::Execute { network: network || self.rules.sources.has_network() }
            }
            other @ (Deed::Look | Deed::Change | Deed::Send | Deed::Delegate) => other,
        };
        let inputs = match deed {
            Deed::Execute { .. } => self.rules.sources.command_inputs(),
            Deed::Look | Deed::Change | Deed::Send | Deed::Delegate => Label::bottom(),
        };
        let mut gathered = self.place.arguments(spec, input, named);
        let arguments = gathered.arguments(&basis.label, named);
        let call =
            Call { tool: spec.name, deed, context: &basis.label, arguments: &arguments, inputs: &inputs };
        let decision = fullsend_flow::decide(&call, &self.rules.policy, mode, self.state.ledger(), now);
        for violation in &decision.violations {
            for code in codes(&violation.part, violation.missed) {
                if !judgement.reasons.iter().any(|known| known == code) {
                    judgement.reasons.push((*code).to_owned());
                }
            }
        }
        judgement.verdict = judgement.verdict.max(decision.verdict);
        if decision.verdict == Verdict::Denied {
            judgement.told = Some(denial::of(spec, &decision.violations, named));
        }
        judgement.flow = Some(FlowRecord {
            context: basis.id,
            violations: decision.violations,
            grants: decision.grants,
            handles: named.by_argument(),
        });
        judgement
    }

    /// The handles that arguments name.
    pub(crate) fn named(&self, tool: &str, input: &Map<String, Value>, labels: &LabelTable) -> Named {
        // This one is about the handle itself.
        if tool == INSPECT { Named::default() } else { Named::of(input, &self.state, labels) }
    }

    /// What the model gets to see of a result with this label. What it `has` seen is the basis of the call.
    pub(crate) fn see(&self, deed: Deed, has: &Label, result: &Label) -> Seen {
        observation::see(self.rules.mode, &self.clearance, deed, has, result)
    }

    /// What becomes of the wish to look at something hidden.
    pub(crate) fn look(&self, handle: &str, labels: &LabelTable) -> Look {
        inspect::look(&self.rules.policy, &self.state, handle, labels)
    }
}

/// The words of the record for what speaks against a call.
fn codes(part: &Part, missed: Missed) -> &'static [&'static str] {
    match (part, missed) {
        (Part::Control, Missed::Trust) => &["flow_control_trust"],
        (Part::Control, Missed::Readers) => &["flow_control_readers"],
        (Part::Control, Missed::Both) => &["flow_control_trust", "flow_control_readers"],
        (Part::Argument(_), Missed::Trust) => &["flow_argument_trust"],
        (Part::Argument(_), Missed::Readers) => &["flow_argument_readers"],
        (Part::Argument(_), Missed::Both) => &["flow_argument_trust", "flow_argument_readers"],
        (Part::Inputs, Missed::Trust) => &["flow_inputs_trust"],
        (Part::Inputs, Missed::Readers) => &["flow_inputs_readers"],
        (Part::Inputs, Missed::Both) => &["flow_inputs_trust", "flow_inputs_readers"],
        (Part::Path(_), _) => &[PROTECTED],
    }
}
