//! The story of a run, from its list of events.

use serde::Serialize;
use serde_json::Value;

/// The most moments that are told.
const MOST: usize = 100_000;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When.
    pub at: String,
    /// What kind of thing: `step`, `tool`, `finding`, `access`, `warning`, `script`, `runtime`.
    pub kind: &'static str,
    /// In a line, as the file has it.
    pub text: String,
}

/// Reads a list of events, and says what is wrong with it. A line that a dying process did not finish is no more than that.
pub(super) fn read(bytes: &[u8]) -> (Vec<Moment>, Option<String>) {
    let (mut moments, mut unreadable) = (Vec::new(), 0_u64);
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<Value>(line) {
            Ok(event) => moments.extend(moment(&event)),
            Err(_) => unreadable += 1,
        }
        if moments.len() >= MOST {
            return (moments, Some(format!("events.jsonl: only the first {MOST} moments are shown")));
        }
    }
    let problem = (unreadable > 0).then(|| format!("events.jsonl: {unreadable} lines cannot be read"));
    (moments, problem)
}

fn moment(event: &Value) -> Option<Moment> {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let iteration =
        event["iteration"].as_u64().map(|number| format!(" (iteration {number})")).unwrap_or_default();
    let (kind, told) = match text("type") {
        "step_began" => ("step", format!("{}{iteration} …", text("step"))),
        "step_ended" => {
            let detail = Some(text("detail")).filter(|detail| !detail.is_empty());
            let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            ("step", format!("{}{iteration} {}{detail}", text("step"), text("outcome")))
        }
        "warning" => ("warning", text("text").to_owned()),
        "finding" => {
            let what = format!("{} {} in {}", text("severity"), text("rule"), text("place"));
            ("finding", format!("{what}: {} [{}]", text("detail"), text("action")))
        }
        "access" => {
            let decided = if event["allowed"] == true { "allowed" } else { "denied" };
            ("access", format!("{} {} {decided}: {}", text("kind"), text("target"), text("detail")))
        }
        "script" => ("script", format!("{}: {}", text("step"), text("line"))),
        "runtime" => return runtime(event),
        _ => return None,
    };
    Some(Moment { at: text("at").to_owned(), kind, text: told })
}

fn runtime(event: &Value) -> Option<Moment> {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let (kind, told) = match text("event") {
        "init" => ("runtime", format!("begins, model {}", event["model"].as_str().unwrap_or("not named"))),
        "tool_use" => ("tool", format!("{} {}", text("name"), text("summary")).trim_end().to_owned()),
        "tool_result" if event["is_error"] == true => ("tool", format!("failed: {}", text("summary"))),
        "result" => {
            let cost = event["total_cost_usd"].as_f64().unwrap_or_default();
            let turns = event["num_turns"].as_u64().unwrap_or_default();
            ("runtime", format!("ends after {turns} turns, ${cost:.2}: {}", text("subtype")))
        }
        "error" => ("runtime", format!("{}: {}", text("kind"), text("message"))),
        "retry" => ("runtime", format!("asks the model again: {}", text("error"))),
        _ => return None,
    };
    Some(Moment { at: text("at").to_owned(), kind, text: told })
}
