//! What happened when, in the order of the journal.

use serde::{Serialize, Serializer};

use crate::store::{EndStatus, Ending, FailureKind, KeptMessage, TerminalReason};

/// What happened, in order.
#[derive(Debug, Default)]
pub(super) struct Timeline<'a>(Vec<(&'a str, Happening<'a>)>);

/// One thing that happened.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Happening<'a> {
    RunStarted,
    RunResumed,
    TranscriptMessage {
        message_index: usize,
        model_turn: u64,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<&'a str>,
    },
    ToolActivity {
        activity_sequence: u64,
    },
    PolicyEvent {
        event_index: usize,
    },
    FailureRecord {
        failure_index: usize,
        failure_kind: FailureKind,
    },
    RunFinished {
        status: EndStatus,
        terminal_reason: TerminalReason,
    },
}

impl<'a> Happening<'a> {
    pub(super) fn message(message_index: usize, model_turn: u64, message: &'a KeptMessage) -> Self {
        let (role, tool_call_id) = match message {
            KeptMessage::System { .. } => ("system", None),
            KeptMessage::User { .. } => ("user", None),
            KeptMessage::Assistant { .. } => ("assistant", None),
            KeptMessage::Tool { tool_call_id, .. } => ("tool", Some(tool_call_id.as_str())),
        };
        Self::TranscriptMessage { message_index, model_turn, role, tool_call_id }
    }

    pub(super) fn finished(ending: &Ending) -> Self {
        Self::RunFinished { status: ending.status, terminal_reason: ending.terminal_reason }
    }
}

impl<'a> Timeline<'a> {
    pub(super) fn push(&mut self, at: &'a str, happening: Happening<'a>) {
        self.0.push((at, happening));
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "fullsend.timeline-entry")]
struct Entry<'a> {
    sequence: u64,
    at: &'a str,
    #[serde(flatten)]
    happening: &'a Happening<'a>,
}

impl Serialize for Timeline<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbered = (1..).zip(&self.0);
        serializer.collect_seq(numbered.map(|(sequence, (at, happening))| Entry { sequence, at, happening }))
    }
}
