//! What the model gets to see of a result.

use fullsend_flow::shape::SizeClass;
use fullsend_flow::{Act, Bound, Clause, Confidentiality, Deed, FlowMode, Label, Missed};
use serde_json::{Value, json};

/// What the model gets to see of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// All of it.
    Shown,
    /// All of it, though it would be hidden if the rules were enforced.
    Warned(Missed),
    /// A handle.
    Hidden(Missed),
    /// A handle, since a child would tell more than it may.
    Withheld,
}

impl Seen {
    /// A word of the record for what is missing.
    pub(crate) fn code(self) -> Option<&'static str> {
        match self {
            Self::Shown => None,
            Self::Withheld => Some("flow_child_return"),
            Self::Warned(missed) | Self::Hidden(missed) => Some(match missed {
                Missed::Readers => "flow_observation_readers",
                Missed::Trust => "flow_observation_trust",
                Missed::Both => "flow_observation_readers_trust",
            }),
        }
    }
}

/// Holds the label of a result against what the model may see.
pub(super) fn see(mode: FlowMode, clearance: &Bound, deed: Deed, has: &Label, result: &Label) -> Seen {
    if mode.act() == Act::Ignore {
        return Seen::Shown;
    }
    let Some(missed) = missed(clearance, deed, has, result) else { return Seen::Shown };
    match mode.act() {
        Act::Deny => Seen::Hidden(missed),
        Act::Record | Act::Ignore => Seen::Warned(missed),
    }
}

fn missed(clearance: &Bound, deed: Deed, has: &Label, result: &Label) -> Option<Missed> {
    clearance.missed_by(result)?;
    let mut fresh = result.clone();
    // A conversation that nobody vouches for loses nothing by one more such text, and everything by seeing none.
    if !has.integrity.flows_to(&clearance.integrity) {
        fresh.integrity = clearance.integrity.clone();
    }
    // What a command says or a change shows is made of the conversation, and has its readers; the model has seen that much.
    // What is looked at has its own: having looked at one secret does not open the others.
    if matches!(deed, Deed::Execute { .. } | Deed::Change | Deed::Delegate) {
        let new = |clause: &&Clause| !has.confidentiality.clauses().any(|seen| seen == *clause);
        fresh.confidentiality =
            Confidentiality::all_of(result.confidentiality.clauses().filter(new).cloned());
    }
    clearance.missed_by(&fresh)
}

/// What stands in the conversation for a result that is kept from the model. Nothing in it depends on the result but a
/// rough size.
pub(crate) fn handle_for(output_id: &str, bytes: usize, can_inspect: bool) -> Value {
    let look = if can_inspect { "; `inspect` may show it" } else { "" };
    json!({
        "outputId": output_id,
        "handle": {
            "type": "fullsend.opaque-handle",
            "handleId": output_id,
            "scope": "run",
            "shape": {"type": "string"},
            // Whether there is anything at all would be a bit of it.
            "size": SizeClass::of((bytes as u64).max(1)),
        },
        "detail": format!(
            "the call was made, and what came of it is kept from you by the policy of this run, also whether it did \
             what was asked. To use it, give `handleId` as the whole value of an argument{look}"
        ),
    })
}
