//! What an answer of `tirith` means.

use serde_json::{Map, Value};

use super::rules::{TIRITH_ACTION_BLOCK, TIRITH_BLOCK, TIRITH_FINDING};
use crate::finding::Finding;
use crate::scanner::FindingList;
use crate::severity::Severity;

/// How much of what the program says on standard error is shown.
const SHOWN: usize = 500;

/// Whether a command may run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It may.
    Allow,
    /// It may not.
    Deny {
        /// Why, in a sentence for the model and the person.
        reason: String,
    },
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Answer {
    /// Whether the command may run.
    pub verdict: Verdict,
    /// What belongs in the record.
    pub findings: Vec<Finding>,
}

/// What the exit code and the output of `tirith` say about a command; findings of `fail_on` and worse deny.
///
/// Two forms of answer are known: an object with `action` and `findings` (0.3), and a plain list of findings (0.2).
pub fn interpret(exit_code: Option<i32>, stdout: &[u8], stderr: &[u8], fail_on: Severity) -> Answer {
    if exit_code == Some(0) {
        return Answer { verdict: Verdict::Allow, findings: Vec::new() };
    }
    let exit = exit_code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
    let (action, entries) = match serde_json::from_slice(stdout) {
        Ok(Value::Object(answer)) => (text(&answer, &["action"]).map(str::to_owned), entries(answer)),
        Ok(Value::Array(entries)) => (None, Some(entries)),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => {
            return unreadable(&exit, stderr);
        }
    };
    let Some(entries) = entries else { return unreadable(&exit, stderr) };
    let mut findings = FindingList::default();
    let mut reason = None;
    for entry in &entries {
        let reported = Reported::from(entry);
        if reason.is_none() && reported.severity.is_none_or(|severity| severity >= fail_on) {
            reason = Some(reported.reason());
        }
        findings.push(reported.finding());
    }
    if reason.is_none() {
        reason = match action.as_deref() {
            Some("allow" | "warn") => None,
            Some("block") => {
                findings.push(Finding::new(
                    &TIRITH_ACTION_BLOCK,
                    None,
                    "tirith asks for the command to be blocked",
                ));
                Some(format!("Tirith blocked the command ({exit})"))
            }
            Some(_) | None => {
                findings.push(Finding::new(
                    &TIRITH_BLOCK,
                    None,
                    format!("no action and no finding that explains {exit}"),
                ));
                Some(format!("Tirith blocked the command ({exit})"))
            }
        };
    }
    let verdict = reason.map_or(Verdict::Allow, |reason| Verdict::Deny { reason });
    Answer { verdict, findings: findings.into_vec() }
}

/// The findings of an answer that is an object; none when they are not a list.
fn entries(mut answer: Map<String, Value>) -> Option<Vec<Value>> {
    match answer.remove("findings") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(entries)) => Some(entries),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => None,
    }
}

/// The program refused, and nobody knows why.
fn unreadable(exit: &str, stderr: &[u8]) -> Answer {
    let said: String = String::from_utf8_lossy(stderr).trim().chars().take(SHOWN).collect();
    let reason = format!("Tirith blocked the command ({exit}): {}", crate::visible(&said));
    let findings =
        vec![Finding::new(&TIRITH_BLOCK, None, format!("{exit} without an answer that can be read"))];
    Answer { verdict: Verdict::Deny { reason }, findings }
}

/// One finding as tirith reports it.
struct Reported<'a> {
    rule: &'a str,
    title: &'a str,
    severity_text: &'a str,
    /// None when it is not one that is known.
    severity: Option<Severity>,
}

impl<'a> Reported<'a> {
    fn from(entry: &'a Value) -> Self {
        let field =
            |names: &[&str]| entry.as_object().and_then(|entry| text(entry, names)).unwrap_or_default();
        let severity_text = field(&["severity"]);
        Self {
            rule: field(&["rule_id", "rule"]),
            title: field(&["title", "message", "detail"]),
            severity_text,
            severity: severity_text.to_ascii_lowercase().parse().ok(),
        }
    }

    fn reason(&self) -> String {
        let Self { rule, title, severity_text, .. } = self;
        let shown: String = format!("Tirith [{severity_text}] {rule}: {title}").chars().take(SHOWN).collect();
        crate::visible(&shown).into_owned()
    }

    fn finding(&self) -> Finding {
        let Self { rule, title, .. } = self;
        Finding::new(&TIRITH_FINDING, None, format!("{rule}: {title}"))
            .with_severity(self.severity.unwrap_or(Severity::Critical))
    }
}

/// The first of these fields that is a string.
fn text<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| object.get(*name)?.as_str())
}
