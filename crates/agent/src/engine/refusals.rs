//! Calls that are not made, and what is put on record about all of them.

use fullsend_flow::Label;
use fullsend_model::ToolCall;
use serde_json::{Map, Value, json};

use super::{Engine, RunError};
use crate::event::{DeniedBy, Event};
use crate::flow::Judgement;
use crate::gate::Verdict;
use crate::hooks::Remark;
use crate::store::{
    CallFinished, EventSeverity, Execution, FailureKind, FailureRecord, FailureSource, PolicyDecision,
    PolicyEvent, Row,
};
use crate::tool::{Effect, Shown};
use crate::toolbox::Rejection;

impl Engine<'_> {
    pub(super) fn record_decision(
        &mut self,
        call: &ToolCall,
        tool: &str,
        effect: Option<Effect>,
        judgement: &Judgement,
        summary: Option<Map<String, Value>>,
    ) -> Result<(), RunError> {
        let decision = PolicyDecision {
            tool_call_id: call.id.clone(),
            tool_id: tool.to_owned(),
            effect_class: effect,
            cfc_enforcement_mode: self.parts.mode,
            decision: judgement.verdict,
            reason_codes: judgement.reasons.clone(),
            detail: judgement.objection.clone(),
            tool_input_summary: summary,
            subagent_profile: judgement.profile.map(|profile| profile.as_str().to_owned()),
            flow: judgement.flow.clone(),
        };
        self.parts.store.append(&Row::Decision(Box::new(decision)))?;
        Ok(())
    }

    /// What somebody should know about a call that was denied, or would be if the rules were enforced.
    fn event(&self, call: &ToolCall, tool: &str, judgement: &Judgement, summary: Map<String, Value>) -> Row {
        let denied = judgement.verdict == Verdict::Denied;
        let reasons = judgement.objection.clone().unwrap_or_else(|| judgement.reasons.join(", "));
        Row::PolicyEvent(Box::new(PolicyEvent {
            severity: if denied { EventSeverity::Denied } else { EventSeverity::Warning },
            mode: self.parts.mode,
            tool_id: tool.to_owned(),
            tool_call_id: Some(call.id.clone()),
            detail: if denied {
                format!("{tool} was denied: {reasons}")
            } else {
                format!("{tool} would be denied when enforcing: {reasons}")
            },
            tool_input_summary: Some(summary),
            observation_denied: judgement.told.clone().filter(|_| denied),
        }))
    }

    /// Puts on record what a check did about a result.
    pub(super) fn note_remark(&mut self, call_id: &str, tool: &str, remark: &Remark) -> Result<(), RunError> {
        let event = PolicyEvent {
            severity: if remark.withheld { EventSeverity::Denied } else { EventSeverity::Warning },
            mode: self.parts.mode,
            tool_id: tool.to_owned(),
            tool_call_id: Some(call_id.to_owned()),
            detail: format!("{tool}: {}", remark.text),
            tool_input_summary: None,
            observation_denied: None,
        };
        self.parts.store.append(&Row::PolicyEvent(Box::new(event)))?;
        Ok(())
    }

    /// Puts on record that a call is made which would be denied if the rules were enforced.
    pub(super) fn warn(
        &mut self,
        call: &ToolCall,
        tool: &str,
        judgement: &Judgement,
        summary: Map<String, Value>,
    ) -> Result<(), RunError> {
        self.parts.store.append(&self.event(call, tool, judgement, summary))?;
        Ok(())
    }

    /// Answers a call that may not be made.
    pub(super) fn deny(
        &mut self,
        turn: u64,
        call: &ToolCall,
        tool: &str,
        judgement: &Judgement,
        summary: Map<String, Value>,
    ) -> Result<(), RunError> {
        let event = self.event(call, tool, judgement, summary);
        let told = judgement.told.as_ref().unwrap_or(&Value::Null);
        if judgement.objection.is_none() {
            let reason = told.get("detail").and_then(Value::as_str).unwrap_or("it is not authorised");
            (self.watch)(Event::Denied { call, by: DeniedBy::Flow, reason });
        }
        self.answer_unmade(turn, call, tool, told, "it is not authorised", &[event])
    }

    pub(super) fn reject(
        &mut self,
        turn: u64,
        call: &ToolCall,
        rejection: &Rejection,
    ) -> Result<(), RunError> {
        let told = self.parts.toolbox.explain(rejection);
        let (tool, reason, detail) = match rejection {
            Rejection::UnknownTool => (call.name.as_str(), "invalid_tool_call", "there is no such tool"),
            Rejection::NotAllowed { tool } => {
                (*tool, "tool_not_allowed", "the tool is not allowed in this run")
            }
            Rejection::Arguments { tool, reason, .. } => (*tool, "invalid_tool_call", *reason),
        };
        let mut judgement = Judgement::refused(reason);
        if crate::subagent::is_about_profile(rejection) {
            judgement.reasons.push("subagent_profile_not_allowed".to_owned());
            judgement.profile = crate::subagent::profile_named_in(&call.arguments);
        }
        self.record_decision(call, tool, None, &judgement, None)?;
        let event = matches!(rejection, Rejection::NotAllowed { .. })
            .then(|| self.event(call, tool, &judgement, Map::new()));
        let failure = FailureRecord {
            kind: if reason == "invalid_tool_call" {
                FailureKind::InvalidToolCall
            } else {
                FailureKind::ToolNotAllowed
            },
            source: FailureSource::ToolCall,
            detail: detail.to_owned(),
            tool_id: Some(tool.to_owned()),
            tool_call_id: Some(call.id.clone()),
            output_id: None,
            command_name: None,
            exit_code: None,
        };
        if event.is_some() {
            (self.watch)(Event::Denied { call, by: DeniedBy::Tools, reason: detail });
        }
        let rows: Vec<Row> = event.into_iter().chain([Row::Failure(Box::new(failure))]).collect();
        self.answer_unmade(turn, call, tool, &told, detail, &rows)
    }

    pub(super) fn refuse_surplus(
        &mut self,
        turn: u64,
        call: &ToolCall,
        reason: &str,
        limit: &str,
    ) -> Result<(), RunError> {
        (self.watch)(Event::CallBegan { call });
        let told = json!({
            "type": "fullsend.invalid-tool-call",
            "reason": reason,
            "expected": limit,
            "detail": "this call was not made; ask for it again if it is still needed",
        });
        self.answer_unmade(turn, call, &call.name, &told, limit, &[])
    }

    /// Answers a call that was not made. The rows say why, and come after the call they are about.
    pub(super) fn answer_unmade(
        &mut self,
        turn: u64,
        call: &ToolCall,
        tool: &str,
        told: &Value,
        why: &str,
        rows: &[Row],
    ) -> Result<(), RunError> {
        let shown = Shown { line: format!("not made: {why}"), diff: None };
        (self.watch)(Event::CallEnded { call, shown: &shown, done: false, hidden: false });
        self.parts.store.append(&Row::CallFinished(CallFinished {
            call_id: call.id.clone(),
            tool: tool.to_owned(),
            output_id: None,
            execution: Execution::NotRun,
            duration_ms: 0,
            artifact: None,
            error_detail: Some(why.to_owned()),
        }))?;
        for row in rows {
            self.parts.store.append(row)?;
        }
        // Made of the harness's words only.
        self.say_result(turn, call, told.to_string(), None, &Label::bottom())
    }
}
