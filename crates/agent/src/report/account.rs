//! All that happened in a run, put in order.

use std::collections::HashMap;
use std::path::Path;

use fullsend_model::Usage;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::DecisionCounts;
use super::activity::{Activities, Activity};
use super::failures::Failures;
use super::timeline::{Happening, Timeline};
use crate::gate::FlowMode;
use crate::slot::PromptSlot;
use crate::store::{
    EndStatus, Ending, Entry, EventSeverity, Execution, FailureKind, KeptMessage, PolicyDecision,
    PolicyEvent, RecordedSettings, Row, RunId, SubagentRun, TerminalReason, ToolResultRef, usage,
};

/// All that happened in a run.
#[derive(Debug)]
pub(super) struct Account<'a> {
    pub(super) run_id: &'a RunId,
    pub(super) settings: &'a RecordedSettings,
    pub(super) snapshot: Option<&'a Map<String, Value>>,
    pub(super) messages: Vec<&'a KeptMessage>,
    pub(super) decisions: Vec<Value>,
    pub(super) decision_counts: DecisionCounts,
    pub(super) events: Vec<Value>,
    pub(super) event_counts: EventCounts,
    pub(super) failures: Failures,
    pub(super) parts: Vec<Part<'a>>,
    pub(super) updated_at: &'a str,
    pub(super) current_dir: &'a str,
    pub(super) model_turns: u64,
    usages: Vec<TurnUsage>,
    attempts: Vec<Value>,
    /// The runs that this one started, each as it stands.
    pub(super) subagents: Vec<&'a SubagentRun>,
    /// What a runtime that follows labels was told of commands.
    pub(super) invocation_contexts: Vec<&'a Map<String, Value>>,
    activities: Activities<'a>,
    timeline: Timeline<'a>,
    /// The decisions that wait for the call they are about, by the name of the call.
    undecided: HashMap<&'a str, usize>,
}

/// How many things somebody should know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct EventCounts {
    total: u64,
    warnings: u64,
    denied: u64,
}

/// From a beginning to an ending, or to where a process died.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    pub(super) started_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: Option<&'a str>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) ending: Option<&'a Ending>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnUsage {
    model_turn: u64,
    usage: Usage,
}

impl<'a> Account<'a> {
    /// The account of these rows; none when they do not begin with a beginning.
    pub(super) fn of(entries: &'a [Entry]) -> Option<Self> {
        let (first, rest) = entries.split_first()?;
        let Row::Started { run_id, settings, .. } = &first.row else { return None };
        let mut account = Self {
            run_id,
            settings,
            snapshot: None,
            messages: Vec::new(),
            decisions: Vec::new(),
            decision_counts: DecisionCounts::default(),
            events: Vec::new(),
            event_counts: EventCounts::default(),
            failures: Failures::default(),
            parts: vec![Part { started_at: &first.at, ended_at: None, ending: None }],
            updated_at: &first.at,
            current_dir: &settings.start_dir,
            model_turns: 0,
            usages: Vec::new(),
            attempts: Vec::new(),
            subagents: Vec::new(),
            invocation_contexts: Vec::new(),
            activities: Activities::new(run_id),
            timeline: Timeline::default(),
            undecided: HashMap::new(),
        };
        account.timeline.push(&first.at, Happening::RunStarted);
        for entry in rest {
            account.add(entry);
        }
        Some(account)
    }

