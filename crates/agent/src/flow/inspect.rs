//! `inspect`: the model asks for what is kept from it.
//!
//! The loop itself answers: what is hidden, what of it was looked at and what the conversation is made of are its to know.

use fullsend_flow::{Deed, Label, LabelTable, Policy};
use serde_json::{Value, json};

use super::state::FlowState;
use crate::tool::{
    Effect, Pending, Shown, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec,
};

/// The name of the tool.
pub const INSPECT: &str = "inspect";

/// What becomes of the wish to look.
#[derive(Debug)]
pub(crate) enum Look {
    /// It is shown, so many bytes at most.
    Shown {
        /// Its label, which the conversation has from here on.
        label: Label,
        /// How many bytes may still be seen.
        left: u64,
    },
    /// It is not, and this says why: nothing about what is hidden.
    Refused(&'static str),
}

pub(super) fn look(policy: &Policy, state: &FlowState, id: &str, labels: &LabelTable) -> Look {
    let Some(handle) = state.handle(id) else { return Look::Refused("there is no such handle in this run") };
    let Ok(label) = labels.get(handle.label) else {
        return Look::Refused("the handle cannot be used any more");
    };
    if policy.inspect_bound().missed_by(label).is_some() {
        return Look::Refused("the policy of this run keeps it from you, also when you ask");
    }
    let left = policy.inspect.max_bytes.saturating_sub(state.inspected());
    if left == 0 {
        return Look::Refused("you have looked at as much as the policy of this run allows");
    }
    Look::Shown { label: label.clone(), left }
}

/// What the model is told about the tool.
#[derive(Debug)]
pub(crate) struct Inspect(ToolSpec);

impl Inspect {
    pub(crate) fn new() -> Self {
        Self(ToolSpec {
            name: INSPECT,
            description: "Shows what a handle stands for, if the policy of the run allows it. From then on the \
                          conversation counts as made of it, and less may be done in it: use the handle itself as an \
                          argument where that is enough."
                .to_owned(),
            effect: Effect::Read,
            deed: Deed::Look,
            sinks: &[],
            parameters: json!({
                "type": "object",
                "properties": {
                    "handle": {"type": "string", "minLength": 1, "maxLength": 512,
                        "description": "The `handleId` of a result that was kept from you."},
                },
                "required": ["handle"],
                "additionalProperties": false,
            }),
        })
    }
}

impl Tool for Inspect {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        // The loop answers before it comes to this.
        let output = refused(context.output_id, "the handle cannot be looked at here");
        Box::pin(async move { Ok(output) })
    }
}

/// The answer where something is shown. What is longer than may be seen is cut, and says so.
pub(crate) fn shown(output_id: &str, handle: &str, text: &str, label: Label, left: u64) -> (ToolOutput, u64) {
    let most = usize::try_from(left).unwrap_or(usize::MAX);
    let seen = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    let bytes = seen.len() as u64;
    let mut record = json!({"outputId": output_id, "handle": handle, "text": seen});
    if let (true, Some(record)) = (seen.len() < text.len(), record.as_object_mut()) {
        record.insert("truncated".to_owned(), Value::from(true));
    }
    let shown = Shown { line: format!("{INSPECT} {handle}"), diff: None };
    (output(record, label, None, shown), bytes)
}

/// The answer where nothing is shown.
pub(crate) fn refused(output_id: &str, why: &'static str) -> ToolOutput {
    let record = json!({
        "outputId": output_id,
        "type": "fullsend.observation-denied",
        "reason": "not-observable",
        "detail": format!("nothing is shown: {why}"),
        "instead": "give the handle as the whole value of an argument, or go on without it",
    });
    let failure = ToolFailure {
        kind: "tool_not_allowed".to_owned(),
        detail: format!("{INSPECT}: {why}"),
        exit_code: None,
    };
    let shown = Shown { line: format!("{INSPECT}: {why}"), diff: None };
    output(record, Label::bottom(), Some(failure), shown)
}

fn output(record: Value, label: Label, failure: Option<ToolFailure>, shown: Shown) -> ToolOutput {
    ToolOutput {
        record,
        model_view: None,
        withheld: false,
        label,
        images: Vec::new(),
        failure,
        shown,
        rows: Vec::new(),
    }
}
