//! Results: kept, held against what the model may see, and answered.

use fullsend_flow::Label;
use fullsend_model::ToolCall;
use serde_json::{Value, json};

use super::calls::{Made, Ready};
use super::pictures::Pictures;
use super::{Engine, RunError};
use crate::event::{DeniedBy, Event};
use crate::flow::{self, Basis, Seen};
use crate::store::{
    CallFinished, EventSeverity, Execution, FailureRecord, KeptMessage, PolicyEvent, Row, ToolResultRef,
};
use crate::tool::{Shown, ToolFault, ToolOutput};
use crate::workspace::SandboxPath;

/// The longest result that enters the conversation, whatever the tool thinks.
const LONGEST_RESULT: usize = 1 << 20;

/// A result that is kept.
struct Kept<'a> {
    call: &'a ToolCall,
    tool: &'static str,
    output_id: &'a str,
    artifact: &'a str,
}

/// What of a call was not permitted where it was made. Connections are left out: the proxy tells of them.
fn denials<'o>(tool: &str, output: &'o ToolOutput) -> Vec<(DeniedBy, &'o str)> {
    let refused = output.record.get("denied").and_then(Value::as_array);
    let refused = refused.into_iter().flatten().filter_map(Value::as_str);
    let mut denials: Vec<(DeniedBy, &str)> =
        refused.filter(|line| !line.starts_with("network: ")).map(|line| (DeniedBy::Sandbox, line)).collect();
    let files = tool.ends_with("_file") || tool.ends_with("_files") || tool == "view_image";
    if let Some(failure) = output.failure.as_ref().filter(|_| files)
        && ["permission_denied", "workspace_path_confusion"].contains(&failure.kind.as_str())
    {
        denials.push((DeniedBy::Files, &failure.detail));
    }
    denials
}