    fn add(&mut self, Entry { at, row, .. }: &'a Entry) {
        self.updated_at = at;
        match row {
            Row::Resumed { settings, .. } => {
                self.settings = settings;
                self.parts.push(Part { started_at: at, ended_at: None, ending: None });
                self.timeline.push(at, Happening::RunResumed);
            }
            Row::Message { message, turn, .. } => {
                self.model_turns += u64::from(matches!(message, KeptMessage::Assistant { .. }));
                self.timeline.push(at, Happening::message(self.messages.len(), *turn, message));
                self.messages.push(message);
                if let KeptMessage::Tool { result_ref: Some(result), .. } = message {
                    let failed = self.failures.is_of(&result.output_id);
                    let execution = if failed { Execution::Failed } else { Execution::Completed };
                    self.activities.answered(at, result, execution);
                }
            }
            Row::ModelAttempt { turn, attempt } => self.attempt(*turn, attempt),
            Row::Usage { turn, usage } => self.usages.push(TurnUsage { model_turn: *turn, usage: *usage }),
            Row::CallStarted { .. } | Row::CallFinished(_) => {
                let mode = self.settings.flow_mode;
                let Some(begun) = self.activities.see(at, row, mode) else { return };
                self.timeline.push(at, Happening::ToolActivity { activity_sequence: begun.sequence });
                let call_id = begun.tool_call_id;
                if let Some(index) = self.undecided.remove(call_id) {
                    self.connect(index);
                }
            }
            Row::Decision(decision) => self.decision(at, decision),
            Row::PolicyEvent(event) => self.event(at, event),
            Row::Failure(failure) if self.failures.has_denied(failure) => {}
            Row::Failure(failure) => {
                self.failed(at, failure.kind);
                self.failures.push(at, failure);
            }
            Row::Cwd { path } => self.current_dir = path,
            Row::PolicySnapshot { snapshot } => self.snapshot = Some(snapshot),
            Row::InvocationContext { context } => self.invocation_contexts.push(context),
            Row::Subagent(run) => {
                match self.subagents.iter_mut().find(|one| one.child_run_id == run.child_run_id) {
                    Some(known) => *known = run,
                    None => self.subagents.push(run),
                }
            }
            Row::Ended(ending) => {
                if let Some(part) = self.parts.last_mut() {
                    part.ended_at = Some(at);
                    part.ending = Some(ending);
                }
                self.timeline.push(at, Happening::finished(ending));
            }
            Row::Started { .. }
            | Row::Hidden { .. }
            | Row::Inspected { .. }
            | Row::Label { .. }
            | Row::Opened
            | Row::SkillActivated { .. }
            | Row::SkillRead { .. }
            | Row::SkillExecuted { .. }
            | Row::Provenance(_) => {}
        }
    }

    fn attempt(&mut self, turn: u64, attempt: &impl Serialize) {
        let mut record = object(attempt);
        record.insert("type".to_owned(), "fullsend.model-attempt".into());
        record.insert("runId".to_owned(), self.run_id.as_str().into());
        record.insert("sequence".to_owned(), (self.attempts.len() + 1).into());
        record.insert("modelTurn".to_owned(), turn.into());
        self.attempts.push(Value::Object(record));
    }

    fn decision(&mut self, at: &str, decision: &'a PolicyDecision) {
        let mut record = object(decision);
        record.insert("type".to_owned(), "fullsend.policy-decision".into());
        record.insert("sequence".to_owned(), (self.decisions.len() + 1).into());
        record.insert("runId".to_owned(), self.run_id.as_str().into());
        record.insert("at".to_owned(), at.into());
        self.put_slot(&mut record);
        self.decision_counts.add(decision.decision);
        self.undecided.insert(&decision.tool_call_id, self.decisions.len());
        self.decisions.push(Value::Object(record));
    }

    /// Says how the prompt came to be whose authority was asked about.
    fn put_slot(&self, record: &mut Map<String, Value>) {
        if let Some(slot) = &self.settings.provenance.prompt_slot {
            record.insert("promptSlot".to_owned(), slot.clone().into());
        }
    }

    /// Connects a decision with the call that has just begun.
    fn connect(&mut self, index: usize) {
        let Some(activity) = self.activities.last_mut() else { return };
        let Some(Value::Object(decision)) = self.decisions.get_mut(index) else { return };
        decision.insert("toolActivitySequence".to_owned(), activity.sequence.into());
        activity.policy_decision = decision.get("decision").cloned();
    }

    fn failed(&mut self, at: &'a str, failure_kind: FailureKind) {
        let failure_index = self.failures.len();
        self.timeline.push(at, Happening::FailureRecord { failure_index, failure_kind });
    }

    fn event(&mut self, at: &'a str, event: &'a PolicyEvent) {
        let mut record = object(event);
        record.insert("type".to_owned(), "fullsend.policy-event".into());
        record.insert("at".to_owned(), at.into());
        self.put_slot(&mut record);
        self.event_counts.total += 1;
        let index = self.events.len();
        self.timeline.push(at, Happening::PolicyEvent { event_index: index });
        match event.severity {
            EventSeverity::Warning => self.event_counts.warnings += 1,
            EventSeverity::Denied => {
                self.event_counts.denied += 1;
                self.failed(at, FailureKind::ToolNotAllowed);
                self.failures.push_denied(at, event);
            }
        }
        self.activities.event(event, index);
        self.events.push(Value::Object(record));
    }

