//! A value that a child returns: held against the schema that was asked for, and released as far as that pins it.
//!
//! The schema was written before the child saw anything. What it pins (numbers, booleans, words of a list) is the choice of the
//! run that asked, made by the child; how much such choices can tell is counted. All other text is sealed.

use fullsend_flow::leak_budget::{LeakBudget, MilliBits};
use fullsend_flow::release::{ReleaseOptions, parse_return, release};
use fullsend_flow::{Act, Confidentiality, FlowMode, Label, Policy};
use fullsend_origin::Sha256Digest;
use serde_json::{Map, Value, json};

use crate::schema::Schema;
use crate::store::{ArtifactError, RunStore};

/// The words for why a child could not do what was asked; any other is `other`.
const FAILURE_CODES: [&str; 6] = [
    "compile-error",
    "turn-budget-exhausted",
    "schema-mismatch",
    "missing-input-shape",
    "unsupported-request",
    "other",
];

/// What one of these words can tell.
const FAILURE_BITS: MilliBits = MilliBits::new(2_585);

/// What it can tell that nothing was returned, or no JSON, or not what the schema asks for.
const UNFIT_BITS: MilliBits = MilliBits::from_bits(2);

/// By what a returned value is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    pub(super) schema: &'a Value,
    pub(super) policy: &'a Policy,
    pub(super) mode: FlowMode,
    /// What the arguments of the call were made of.
    pub(super) arguments: &'a Label,
    /// What all that the child has seen was made of.
    pub(super) context: &'a Label,
}

/// What became of a returned value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Returned {
    /// `valid`, `invalid` or `child-reported-failure`.
    status: &'static str,
    /// Whether that and all else is kept from the run that asked, which gets a handle.
    pub(super) withheld: bool,
    /// In words, of which none is the child's.
    pub(super) summary: String,
    /// What is shown of it, and what that was made of.
    pub(super) label: Label,
    failure_code: Option<&'static str>,
    value: Option<Value>,
    linked_strings: usize,
    /// What precisely is wrong; quotes the value, and is for the record only.
    problem: Option<String>,
    raw: Option<Value>,
}

impl Returned {
    /// Judges the last words of a child.
    pub(super) fn judge(answer: &str, link_id: &str, terms: Terms<'_>) -> Self {
        let raw = match parse_return(answer) {
            Ok(raw) => raw,
            Err(error) => {
                let summary = format!("Subagent return validation failed: {error}");
                let problem = Some(error.to_string());
                return Self { problem, ..Self::without_value("invalid", summary) }
                    .told_at(UNFIT_BITS, terms);
            }
        };
        let code = failure_code(&raw);
        let released = match mismatch(terms.schema, &raw) {
            Some(problem) => Err(problem),
            None => release(terms.schema, &raw, link_id, &ReleaseOptions::default())
                .map_err(|error| error.to_string()),
        };
        let released = match released {
            Ok(released) => released,
            Err(problem) => {
                // Saying why it failed tells something too.
                let price = FAILURE_BITS.plus(MilliBits::from_bits(1));
                let code = code.filter(|_| terms.label_of_released(price).is_some());
                let price = code.map_or(UNFIT_BITS, |_| price);
                return Self { raw: Some(raw), ..Self::unfit(problem, code) }.told_at(price, terms);
            }
        };
        let told = code.map_or(MilliBits::ZERO, |_| FAILURE_BITS);
        // That it fits at all is one bit more.
        let price = released.bits.plus(told).plus(MilliBits::from_bits(1));
        let summary = match code {
            Some(code) => format!("Subagent reported failure ({code})."),
            None => "Subagent returned structured data matching the requested schema.".to_owned(),
        };
        let returned = Self {
            failure_code: code,
            value: Some(released.value),
            linked_strings: released.linked_strings,
            raw: Some(raw),
            ..Self::without_value("valid", summary)
        };
        returned.told_at(price, terms)
    }

    /// The same with the label that it has at this price. Where that is too much, it is kept back as a whole: that it does not
    /// fit would be an answer as well.
    fn told_at(self, price: MilliBits, terms: Terms<'_>) -> Self {
        match terms.label_of_released(price) {
            Some(label) => Self { label, ..self },
            None => Self { label: terms.context.clone(), withheld: true, ..self },
        }
    }

    /// A value that the schema does not accept. A child that says why it failed may say that in any form.
    fn unfit(problem: String, code: Option<&'static str>) -> Self {
        let returned = match code {
            Some(code) => Self {
                failure_code: Some(code),
                value: Some(json!({"ok": false, "code": code})),
                ..Self::without_value(
                    "child-reported-failure",
                    format!("Subagent reported failure ({code})."),
                )
            },
            None => Self::without_value(
                "invalid",
                "Subagent return validation failed: structured return did not match the schema".to_owned(),
            ),
        };
        Self { problem: Some(problem), ..returned }
    }