impl Engine<'_> {
    /// Answers a call that was made, with its result or with a handle of it.
    pub(super) fn answer_call(
        &mut self,
        turn: u64,
        one: Ready<'_>,
        made: Made,
        basis: &Basis,
        pictures: &mut Pictures,
    ) -> Result<(), RunError> {
        let Ready { call, tool, output_id, hidden, texts, reveals, .. } = one;
        let spec = tool.spec();
        let mut output = made.result?;
        let artifact =
            self.parts.store.write_output(&output_id, spec.name, &output.record).map_err(ToolFault::from)?;
        let artifact = self.parts.store.artifacts().relative(&artifact);
        let failed = made.late || output.failure.is_some();
        self.parts.store.keep_sources(&self.parts.sources)?;
        for row in &mut output.rows {
            complete(row, call, basis);
            flow::conceal(row, &texts);
            self.parts.store.append(row)?;
        }
        if let Some(remark) = &made.remark {
            self.note_remark(&call.id, spec.name, remark)?;
        }
        self.concluded |= tool.concludes(&output);
        if let Some(failure) = &output.failure {
            let record = FailureRecord::of_tool(failure, spec.name, &call.id, Some(&output_id));
            self.parts.store.append(&Row::Failure(Box::new(record)))?;
        }
        // A result is made of what was asked and of what was found.
        let found = output.label.join(&self.parts.sources.planted_in(&output.record));
        let own = hidden.as_ref().map_or_else(|| found.clone(), |hidden| found.join(hidden));
        let label = basis.label.join(&own);
        let seen = match self.keeper.see(spec.deed, &basis.label, &own) {
            _ if reveals => Seen::Shown,
            Seen::Shown if output.withheld => Seen::Withheld,
            seen @ (Seen::Shown | Seen::Warned(_) | Seen::Hidden(_) | Seen::Withheld) => seen,
        };
        if hidden.is_some() {
            // What a person sees goes to logs, where what a handle stands for has no place.
            output.shown = Shown { line: format!("{} with a hidden value", spec.name), diff: None };
        }
        if hidden.is_none() {
            for (by, reason) in denials(spec.name, &output) {
                (self.watch)(Event::Denied { call, by, reason });
            }
        }
        let unseen = matches!(seen, Seen::Hidden(_) | Seen::Withheld);
        (self.watch)(Event::CallEnded { call, shown: &output.shown, done: !failed, hidden: unseen });
        let kept = Kept { call, tool: spec.name, output_id: &output_id, artifact: &artifact };
        if let Seen::Hidden(_) | Seen::Withheld = seen {
            self.answer_hidden(turn, &kept, &output.record, seen, &label, basis)?;
        } else {
            if seen != Seen::Shown {
                self.record_observation(&kept, seen, None)?;
            }
            self.answer_shown(turn, &kept, output.model_view.as_ref().unwrap_or(&output.record), &label)?;
            self.collect(&mut output.images, &label, pictures);
        }
        self.parts.store.append(&Row::CallFinished(CallFinished {
            call_id: call.id.clone(),
            tool: spec.name.to_owned(),
            output_id: Some(output_id),
            execution: if failed { Execution::Failed } else { Execution::Completed },
            duration_ms: made.took_ms,
            artifact: Some(artifact),
            error_detail: output.failure.as_ref().map(|failure| failure.detail.clone()),
        }))?;
        Ok(())
    }

    /// Once the message is on record the call is answered, and a run that is killed then does not wonder about it.
    fn answer_shown(
        &mut self,
        turn: u64,
        kept: &Kept<'_>,
        view: &Value,
        label: &Label,
    ) -> Result<(), RunError> {
        self.keep_current_dir()?;
        let content = bounded(view.to_string(), kept.output_id);
        self.parts.budget.shown(content.len() as u64);
        let reference = self.reference(kept);
        self.say_result(turn, kept.call, content, Some(reference), label)
    }

    /// Keeps a result from the model. What it gets in its place is made of what it asked, and of nothing that was found.
    fn answer_hidden(
        &mut self,
        turn: u64,
        kept: &Kept<'_>,
        record: &Value,
        seen: Seen,
        label: &Label,
        basis: &Basis,
    ) -> Result<(), RunError> {
        self.restore_current_dir();
        let (id, _) = self.labels.number(label);
        self.parts.store.record_labels(&self.labels)?;
        self.note(Row::Hidden {
            call_id: kept.call.id.clone(),
            tool: kept.tool.to_owned(),
            output_id: kept.output_id.to_owned(),
            label: id,
            reason: seen.code().unwrap_or_default().to_owned(),
        })?;
        let bytes = flow::text_of(kept.tool, record).len();
        let told = flow::handle_for(kept.output_id, bytes, self.keeper.lets_inspect());
        self.record_observation(kept, seen, Some(told.clone()))?;
        let content = told.to_string();
        self.parts.budget.shown(content.len() as u64);
        let reference = self.reference(kept);
        self.say_result(turn, kept.call, content, Some(reference), &basis.label)
    }

    /// Puts on record that the model does not get to see a result, or would not if the rules were enforced.
    fn record_observation(
        &mut self,
        kept: &Kept<'_>,
        seen: Seen,
        observation_denied: Option<Value>,
    ) -> Result<(), RunError> {
        let code = seen.code().unwrap_or_default();
        let hidden = observation_denied.is_some();
        let event = PolicyEvent {
            severity: if hidden { EventSeverity::Denied } else { EventSeverity::Warning },
            mode: self.parts.mode,
            tool_id: kept.tool.to_owned(),
            tool_call_id: Some(kept.call.id.clone()),
            detail: if hidden {
                format!("the result of {} was kept from the model: {code}", kept.tool)
            } else {
                format!("the result of {} would be kept from the model when enforcing: {code}", kept.tool)
            },
            tool_input_summary: None,
            observation_denied,
        };
        self.parts.store.append(&Row::PolicyEvent(Box::new(event)))?;
        Ok(())
    }

    fn reference(&self, kept: &Kept<'_>) -> ToolResultRef {
        ToolResultRef {
            output_id: kept.output_id.to_owned(),
            tool_id: kept.tool.to_owned(),
            run_id: self.parts.store.run_id().clone(),
            artifact_path: Some(kept.artifact.to_owned()),
        }
    }

    pub(super) fn say_result(
        &mut self,
        turn: u64,
        call: &ToolCall,
        content: String,
        result_ref: Option<ToolResultRef>,
        label: &Label,
    ) -> Result<(), RunError> {
        let kept = KeptMessage::Tool {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content,
            result_ref,
        };
        self.say_text(turn, kept, label)
    }

    fn keep_current_dir(&mut self) -> Result<(), RunError> {
        let now = self.parts.current_dir.get();
        if self.current_dir != now.as_str() {
            self.current_dir = now.as_str().to_owned();
            self.parts.store.append(&Row::Cwd { path: self.current_dir.clone() })?;
        }
        Ok(())
    }

    /// Where commands start is told with every result: a command whose result is hidden must not say anything by it.
    fn restore_current_dir(&self) {
        if let Ok(before) = SandboxPath::absolute(&self.current_dir) {
            self.parts.current_dir.set(before);
        }
    }
}

/// A tool that decides about what it has done does not know by which call it was asked.
fn complete(row: &mut Row, call: &ToolCall, basis: &Basis) {
    if let Row::Decision(decision) = row {
        decision.tool_call_id.clone_from(&call.id);
        if let Some(flow) = &mut decision.flow {
            flow.context = basis.id;
        }
    } else if let Row::PolicyEvent(event) = row {
        event.tool_call_id = Some(call.id.clone());
    }
}

/// A result that is not too long for a conversation.
fn bounded(content: String, output_id: &str) -> String {
    if content.len() <= LONGEST_RESULT {
        return content;
    }
    json!({
        "type": "fullsend.result-too-long",
        "outputId": output_id,
        "bytes": content.len(),
        "detail": "the result is kept, and is too long to be shown; ask for less",
    })
    .to_string()
}