    /// How the run ended, if it is over.
    pub(super) fn ending(&self) -> Option<(&'a str, &'a Ending)> {
        let part = self.parts.last()?;
        part.ended_at.zip(part.ending)
    }

    pub(super) fn status(&self) -> Status {
        self.ending().map_or(Status::Running, |(_, ending)| Status::Ended(ending.status))
    }

    pub(super) fn tool_outputs(&self) -> Vec<&ToolResultRef> {
        self.activities.results().collect()
    }

    pub(super) fn total_usage(&self) -> Usage {
        let of_children =
            self.subagents.iter().map(|run| run.usage).filter(|usage| *usage != Usage::default());
        usage::sum(&self.usages.iter().map(|turn| turn.usage).chain(of_children).collect::<Vec<_>>())
    }

    /// The report of the run.
    pub(super) fn report<'b>(&'b self, generated_at: &'b str, run_dir: &'b Path) -> RunReport<'b> {
        let ending = self.ending();
        let total_usage = self.total_usage();
        RunReport {
            r#type: "fullsend.run-report",
            version: 1,
            run_id: self.run_id,
            generated_at,
            status: self.status(),
            model: &self.settings.model,
            model_turns: self.model_turns,
            cfc_enforcement_mode: self.settings.flow_mode,
            created_at: self.parts.first().map_or(self.updated_at, |part| part.started_at),
            updated_at: self.updated_at,
            ended_at: ending.map(|(at, _)| at),
            terminal_reason: ending.map(|(_, ending)| ending.terminal_reason),
            terminal_detail: ending.and_then(|(_, ending)| ending.detail.as_deref()),
            final_assistant_text: self.final_text(),
            artifact_root: run_dir,
            transcript_path: super::TRANSCRIPT,
            prompt_slot_binding: self.settings.provenance.prompt_slot.as_ref(),
            cfc_policy_snapshot: self.snapshot,
            policy_trace_path: super::POLICY_TRACE,
            parts: &self.parts,
            primary_failure: self.failures.primary(),
            failure_records: self.failures.records(),
            policy_event_counts: self.event_counts,
            policy_decision_counts: self.decision_counts,
            policy_events: &self.events,
            policy_decisions: &self.decisions,
            timeline: &self.timeline,
            tool_activity: self.activities.all(),
            model_attempts: &self.attempts,
            tool_outputs: self.tool_outputs(),
            model_usage: &self.usages,
            total_usage,
            subagent_runs: &self.subagents,
        }
    }

    /// What the model said last, if that was all that was wanted.
    fn final_text(&self) -> Option<&'a str> {
        let (_, ending) = self.ending()?;
        match self.messages.last()? {
            KeptMessage::Assistant { content, .. } if ending.status == EndStatus::Completed => Some(content),
            KeptMessage::System { .. }
            | KeptMessage::User { .. }
            | KeptMessage::Assistant { .. }
            | KeptMessage::Tool { .. } => None,
        }
    }
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Running,
    #[serde(untagged)]
    Ended(EndStatus),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunReport<'a> {
    r#type: &'static str,
    version: u32,
    run_id: &'a RunId,
    generated_at: &'a str,
    status: Status,
    model: &'a str,
    model_turns: u64,
    cfc_enforcement_mode: FlowMode,
    created_at: &'a str,
    updated_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_reason: Option<TerminalReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal_detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    final_assistant_text: Option<&'a str>,
    artifact_root: &'a Path,
    transcript_path: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_slot_binding: Option<&'a PromptSlot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cfc_policy_snapshot: Option<&'a Map<String, Value>>,
    policy_trace_path: &'static str,
    parts: &'a [Part<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_failure: Option<&'a Value>,
    failure_records: &'a [Value],
    policy_event_counts: EventCounts,
    policy_decision_counts: DecisionCounts,
    policy_events: &'a [Value],
    policy_decisions: &'a [Value],
    timeline: &'a Timeline<'a>,
    tool_activity: &'a [Activity<'a>],
    model_attempts: &'a [Value],
    tool_outputs: Vec<&'a ToolResultRef>,
    model_usage: &'a [TurnUsage],
    total_usage: Usage,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    subagent_runs: &'a [&'a SubagentRun],
}

/// The members of a record. Every record is an object whose keys are words, so that nothing is lost here.
pub(super) fn object(record: &impl Serialize) -> Map<String, Value> {
    let Ok(Value::Object(members)) = serde_json::to_value(record) else {
        return Map::from_iter([("unreadable".to_owned(), json!(true))]);
    };
    members
}
