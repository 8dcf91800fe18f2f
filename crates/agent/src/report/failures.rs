//! What failed in a run, and which of it weighs most.

use std::collections::HashSet;

use serde_json::Value;

use super::account::object;
use crate::store::{FailureKind, FailureRecord, FailureSource, PolicyEvent};

/// What failed, in order.
#[derive(Debug, Default)]
pub(super) struct Failures {
    records: Vec<Value>,
    primary: Option<(u8, usize)>,
    /// The call that was denied last.
    denied: Option<String>,
    /// The outputs of calls that failed.
    outputs: HashSet<String>,
}

impl Failures {
    pub(super) fn push(&mut self, at: &str, failure: &FailureRecord) {
        let priority = failure.kind.priority();
        // The first of the weightiest.
        if self.primary.is_none_or(|(weightiest, _)| priority > weightiest) {
            self.primary = Some((priority, self.records.len()));
        }
        self.outputs.extend(failure.output_id.clone());
        let mut record = object(failure);
        if let Some(kind) = record.remove("failure") {
            record.insert("kind".to_owned(), kind);
        }
        record.insert("type".to_owned(), "fullsend.failure-record".into());
        record.insert("at".to_owned(), at.into());
        self.records.push(Value::Object(record));
    }

    /// A call that was denied is a failure too.
    pub(super) fn push_denied(&mut self, at: &str, event: &PolicyEvent) {
        let mut failure = FailureRecord::of_run(FailureKind::ToolNotAllowed, event.detail.as_str());
        failure.source = FailureSource::PolicyEvent;
        failure.tool_id = Some(event.tool_id.clone());
        failure.tool_call_id.clone_from(&event.tool_call_id);
        self.push(at, &failure);
        self.denied.clone_from(&event.tool_call_id);
    }

    /// Whether this is said already, by the event that denied the same call.
    pub(super) fn has_denied(&self, failure: &FailureRecord) -> bool {
        failure.kind == FailureKind::ToolNotAllowed
            && failure.tool_call_id.is_some()
            && failure.tool_call_id == self.denied
    }

    /// Whether the call with this output failed.
    pub(super) fn is_of(&self, output_id: &str) -> bool {
        self.outputs.contains(output_id)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn records(&self) -> &[Value] {
        &self.records
    }

    pub(super) fn primary(&self) -> Option<&Value> {
        self.primary.and_then(|(_, index)| self.records.get(index))
    }
}
