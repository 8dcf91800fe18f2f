//! What failed in a run, and which of it weighs most.

use serde_json::Value;

use super::account::object;
use crate::store::{FailureKind, FailureRecord, FailureSource, PolicyEvent};

/// What failed, in order.
#[derive(Debug, Default)]
pub(super) struct Failures {
    records: Vec<Value>,
    primary: Option<(u8, usize)>,
}

impl Failures {
    pub(super) fn push(&mut self, at: &str, failure: &FailureRecord) {
        let priority = failure.kind.priority();
        // The first of the weightiest.
        if self.primary.is_none_or(|(weightiest, _)| priority > weightiest) {
            self.primary = Some((priority, self.records.len()));
        }
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
