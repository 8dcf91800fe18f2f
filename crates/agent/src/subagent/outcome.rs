//! What comes back from a child.

use fullsend_flow::Label;
use serde_json::{Map, Value, json};

use super::task::Task;
use crate::engine::Finished;
use crate::report;
use crate::store::{EndStatus, SubagentStatus, TerminalReason};
use crate::tool::{Shown, ToolFailure, ToolFault, ToolOutput};

/// A child at its end.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) task: &'a Task,
    pub(super) manifest: Value,
    pub(super) finished: &'a Finished,
}

impl Outcome<'_> {
    pub(super) fn status(&self) -> SubagentStatus {
        match self.finished.ending.status {
            EndStatus::Completed => SubagentStatus::Completed,
            EndStatus::Failed | EndStatus::Cancelled => SubagentStatus::Failed,
        }
    }

    /// What the model of the run that started it reads.
    pub(super) fn told(self, output_id: &str) -> Result<ToolOutput, ToolFault> {
        let status = self.status();
        let finished = self.finished;
        let run_id = finished.store.run_id();
        let state = report::of_child(&finished.store, self.task.profile.tools())?;
        let summary = match status {
            SubagentStatus::Completed => finished.answer.clone(),
            SubagentStatus::Running | SubagentStatus::Failed | SubagentStatus::Interrupted => {
                format!("Subagent failed: {}", problem(finished))
            }
        };
        let result = |state: Map<String, Value>| {
            json!({
                "type": "fullsend.delegate-task-output",
                "outputId": output_id,
                "subagent": {
                    "type": "fullsend.subagent-result",
                    "childRunId": run_id,
                    "status": status,
                    "summary": summary,
                    "model": self.manifest.get("model"),
                    "modelTurns": finished.turns,
                    "runState": state,
                    "manifest": self.manifest,
                },
            })
        };
        let failed = status != SubagentStatus::Completed;
        let failure = failed.then(|| ToolFailure {
            kind: "harness_error".to_owned(),
            detail: format!("subagent {run_id} failed: {}", problem(finished)),
            exit_code: None,
        });
        let line = match failed {
            false => format!("{} finished after {} turns", run_id, finished.turns),
            true => format!("{} failed: {}", run_id, problem(finished)),
        };
        let view = result(state.clone());
        Ok(ToolOutput {
            record: result(with_paths(state, run_id.as_str())),
            model_view: Some(view),
            // What it says was made of all that it has seen, what it says of its failure as well.
            label: finished.context.clone(),
            images: Vec::new(),
            failure,
            shown: Shown { line, diff: None },
            rows: Vec::new(),
        })
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
        | TerminalReason::ToolCompleted
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
