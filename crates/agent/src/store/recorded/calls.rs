//! Which calls of the last answer have no result yet.

use std::collections::VecDeque;

use fullsend_model::ToolCall;

use crate::store::message::KeptMessage;
use crate::store::row::{Execution, Row};
use crate::tool::Effect;

/// A call that the model asked for and has no answer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DanglingCall {
    /// What was asked for.
    pub call: ToolCall,
    /// How far it came.
    pub state: CallState,
}

/// How far a call without an answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It never began: it can be made.
    NeverStarted,
    /// It never began, or has only looked, and nobody wants it any more: it is not made.
    Abandoned,
    /// It began, and nobody knows how far it came: only one that looks may be made again.
    Interrupted {
        /// The number that its output would have had.
        output_id: String,
        /// What it does to the world.
        effect: Effect,
    },
    /// It came to its end; only the answer is missing.
    Finished {
        /// The number of its output, if it ran.
        output_id: Option<String>,
        /// What became of it.
        execution: Execution,
        /// The file with the whole result, relative to the directory of the run.
        artifact: Option<String>,
    },
}

/// The calls of the last answer. Gateways may use the name of a call again in a later answer, and even in the same one, so
/// a name stands for the first call of that name that still waits.
#[derive(Debug, Default)]
pub(super) struct Asked {
    calls: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    call: ToolCall,
    state: CallState,
}

impl Waiting {
    fn is_interrupted(&self) -> bool {
        matches!(self.state, CallState::Interrupted { .. })
    }
}

impl Asked {
    /// Takes notice of a row.
    pub(super) fn see(&mut self, row: &Row) {
        match row {
            Row::Message { message: KeptMessage::Assistant { tool_calls, .. }, .. } => {
                let waiting =
                    |call: &ToolCall| Waiting { call: call.clone(), state: CallState::NeverStarted };
                self.calls = tool_calls.iter().map(waiting).collect();
            }
            Row::Message { message: KeptMessage::Tool { tool_call_id, .. }, .. } => {
                // A finished call is answered before one of the same name that is not.
                let named = |waiting: &Waiting| waiting.call.id == *tool_call_id;
                let done = |waiting: &Waiting| !matches!(waiting.state, CallState::NeverStarted);
                let place = self.calls.iter().position(|waiting| named(waiting) && done(waiting));
                if let Some(at) = place.or_else(|| self.calls.iter().position(named)) {
                    self.calls.remove(at);
                }
            }
            Row::CallStarted { call_id, output_id, effect, .. } => {
                let named = |waiting: &Waiting| waiting.call.id == *call_id;
                let fresh = |waiting: &Waiting| named(waiting) && waiting.state == CallState::NeverStarted;
                // A read that was interrupted is made again under another number.
                let again = |waiting: &Waiting| named(waiting) && waiting.is_interrupted();
                let place = self.calls.iter().position(fresh).or_else(|| self.calls.iter().position(again));
                if let Some(waiting) = place.and_then(|at| self.calls.get_mut(at)) {
                    waiting.state = CallState::Interrupted { output_id: output_id.clone(), effect: *effect };
                }
            }
            Row::CallFinished(finished) => {
                let state = CallState::Finished {
                    output_id: finished.output_id.clone(),
                    execution: finished.execution,
                    artifact: finished.artifact.clone(),
                };
                let is_it = |waiting: &Waiting| match &waiting.state {
                    CallState::NeverStarted => finished.execution == Execution::NotRun,
                    // Who gives up on a call that was interrupted need not know its number.
                    CallState::Interrupted { output_id, .. } => match &finished.output_id {
                        Some(finished) => finished == output_id,
                        None => finished.execution == Execution::Interrupted,
                    },
                    CallState::Finished { .. } | CallState::Abandoned => false,
                };
                let mut waiting = self.calls.iter_mut();
                if let Some(waiting) = waiting.find(|one| one.call.id == finished.call_id && is_it(one)) {
                    waiting.state = state;
                }
            }
            Row::Started { .. }
            | Row::Resumed { .. }
            | Row::Label { .. }
            | Row::Message { .. }
            | Row::Opened
            | Row::ModelAttempt { .. }
            | Row::PolicySnapshot { .. }
            | Row::Usage { .. }
            | Row::Hidden { .. }
            | Row::Inspected { .. }
            | Row::Decision(_)
            | Row::PolicyEvent(_)
            | Row::Failure(_)
            | Row::Cwd { .. }
            | Row::SkillActivated { .. }
            | Row::SkillRead { .. }
            | Row::SkillExecuted { .. }
            | Row::Subagent(_)
            | Row::Provenance(_)
            | Row::InvocationContext { .. }
            | Row::Ended(_) => {}
        }
    }

    /// The calls that still wait, in the order in which they were asked for.
    pub(super) fn dangling(self) -> Vec<DanglingCall> {
        self.calls.into_iter().map(|Waiting { call, state }| DanglingCall { call, state }).collect()
    }
}
