//! What comes back from a child.

use fullsend_flow::Label;
use serde_json::{Map, Value, json};

use super::Parent;
use super::returned::{Returned, Terms};
use super::task::Task;
use crate::engine::Finished;
use crate::report;
use crate::store::{EndStatus, SubagentStatus, TerminalReason};
use crate::tool::{Shown, ToolFailure, ToolFault, ToolOutput};

/// A child at its end.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    task: &'a Task,
    manifest: Value,
    finished: &'a Finished,
    /// What became of the value that was asked for, what is shown of it, and where the whole is kept.
    returned: Option<(Returned, Value, String)>,
}

impl<'a> Outcome<'a> {
    /// What came of a child; a value that it was to return is judged, and kept among its artifacts.
    pub(super) fn of(
        task: &'a Task,
        manifest: Value,
        finished: &'a Finished,
        parent: &Parent,
        arguments: &Label,
    ) -> Result<Self, ToolFault> {
        let completed = finished.ending.status == EndStatus::Completed;
        let mut returned = None;
        if let Some(schema) = task.schema.as_ref().filter(|_| completed) {
            let terms = Terms {
                schema,
                policy: &parent.policy,
                mode: parent.settings.flow_mode,
                arguments,
                context: &finished.context,
            };
            let judged = Returned::judge(&finished.answer, finished.store.run_id().as_str(), terms);
            let (told, path) = judged.keep(&finished.answer, schema, &finished.store)?;
            // There is one more file than when the record was completed.
            report::render(&finished.store)?;
            returned = Some((judged, told, path));
        }
        Ok(Self { task, manifest, finished, returned })
    }

    pub(super) fn status(&self) -> SubagentStatus {
        let usable = self.returned.as_ref().is_none_or(|(returned, _, _)| returned.is_usable());
        match self.finished.ending.status {
            EndStatus::Completed if usable => SubagentStatus::Completed,
            EndStatus::Completed | EndStatus::Failed | EndStatus::Cancelled => SubagentStatus::Failed,
        }
    }

