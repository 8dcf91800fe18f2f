//! Where a turn tells what happens in it, asks persons, and hears that it is to end.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::protocol::{ApprovalRequest, ChatEvent, Decision, ToolRef};
use crate::service::{Books, Live};

/// Where a turn tells what happens in it, asks persons, and hears that it is to end.
#[derive(Clone, Debug)]
pub struct TurnDesk {
    books: Arc<Books>,
    live: Arc<Live>,
}

/// Something that a person is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The call.
    pub tool: ToolRef,
    /// What it would be called with.
    pub input: Map<String, Value>,
    /// Why a person is asked.
    pub reason: String,
}

impl TurnDesk {
    pub(crate) fn new(books: Arc<Books>, live: Arc<Live>) -> Self {
        Self { books, live }
    }

    /// Tells what happened: on record first. False when that cannot be, or nobody wants it any more: the turn is to end.
    pub fn tell(&self, event: &ChatEvent) -> bool {
        self.live.tell(&self.books, event).is_ok()
    }

    /// Asks a person, and waits for the answer.
    pub async fn ask(&self, question: Question) -> Decision {
        let Question { tool, input, reason } = question;
        let approval_id = uuid::Uuid::new_v4().to_string();
        self.live.ask(&self.books, ApprovalRequest { approval_id, tool, input, reason }).await
    }

    /// Ready when the turn is to end.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.live.cancelled()
    }

    /// The run of the agent that has the conversation of the session from now on.
    pub fn run_began(&self, run_id: &str) {
        self.live.run_began(&self.books, run_id);
    }
}
