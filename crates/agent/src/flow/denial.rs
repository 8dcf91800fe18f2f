//! What the model reads in place of a result that it does not get. Holds nothing of a value, and of labels only how much
//! trust is missing.

use fullsend_flow::{Deed, Missed, Part, Trust, Violation};
use serde_json::{Value, json};

use super::handles::Named;
use crate::protect::Compared;
use crate::tool::{Sink, ToolSpec};

/// The denial of a call that only a command of the operator allows.
pub(super) fn needs_command(tool: &str) -> Value {
    denied(format!("{tool} needs a direct command of the operator; this run may only look"), None)
}

/// The denial of a call for what it is made of.
pub(super) fn of(spec: &ToolSpec, violations: &[Violation], named: &Named) -> Value {
    let mut details: Vec<String> = Vec::new();
    let mut instead: Vec<&'static str> = Vec::new();
    for violation in violations {
        let reasons: &[Reason] = match violation.missed {
            Missed::Trust => &[Reason::Trust],
            Missed::Readers => &[Reason::Readers],
            Missed::Both => &[Reason::Trust, Reason::Readers],
        };
        for reason in reasons {
            let detail = detail(spec, violation, *reason, named);
            if !details.contains(&detail) {
                details.push(detail);
            }
            let advice = advice(spec, &violation.part, *reason, named);
            if !instead.contains(&advice) {
                instead.push(advice);
            }
        }
    }
    denied(format!("{} was not called: {}", spec.name, details.join("; ")), Some(instead.join("; or ")))
}

/// What to do where a path may not be changed.
const ELSEWHERE: &str =
    "write to a path that is not run or believed on its own, and say in your answer what belongs where";

/// What the model reads of changes that its command has made and may not make.
pub(crate) fn of_changes(tool: &str, compared: &Compared, enforced: bool) -> Value {
    let detail = if enforced {
        format!(
            "{tool} was run, and what it did to these paths was undone: they are run or believed on their own, and the \
             conversation holds text that the operator does not vouch for"
        )
    } else {
        format!(
            "{tool} changed paths that are run or believed on their own; this would be undone when enforcing"
        )
    };
    let mut told = denied(detail, Some(ELSEWHERE.to_owned()));
    if let Some(members) = told.as_object_mut() {
        members.insert("changes".to_owned(), json!(compared.changes));
    }
    told
}

/// Which half of a bound is spoken of.
#[derive(Clone, Copy, Debug)]
enum Reason {
    Trust,
    Readers,
}

fn detail(spec: &ToolSpec, violation: &Violation, reason: Reason, named: &Named) -> String {
    let needed = match Trust::of(&violation.bound.integrity) {
        Trust::Commanded => "the operator's own word",
        Trust::Workspace => "text that the workspace or the operator vouches for",
        Trust::None => "more trust",
    };
    let vouched = match Trust::of(&violation.label.integrity) {
        Trust::None => "nobody vouches for",
        Trust::Workspace | Trust::Commanded => "only the workspace vouches for",
    };
    match (&violation.part, reason) {
        (Part::Control, Reason::Trust) => {
            format!(
                "the conversation that decided to call it holds text that {vouched}, and it needs {needed}"
            )
        }
        (Part::Control, Reason::Readers) => {
            "the conversation that decided to call it holds what not everybody may see".to_owned()
        }
        (Part::Argument(name), Reason::Trust) => {
            let origin = origin(name, named);
            format!("`{name}` was made of {origin} that {vouched}, and there it needs {needed}")
        }
        (Part::Argument(name), Reason::Readers) => {
            let origin = origin(name, named);
            format!("`{name}` was made of {origin} that not everybody may see, and would show it to others")
        }
        (Part::Inputs, Reason::Trust) => {
            format!("what {} could read holds files that nobody vouches for", spec.name)
        }
        (Part::Path(path), _) => format!("it changed `{path}`, and there it needs {needed}"),
        (Part::Inputs, Reason::Readers) => {
            format!("{} could read what not everybody may see, and can reach a network", spec.name)
        }
    }
}

/// What an argument was made of.
fn origin(argument: &str, named: &Named) -> &'static str {
    if named.label_in(argument).is_some() {
        "a hidden value, or of a conversation,"
    } else {
        "a conversation"
    }
}

/// What the model may do in place of the call.
fn advice(spec: &ToolSpec, part: &Part, reason: Reason, named: &Named) -> &'static str {
    match (part, reason) {
        (Part::Argument(name), _) if named.label_in(name).is_some() => {
            "call it without the handle, or use the handle where its value stays in the workspace"
        }
        (Part::Argument(name), Reason::Trust) if is_target(spec, name) => ELSEWHERE,
        (Part::Inputs, Reason::Trust) => {
            "read and change files with the file tools, which run nothing, and leave running to the operator"
        }
        (Part::Inputs, Reason::Readers) => "use tools that reach no network",
        (Part::Path(_), _) => ELSEWHERE,
        (Part::Control | Part::Argument(_), Reason::Trust) => match spec.deed {
            Deed::Send => {
                "go on without the page, or name it in your answer so that the operator can ask for it; have such pages \
                 read by a child with a returnSchema before anything else is read"
            }
            Deed::Look | Deed::Change | Deed::Execute { .. } | Deed::Delegate => {
                "finish with tools that only read and write files, and tell the operator in your answer what you would \
                 have called and why; have text of others read by a child with a returnSchema, which returns typed \
                 values only"
            }
        },
        (Part::Control | Part::Argument(_), Reason::Readers) => {
            "keep what you have seen in the workspace, and tell the operator in your answer what you need"
        }
    }
}

fn is_target(spec: &ToolSpec, name: &str) -> bool {
    spec.sinks.iter().any(|sink| matches!(sink, Sink::Target(target) if *target == name))
}

fn denied(detail: String, instead: Option<String>) -> Value {
    let mut told = json!({
        "type": "fullsend.observation-denied",
        "reason": "not-authorized",
        "detail": detail,
    });
    if let (Some(instead), Some(members)) = (instead, told.as_object_mut()) {
        members.insert("instead".to_owned(), Value::from(instead));
    }
    told
}