    /// What became of the value that was asked for, in a word.
    pub(super) fn structured_return(&self) -> Option<&'static str> {
        self.returned.as_ref().map(|(returned, _, _)| returned.in_a_word())
    }

    fn summary(&self) -> String {
        match (&self.returned, self.finished.ending.status) {
            (Some((returned, _, _)), _) => returned.summary.clone(),
            (None, EndStatus::Completed) => self.finished.answer.clone(),
            (None, EndStatus::Failed | EndStatus::Cancelled) => {
                format!("Subagent failed: {}", problem(self.finished))
            }
        }
    }

    /// What the model of the run that started it reads.
    pub(super) fn told(self, output_id: &str) -> Result<ToolOutput, ToolFault> {
        let run_id = self.finished.store.run_id();
        let state = report::of_child(&self.finished.store, self.task.profile.tools())?;
        let failed = self.status() != SubagentStatus::Completed;
        let why = match &self.returned {
            Some((returned, _, _)) => returned.summary.clone(),
            None => problem(self.finished),
        };
        let line = match failed {
            false => format!("{run_id} finished after {} turns", self.finished.turns),
            true => format!("{run_id} failed: {why}"),
        };
        let failure = failed.then(|| ToolFailure {
            kind: "harness_error".to_owned(),
            detail: format!("subagent {run_id} failed: {why}"),
            exit_code: None,
        });
        Ok(ToolOutput {
            model_view: Some(self.view(output_id, &state)),
            withheld: self.returned.as_ref().is_some_and(|(returned, _, _)| returned.withheld),
            record: self.record(output_id, state),
            // What it says was made of all that it has seen, what it says of its failure as well.
            label: match &self.returned {
                Some((returned, _, _)) => returned.label.clone(),
                None => self.finished.context.clone(),
            },
            images: Vec::new(),
            failure,
            shown: Shown { line, diff: None },
            rows: Vec::new(),
        })
    }

    /// What the model sees. With a value that was judged there is nothing beside it that the child could have chosen: how often
    /// it failed or asked would be a second, uncounted answer.
    fn view(&self, output_id: &str, state: &Map<String, Value>) -> Value {
        let mut view = self.result(output_id, Map::new());
        let Some(subagent) = view.get_mut("subagent").and_then(Value::as_object_mut) else { return view };
        if let Some((_, told, _)) = &self.returned {
            let kept = ["status", "cfcEnforcementMode", "terminalReason"];
            let state = state.iter().filter(|(key, _)| kept.contains(&key.as_str()));
            let state: Map<String, Value> = state.map(|(key, value)| (key.clone(), value.clone())).collect();
            subagent.insert("runState".to_owned(), state.into());
            subagent.insert("structuredReturn".to_owned(), told.clone());
            subagent.remove("modelTurns");
        } else {
            subagent.insert("runState".to_owned(), state.clone().into());
        }
        view
    }

    /// The same with all that is known, and where it is kept. For the record: no model has a use for that.
    fn record(&self, output_id: &str, state: Map<String, Value>) -> Value {
        let state = with_paths(state, self.finished.store.run_id().as_str());
        let mut record = self.result(output_id, state);
        let subagent = record.get_mut("subagent").and_then(Value::as_object_mut);
        if let (Some(subagent), Some((returned, told, path))) = (subagent, &self.returned) {
            let mut told = told.clone();
            if let Some(told) = told.as_object_mut() {
                told.insert("rawArtifactPath".to_owned(), path.as_str().into());
                if returned.withheld {
                    told.insert("value".to_owned(), returned.whole(&self.finished.answer));
                    told.insert("withheld".to_owned(), true.into());
                }
            }
            subagent.insert("structuredReturn".to_owned(), told);
        }
        record
    }

    fn result(&self, output_id: &str, state: Map<String, Value>) -> Value {
        json!({
            "type": "fullsend.delegate-task-output",
            "outputId": output_id,
            "subagent": {
                "type": "fullsend.subagent-result",
                "childRunId": self.finished.store.run_id(),
                "status": self.status(),
                "summary": self.summary(),
                "model": self.manifest.get("model"),
                "modelTurns": self.finished.turns,
                "runState": state,
                "manifest": self.manifest,
            },
        })
    }
}

/// What a person would take for what a child has returned: the value that was asked for, or else what it says.
pub(crate) fn text_of(record: &Value) -> String {
    let told =
        record.pointer("/subagent/structuredReturn/value").or_else(|| record.pointer("/subagent/summary"));
    match told {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => record.to_string(),
    }
}

/// Where its files are, from the directory of runs on. For the record: no model has a use for them.
fn with_paths(mut state: Map<String, Value>, run_id: &str) -> Map<String, Value> {
    let files = [("transcriptPath", report::TRANSCRIPT), ("runReportPath", report::RUN_REPORT)];
    state.insert("artifactRoot".to_owned(), run_id.into());
    for (key, name) in files {
        state.insert(key.to_owned(), format!("{run_id}/{name}").into());
    }
    state
}

/// Why a child came to nothing.
fn problem(finished: &Finished) -> String {
    let ending = &finished.ending;
    match ending.terminal_reason {
        TerminalReason::MaxModelTurns => format!("prompt loop exceeded max model turns ({})", finished.turns),
        TerminalReason::BudgetExhausted => "the budget of the run is used up".to_owned(),
        TerminalReason::AssistantCompleted
        | TerminalReason::ToolError
        | TerminalReason::PromptLoopError
        | TerminalReason::ProcessInterrupted => ending.detail.clone().unwrap_or_default(),
    }
}

/// What is told when no child was started.
pub(super) fn refused(output_id: &str, problem: &str) -> ToolOutput {
    ToolOutput {
        record: json!({
            "type": "fullsend.observation-denied",
            "outputId": output_id,
            "reason": "not-authorized",
            "detail": problem,
        }),
        model_view: None,
        withheld: false,
        label: Label::bottom(),
        images: Vec::new(),
        failure: Some(ToolFailure {
            kind: "tool_not_allowed".to_owned(),
            detail: problem.to_owned(),
            exit_code: None,
        }),
        shown: Shown { line: format!("not made: {problem}"), diff: None },
        rows: Vec::new(),
    }
}
