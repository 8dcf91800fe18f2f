//! The calls of a run, each from its beginning to its end.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::gate::FlowMode;
use crate::store::{CallFinished, EventSeverity, Execution, PolicyEvent, Row, RunId, ToolResultRef};
use crate::tool::Effect;

/// One call.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "fullsend.tool-activity", rename_all = "camelCase")]
pub(super) struct Activity<'a> {
    run_id: &'a RunId,
    pub(super) sequence: u64,
    started_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    pub(super) tool_call_id: &'a str,
    tool_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect_class: Option<Effect>,
    cfc_enforcement_mode: FlowMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) policy_decision: Option<Value>,
    execution_status: Execution,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_input_summary: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_event_indexes: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_ref: Option<ToolResultRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_detail: Option<&'a str>,
}

/// The calls so far.
#[derive(Debug)]
pub(super) struct Activities<'a> {
    run_id: &'a RunId,
    all: Vec<Activity<'a>>,
    /// Calls without an end, by the number of their output.
    open: HashMap<&'a str, usize>,
    /// The last call of each name.
    latest: HashMap<&'a str, usize>,
    /// What somebody should know about calls that have not begun.
    early_events: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Activities<'a> {
    pub(super) fn new(run_id: &'a RunId) -> Self {
        Self {
            run_id,
            all: Vec::new(),
            open: HashMap::new(),
            latest: HashMap::new(),
            early_events: HashMap::new(),
        }
    }

    /// Takes notice of a beginning or an end; returns a call that is new.
    pub(super) fn see(&mut self, at: &'a str, row: &'a Row, mode: FlowMode) -> Option<&Activity<'a>> {
        if let Row::CallStarted { call_id, tool, output_id, effect, input, .. } = row {
            let mut begun = self.begin(at, call_id, tool, mode);
            begun.effect_class = Some(*effect);
            begun.tool_input_summary = Some(input);
            self.open.insert(output_id, self.all.len());
            return self.add(begun);
        }
        let Row::CallFinished(finished) = row else { return None };
        if let Some(activity) = self.open_call(finished).and_then(|index| self.all.get_mut(index)) {
            activity.finish(at, finished);
            return None;
        }
        let mut begun = self.begin(at, &finished.call_id, &finished.tool, mode);
        begun.finish(at, finished);
        self.add(begun)
    }

    /// The call that has come to its end. Who gives up on one that was interrupted need not know its number.
    fn open_call(&mut self, finished: &CallFinished) -> Option<usize> {
        match &finished.output_id {
            Some(output_id) => self.open.remove(output_id.as_str()),
            None if finished.execution == Execution::Interrupted => {
                let latest = *self.latest.get(finished.call_id.as_str())?;
                self.open.retain(|_, open| *open != latest);
                self.all.get(latest).filter(|activity| activity.ended_at.is_none()).map(|_| latest)
            }
            None => None,
        }
    }

    /// A call whose result is in the conversation is over, also if its end did not make it into the journal.
    pub(super) fn answered(&mut self, at: &'a str, result: &ToolResultRef, execution: Execution) {
        let open = self.open.get(result.output_id.as_str()).and_then(|index| self.all.get_mut(*index));
        if let Some(activity) = open {
            activity.ended_at = Some(at);
            activity.execution_status = execution;
            activity.result_ref = Some(result.clone());
        }
    }

    fn begin(&mut self, at: &'a str, call_id: &'a str, tool: &'a str, mode: FlowMode) -> Activity<'a> {
        Activity {
            run_id: self.run_id,
            sequence: u64::try_from(self.all.len()).unwrap_or(u64::MAX).saturating_add(1),
            started_at: at,
            ended_at: None,
            duration_ms: None,
            tool_call_id: call_id,
            tool_id: tool,
            effect_class: None,
            cfc_enforcement_mode: mode,
            policy_decision: None,
            // What stays without an end was cut off.
            execution_status: Execution::Interrupted,
            tool_input_summary: None,
            policy_event_indexes: self.early_events.remove(call_id).unwrap_or_default(),
            result_ref: None,
            error_detail: None,
        }
    }

    fn add(&mut self, activity: Activity<'a>) -> Option<&Activity<'a>> {
        self.latest.insert(activity.tool_call_id, self.all.len());
        self.all.push(activity);
        self.all.last()
    }

    /// Connects something that somebody should know with its call: one that runs, or one that is about to.
    pub(super) fn event(&mut self, event: &'a PolicyEvent, index: usize) {
        let Some(call_id) = event.tool_call_id.as_deref() else { return };
        let latest = self.latest.get(call_id).and_then(|at| self.all.get_mut(*at));
        let open = |activity: &&mut Activity<'_>| {
            activity.ended_at.is_none() || activity.execution_status == Execution::NotRun
        };
        match latest.filter(open) {
            Some(activity) => activity.notice(event.severity, index),
            None => self.early_events.entry(call_id).or_default().push(index),
        }
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Activity<'a>> {
        self.all.last_mut()
    }

    pub(super) fn all(&self) -> &[Activity<'a>] {
        &self.all
    }

    pub(super) fn results(&self) -> impl Iterator<Item = &ToolResultRef> {
        self.all.iter().filter_map(|activity| activity.result_ref.as_ref())
    }
}

impl<'a> Activity<'a> {
    /// What becomes known after a call was allowed, such as that its result may not be seen, weighs more than that it was.
    fn notice(&mut self, severity: EventSeverity, index: usize) {
        self.policy_event_indexes.push(index);
        let verdict = match severity {
            EventSeverity::Denied => "denied",
            EventSeverity::Warning if self.policy_decision == Some("denied".into()) => return,
            EventSeverity::Warning => "warned",
        };
        self.policy_decision = Some(verdict.into());
    }

    fn finish(&mut self, at: &'a str, finished: &'a CallFinished) {
        self.ended_at = Some(at);
        self.duration_ms = Some(finished.duration_ms);
        self.execution_status = finished.execution;
        self.error_detail = finished.error_detail.as_deref();
        let Some((output_id, artifact)) = finished.output_id.as_ref().zip(finished.artifact.as_ref()) else {
            return;
        };
        self.result_ref = Some(ToolResultRef {
            output_id: output_id.clone(),
            tool_id: self.tool_id.to_owned(),
            run_id: self.run_id.clone(),
            artifact_path: Some(artifact.clone()),
        });
    }
}
