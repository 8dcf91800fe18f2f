//! How a run ends.

use fullsend_flow::Label;
use fullsend_model::{FinishReason, Message};

use super::{Engine, RunError};
use crate::flow::FlowState;
use crate::store::{EndStatus, Ending, FailureKind, FailureRecord, KeptMessage, Row, TerminalReason};
use crate::structured::{StructuredOutcome, StructuredResult};

/// How often in a row the model is told to go on after an answer that was cut off.
const MOST_NUDGES: u32 = 3;

/// How a run has ended.
#[derive(Debug)]
pub struct Finished {
    /// In one word, and why.
    pub ending: Ending,
    /// The last thing the model said.
    pub answer: String,
    /// How often it was asked.
    pub turns: u32,
    /// What was used.
    pub usage: fullsend_model::Usage,
    /// How many bytes entered the conversation.
    pub output_bytes: u64,
    /// What all that the model has seen was made of, and so what its answer is made of.
    pub context: Label,
    /// What is known about its flows.
    pub flow: FlowState,
    /// What came of the structured result.
    pub structured: Option<StructuredOutcome>,
    /// What stopped it, if it was nothing that a model can cause.
    pub error: Option<RunError>,
    /// The record, complete.
    pub store: crate::store::RunStore,
    /// Why the record could not be completed.
    pub unrecorded: Option<crate::store::StoreError>,
}

impl Engine<'_> {
    /// What follows from an answer without calls; nothing when the model is to go on.
    pub(super) fn settle(&mut self, turn: u64) -> Result<Option<Ending>, RunError> {
        let finish = self.reminders.unanswered.clone();
        if finish == Some(FinishReason::Length) {
            if self.reminders.nudges >= MOST_NUDGES {
                return self
                    .failed("the answer was cut off at the gateway's limit of length, again and again; say with another prompt how to go on")
                    .map(Some);
            }
            self.nudge(
                turn,
                "Your answer was cut off at a limit of length. Go on where it stopped, in smaller steps.",
            )?;
            return Ok(None);
        }
        if finish == Some(FinishReason::ContentFilter) && self.last_answer().is_empty() {
            return self.failed("the gateway withheld the answer").map(Some);
        }
        if self.reminders.repairs < self.parts.budget.limits().repairs
            && let Some(problem) = self.structured_problem()
        {
            self.nudge(turn, &problem)?;
            return Ok(None);
        }
        Ok(Some(completed()))
    }

    fn structured_problem(&self) -> Option<String> {
        let expected = self.parts.structured.as_ref()?;
        let problem = expected.check().validation_error?;
        Some(format!(
            "The result in `{}` cannot be used: {problem}. Write it again.",
            expected.place.sandbox.as_str()
        ))
    }

    fn nudge(&mut self, turn: u64, text: &str) -> Result<(), RunError> {
        let kept = KeptMessage::User { content: text.to_owned(), image_attachments: Vec::new() };
        self.tell(&kept);
        let message = Message::User { content: text.to_owned(), images: Vec::new() };
        self.say(turn, kept, message, &Label::bottom())
    }

    fn failed(&mut self, detail: &str) -> Result<Ending, RunError> {
        let failure = FailureRecord::of_run(FailureKind::HarnessError, detail);
        self.parts.store.append(&Row::Failure(Box::new(failure)))?;
        Ok(Ending {
            status: EndStatus::Failed,
            terminal_reason: TerminalReason::PromptLoopError,
            detail: Some(detail.to_owned()),
        })
    }

    /// Completes the record, whatever has happened.
    pub(super) fn conclude(mut self, ended: Result<Ending, RunError>) -> Finished {
        let (ending, error) = match ended {
            Ok(ending) => (ending, None),
            Err(error) => (self.broken(&error), Some(error)),
        };
        let structured = self.parts.structured.as_ref().map(StructuredResult::check);
        let answer = self.last_answer().to_owned();
        let context = self.context_label();
        // The report needs the whole record in memory, and nobody needs the conversation any more.
        self.conversation = fullsend_model::Conversation::default();
        let unrecorded = self.parts.store.end(&ending).err();
        Finished {
            ending,
            answer,
            turns: self.parts.budget.turns(),
            usage: self.parts.budget.usage(),
            output_bytes: self.parts.budget.output_bytes(),
            context,
            flow: self.keeper.state().clone(),
            structured,
            error,
            store: self.parts.store,
            unrecorded,
        }
    }

    fn broken(&mut self, error: &RunError) -> Ending {
        let (kind, terminal_reason) = match error {
            RunError::Model(fullsend_model::ModelError::Transport { timed_out: true, .. }) => {
                (FailureKind::Timeout, TerminalReason::PromptLoopError)
            }
            RunError::Model(_) | RunError::Store(_) => {
                (FailureKind::HarnessError, TerminalReason::PromptLoopError)
            }
            RunError::Tool(_) => (FailureKind::HarnessError, TerminalReason::ToolError),
        };
        let failure = FailureRecord::of_run(kind, error.to_string());
        // Where nothing can be written any more, the error itself is what is told.
        let _told_by_the_error = self.parts.store.append(&Row::Failure(Box::new(failure)));
        Ending { status: EndStatus::Failed, terminal_reason, detail: Some(error.to_string()) }
    }
}

/// The end of a run that did its work.
pub(super) fn completed() -> Ending {
    Ending { status: EndStatus::Completed, terminal_reason: TerminalReason::AssistantCompleted, detail: None }
}
