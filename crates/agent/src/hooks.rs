//! Checks around every call, by somebody who is not the loop.
//!
//! The rules of flow judge where things come from. Who implements [`CallHooks`] judges what they say: a command, an address,
//! a credential in a result. The loop asks before it makes a call that flow allows, and shows or keeps nothing of a result
//! that was not looked at. Children are asked about in the same way.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::tool::{Pending, Shown, ToolFailure, ToolOutput};

/// A call that somebody is asked about.
#[derive(Clone, Copy, Debug)]
pub struct HookedCall<'a> {
    /// The model's name for the call.
    pub call_id: &'a str,
    /// The tool, as models call it.
    pub tool: &'a str,
    /// What it is called with: what handles stand for is in their place.
    pub input: &'a Map<String, Value>,
    /// The same as the model wrote it, for those who tell others of it: what a handle stands for is not in it.
    pub written: &'a str,
}

/// Whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Before {
    /// It may.
    Allowed,
    /// It may not.
    Denied {
        /// Why, for the model.
        reason: String,
    },
}

/// What becomes of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    /// It stays as it is.
    Unchanged,
    /// Something in it was removed or replaced; it has the shape that it had.
    Replaced {
        /// What is kept and shown in its place.
        output: Value,
        /// What the record says about it, if somebody should know.
        remark: Option<String>,
    },
    /// Nothing of it is kept or shown.
    Withheld {
        /// Why, for the model.
        reason: String,
    },
}

/// Decides about calls and their results. Whoever cannot decide denies.
pub trait CallHooks: fmt::Debug + Send + Sync {
    /// Whether a call may be made.
    fn before<'a>(&'a self, call: HookedCall<'a>) -> Pending<'a, Before>;

    /// Whether a call may be made, this once, that the rules of flow deny for this `reason`. Only somebody who speaks for the
    /// operator can say so.
    fn appeal<'a>(&'a self, _call: HookedCall<'a>, reason: &'a str) -> Pending<'a, Before> {
        let reason = reason.to_owned();
        Box::pin(async { Before::Denied { reason } })
    }

    /// What becomes of what a call returned.
    fn after<'a>(&'a self, call: HookedCall<'a>, output: &'a Value) -> Pending<'a, After>;
}

/// What a check did about a result, for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    /// Whether nothing of it is left.
    pub(crate) withheld: bool,
    /// Why.
    pub(crate) text: String,
}

/// Why a call may not be made, if somebody is asked and says so.
pub(crate) async fn objection(hooks: Option<&dyn CallHooks>, call: HookedCall<'_>) -> Option<String> {
    match hooks?.before(call).await {
        Before::Allowed => None,
        Before::Denied { reason } => Some(reason),
    }
}

/// Lets somebody look at a result before anything of it is kept or shown. Returns what the record says about it.
pub(crate) async fn look_at(
    hooks: &dyn CallHooks,
    call: HookedCall<'_>,
    output_id: &str,
    output: &mut ToolOutput,
) -> Option<Remark> {
    let (mut remarks, mut withheld) = (Vec::new(), None);
    let views = [Some(&mut output.record), output.model_view.as_mut()];
    for view in views.into_iter().flatten() {
        match hooks.after(call, view).await {
            After::Unchanged => {}
            After::Replaced { output, remark } => {
                *view = output;
                remarks.extend(remark);
            }
            After::Withheld { reason } => {
                withheld = Some(reason);
                break;
            }
        }
    }
    if let Some(reason) = withheld {
        withhold(output, output_id, &reason);
        return Some(Remark { withheld: true, text: reason });
    }
    (!remarks.is_empty()).then(|| Remark { withheld: false, text: remarks.join("; ") })
}

/// Leaves nothing of a result but the word that there was one.
fn withhold(output: &mut ToolOutput, output_id: &str, reason: &str) {
    let detail = "the result was withheld by a check";
    output.record = json!({
        "type": "fullsend.output-withheld",
        "outputId": output_id,
        "reason": reason,
        "detail": "the call was made, and its result is withheld; go on without it",
    });
    output.model_view = None;
    output.images.clear();
    output.shown = Shown { line: detail.to_owned(), diff: None };
    output.failure = Some(ToolFailure {
        kind: "permission_denied".to_owned(),
        detail: detail.to_owned(),
        exit_code: None,
    });
}

/// What the model reads where a check did not let it call.
pub(crate) fn denial(tool: &str, reason: &str) -> Value {
    json!({
        "type": "fullsend.observation-denied",
        "reason": "denied-by-check",
        "detail": format!("{tool} was not called: {reason}"),
        "instead": "do it in another way that the check has no objection to, or say in your answer what is missing",
    })
}
