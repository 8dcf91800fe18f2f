//! How often a model was told to go on, or to mend its result: counted from messages, so that it goes on counting in
//! another process.

use fullsend_model::FinishReason;

use super::super::message::KeptMessage;

/// What the conversation says about the last answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reminders {
    /// How often in a row the model was told to go on after an answer that was cut off.
    pub nudges: u32,
    /// How often it was told to mend its result.
    pub repairs: u32,
    /// Why the last answer ended, as long as it asked for nothing and nothing followed.
    pub unanswered: Option<FinishReason>,
}

impl Reminders {
    /// The conversation grows.
    pub(crate) fn see(&mut self, turn: u64, message: &KeptMessage) {
        match message {
            KeptMessage::Assistant { tool_calls, finish_reason, .. } if tool_calls.is_empty() => {
                self.unanswered = Some(finish_reason.clone().unwrap_or(FinishReason::Stop));
            }
            KeptMessage::Assistant { .. } => {
                self.nudges = 0;
                self.unanswered = None;
            }
            // Whoever started the run says something new.
            KeptMessage::User { .. } if turn == 0 => *self = Self::default(),
            KeptMessage::User { .. } => match self.unanswered.take() {
                Some(FinishReason::Length) => self.nudges += 1,
                Some(
                    FinishReason::Stop
                    | FinishReason::ToolCalls
                    | FinishReason::ContentFilter
                    | FinishReason::Other(_),
                ) => {
                    self.nudges = 0;
                    self.repairs += 1;
                }
                // Pictures that came of calls.
                None => {}
            },
            KeptMessage::System { .. } | KeptMessage::Tool { .. } => {}
        }
    }
}