    fn without_value(status: &'static str, summary: String) -> Self {
        Self {
            status,
            withheld: false,
            summary,
            label: Label::bottom(),
            failure_code: None,
            value: None,
            linked_strings: 0,
            problem: None,
            raw: None,
        }
    }

    /// Whether the child did what was asked, as far as anybody can tell.
    pub(super) fn is_usable(&self) -> bool {
        self.status == "valid"
    }

    /// What became of it, in a word for the record.
    pub(super) fn in_a_word(&self) -> &'static str {
        if self.withheld { "withheld" } else { self.status }
    }

    /// All of it, for the record of what a handle stands for.
    pub(super) fn whole(&self, answer: &str) -> Value {
        self.raw.clone().unwrap_or_else(|| answer.into())
    }

    /// Keeps what the child said among its own artifacts, and tells what is shown of it.
    pub(super) fn keep(
        &self,
        answer: &str,
        schema: &Value,
        store: &RunStore,
    ) -> Result<(Value, String), ArtifactError> {
        let run_id = store.run_id();
        let digest = format!("sha256:{}", Sha256Digest::of(schema.to_string().as_bytes()));
        let output_id = format!("{run_id}:subagent_return:1");
        let mut record = json!({
            "type": "fullsend.subagent-raw-return",
            "childRunId": run_id,
            "schemaDigest": digest,
            "rawFinalAssistantText": answer,
            "validationStatus": self.status,
        });
        if let Some(record) = record.as_object_mut() {
            put(record, "value", self.raw.clone());
            put(record, "validationError", self.problem.clone().map(Value::from));
        }
        let path = store.write_output(&output_id, "subagent_return", &record)?;
        let mut told = Map::new();
        put(&mut told, "type", Some("fullsend.subagent-structured-return".into()));
        put(&mut told, "status", Some(self.status.into()));
        put(&mut told, "failureCode", self.failure_code.map(Value::from));
        put(&mut told, "schemaDigest", Some(digest.into()));
        put(&mut told, "rawOutputId", Some(output_id.into()));
        let linked = self.value.as_ref().map(|_| self.linked_strings.into());
        put(&mut told, "value", self.value.clone());
        put(&mut told, "linkedStringCount", linked);
        let error = (self.status == "invalid").then(|| Value::from(self.summary.as_str()));
        put(&mut told, "validationError", error);
        Ok((Value::Object(told), format!("{run_id}/{}", store.artifacts().relative(&path))))
    }
}

impl Terms<'_> {
    /// What a released value of this price was made of; nothing where it may not be shown.
    fn label_of_released(&self, price: MilliBits) -> Option<Label> {
        let mut budget = LeakBudget::new(MilliBits::from_bits(u64::from(self.policy.child_bits)));
        let pays = budget.charge(price).is_ok();
        let clearance = self.policy.clearance_bound();
        let public = clearance.readers.is_none_or(|readers| {
            // The run that asked has seen what its arguments were made of.
            let seen = self.arguments.confidentiality.clauses();
            let readers = Confidentiality::all_of(readers.clauses().chain(seen).cloned());
            self.context.confidentiality.flows_to(&readers)
        });
        if pays && public {
            // Nobody but the run that asked could choose what to choose from.
            let integrity = self.arguments.integrity.clone();
            return Some(Label { confidentiality: self.context.confidentiality.clone(), integrity });
        }
        // Where nothing is enforced it is shown, as what it is.
        (self.mode.act() != Act::Deny).then(|| self.context.clone())
    }
}

fn put(members: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        members.insert(key.to_owned(), value);
    }
}

/// What is wrong with a value by all that JSON Schema has to say.
fn mismatch(schema: &Value, value: &Value) -> Option<String> {
    match Schema::compile(schema) {
        Ok(schema) => {
            let first = schema.mismatches(value).into_iter().next()?;
            Some(format!("at `{}`: {}", first.place, first.expected))
        }
        Err(error) => Some(error.to_string()),
    }
}

/// Why a child says that it could not do what was asked, if it says so.
pub(super) fn failure_code(value: &Value) -> Option<&'static str> {
    let value = value.as_object()?;
    value.get("ok").filter(|ok| **ok == Value::Bool(false))?;
    let code = value.get("code").and_then(Value::as_str);
    let known = FAILURE_CODES.into_iter().find(|known| Some(*known) == code);
    Some(known.unwrap_or("other"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_that_is_not_ok_is_a_failure() {
        let told = |value: Value| failure_code(&value);
        assert_eq!(told(json!({"ok": false, "code": "invented"})), Some("other"));
        assert_eq!(told(json!({"ok": false, "code": "compile-error"})), Some("compile-error"));
        assert_eq!(told(json!({"ok": false})), Some("other"));
        assert_eq!(told(json!({"ok": "false"})), None);
        assert_eq!(told(json!([{"ok": false}])), None);
        assert_eq!(told(json!({"ok": true, "code": "other"})), None);
    }
}
