//! Questions to persons, for which a turn waits.

use tokio::sync::oneshot;

use super::super::books::Books;
use super::{Live, Phase, State};
use crate::protocol::{ApprovalRequest, ChatEvent, Decision};
use crate::store::StoreError;

impl Live {
    /// Asks a person. Nobody to ask is a no.
    pub(crate) async fn ask(&self, books: &Books, approval: ApprovalRequest) -> Decision {
        let (sender, receiver) = oneshot::channel();
        let approval_id = approval.approval_id.clone();
        {
            let mut state = self.lock();
            let event = ChatEvent::ApprovalRequested { approval };
            if self.tell_locked(&mut state, books, &event).is_err() {
                return Decision::Deny;
            }
            state.questions.insert(approval_id.clone(), sender);
            if state.alone {
                self.resolve_locked(&mut state, books, &approval_id, Decision::Deny, "expired");
            }
        }
        receiver.await.unwrap_or(Decision::Deny)
    }

    /// Answers a question; false where there is none of this name.
    pub(crate) fn resolve(
        &self,
        books: &Books,
        approval_id: &str,
        decision: Decision,
    ) -> Result<bool, StoreError> {
        let mut state = self.lock();
        if state.phase != Phase::Running || !state.questions.contains_key(approval_id) {
            return Ok(false);
        }
        let event = resolved(approval_id, decision, "client");
        books.commit(self.change(&event))?;
        if let Some(sender) = state.questions.remove(approval_id) {
            let _nobody_waits = sender.send(decision);
        }
        Ok(true)
    }

    fn resolve_locked(&self, state: &mut State, books: &Books, id: &str, decision: Decision, by: &str) {
        let told = self.tell_locked(state, books, &resolved(id, decision, by));
        if let (Some(sender), Ok(())) = (state.questions.remove(id), told) {
            let _nobody_waits = sender.send(decision);
        }
    }

    /// Nobody answers questions any more: those that wait are answered with no, and so are those to come.
    pub(crate) fn leave_alone(&self, books: &Books) {
        let mut state = self.lock();
        state.alone = true;
        self.refuse_all(&mut state, books, "expired");
    }

    /// Answers all questions with no.
    pub(super) fn refuse_all(&self, state: &mut State, books: &Books, by: &str) {
        let waiting: Vec<String> = state.questions.keys().cloned().collect();
        for id in waiting {
            self.resolve_locked(state, books, &id, Decision::Deny, by);
        }
    }
}

fn resolved(approval_id: &str, decision: Decision, by: &str) -> ChatEvent {
    ChatEvent::ApprovalResolved { approval_id: approval_id.to_owned(), decision, by: by.to_owned() }
}
