//! `fullsend flow`.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use fullsend_agent::explain::{Explanation, HiddenResult, Objection, explain};
use fullsend_flow::{Label, Missed, Part, Trust, Verdict};
use fullsend_yaml::printable;

use crate::cli::{FlowCommand, FlowExplainArgs, ShowFormat};
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// How many origins are shown of one part; the JSON form has all.
const SHOWN: usize = 5;

pub(super) fn run(command: FlowCommand, output: &mut Output) -> Result<Exit> {
    match command {
        FlowCommand::Explain(args) => explain_run(&args, output),
    }
}

fn explain_run(args: &FlowExplainArgs, output: &mut Output) -> Result<Exit> {
    let found = explain(&args.run, args.call.as_deref())?;
    if let (Some(call), true) = (&args.call, found.decisions.is_empty()) {
        bail!(Advice::new(
            format!("no decision about a call `{}` is on record", safe(call)),
            "leave the call out to see all that were not simply allowed"
        ));
    }
    match args.format {
        ShowFormat::Json => output.json(&serde_json::to_value(&found)?)?,
        ShowFormat::Text => {
            for one in &found.decisions {
                output.text(&text(one)?)?;
            }
            if found.decisions.is_empty() {
                output.note("every call was simply allowed");
            }
            for one in &found.hidden {
                output.text(&hidden(one))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn text(one: &Explanation) -> Result<String> {
    let verdict = match one.verdict {
        Verdict::Allowed => "allowed",
        Verdict::Warned => "allowed with a warning",
        Verdict::Denied => "denied",
    };
    let (tool, call) = (safe(&one.tool), safe(&one.tool_call_id));
    let mut text = format!("{tool} ({call}): {verdict} [{}]\n", one.reason_codes.join(", "));
    for objection in &one.against {
        text += &objected(objection);
    }
    for grant in &one.grants {
        let _ = writeln!(text, "  used the exception `{}`", safe(grant));
    }
    if let Some(grant) = &one.would_allow {
        // One line of JSON is YAML, and nothing in it can break out of its place.
        let _ = writeln!(text, "  to allow this call once, add to `grants` of the flow policy:");
        let _ = writeln!(text, "    - {}", safe(&serde_json::to_string(grant)?));
    }
    if let Some(rule) = &one.would_lift {
        let _ = writeln!(text, "  to let such calls change this, add to `sinks` of the flow policy:");
        let _ = writeln!(text, "    - {}", safe(&serde_json::to_string(rule)?));
    }
    Ok(text)
}

/// Says what the model did not get to see of a call that was made, and what would change that.
fn hidden(one: &HiddenResult) -> String {
    let (tool, call) = (safe(&one.tool), safe(&one.tool_call_id));
    let mut text = format!("{tool} ({call}): the result is hidden from the model [{}]\n", safe(&one.reason));
    let _ = writeln!(text, "  handle `{}`: {}", safe(&one.handle), described(&one.label));
    let why = match one.reason.as_str() {
        "flow_observation_readers" => "it is for others than those of `clearance.readers` of the policy",
        "flow_observation_trust" => "it is less trusted than `clearance.trust` of the policy asks for",
        "flow_child_return" => "the subagent would tell more than `child_bits` of the policy allows",
        _ => "it is for others than those of `clearance.readers` of the policy, or it is not trusted enough",
    };
    let _ = writeln!(text, "  because {why}");
    if one.inspected_bytes > 0 {
        let _ = writeln!(text, "  the model asked for it, and has seen {} bytes", one.inspected_bytes);
    }
    text
}

fn objected(objection: &Objection) -> String {
    let what = match &objection.part {
        Part::Control => "the decision to call it".to_owned(),
        Part::Argument(name) => format!("the argument `{}`", safe(name)),
        Part::Inputs => "what it can read".to_owned(),
        Part::Path(path) => format!("the change of `{}`", safe(path)),
    };
    let mut text = String::new();
    if objection.missed != Missed::Readers {
        let (needed, has) = (Trust::of(&objection.bound.integrity), Trust::of(&objection.label.integrity));
        let _ = writeln!(text, "  {what} needs trust `{}` and has `{}`", needed.as_str(), has.as_str());
    }
    if objection.missed != Missed::Trust {
        let _ = writeln!(
            text,
            "  {what} may be seen by {} only, and would be seen by others",
            readers(&objection.label)
        );
    }
    for one in objection.came_from.iter().take(SHOWN) {
        let label = one.label.as_ref().map(|label| format!(": {}", described(label))).unwrap_or_default();
        let place = one.message.map(|number| format!("message {number}, ")).unwrap_or_default();
        let _ = writeln!(text, "    because of {place}{}{label}", safe(&one.what));
    }
    if let Some(more) = objection.came_from.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "    and {more} more");
    }
    text
}

fn described(label: &Label) -> String {
    let trust = Trust::of(&label.integrity).as_str();
    if label.confidentiality.is_public() {
        return format!("trust `{trust}`");
    }
    format!("trust `{trust}`, for {}", readers(label))
}

fn readers(label: &Label) -> String {
    let clauses = label.confidentiality.clauses().map(|clause| {
        let names: Vec<String> =
            clause.atoms().map(|atom| format!("`{}`", safe(&atom.to_string()))).collect();
        names.join(" or ")
    });
    clauses.collect::<Vec<_>>().join(" and ")
}

/// Names on record were chosen by models and policies, and are shown on a terminal.
fn safe(text: &str) -> String {
    printable(text.to_owned())
}
