//! What is left of turns whose process has ended is put in order.

use std::time::Duration;

use super::live::idle;
use super::{Service, told};
use crate::protocol::{ChatError, ChatEvent, ErrorCode, SessionStatus, TurnRecord, TurnState, TurnStatus};
use crate::store::{Change, Expect, StoreError, TurnChange};

/// How long a process that was killed may still seem to live.
const LAST_BREATH: Duration = Duration::from_millis(100);

impl Service {
    /// Puts on record that turns are over whose process has ended. Called once, before requests are answered.
    pub fn recover(&self) -> Result<(), StoreError> {
        self.end_interrupted(None)?;
        if self.any_under_way()? {
            // A process that was killed while it started another is shown as alive until that one has begun.
            std::thread::sleep(LAST_BREATH);
            self.end_interrupted(None)?;
        }
        Ok(())
    }

    fn any_under_way(&self) -> Result<bool, StoreError> {
        for state in [TurnState::Running, TurnState::Canceling] {
            if !self.books.store.turns(None, Some(state))?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same for one session, and for a turn of this process whose end could not be written down.
    pub(super) fn settle(&self, session_id: &str) -> Result<(), ChatError> {
        match self.books.live(session_id) {
            Some(live) => live.finish_late(&self.books).map_err(told),
            None => self.end_interrupted(Some(session_id)).map_err(told),
        }
    }

    fn end_interrupted(&self, session_id: Option<&str>) -> Result<(), StoreError> {
        for (session, turn) in self.books.store.interrupted(session_id)? {
            self.end(&session, &turn)?;
        }
        Ok(())
    }

    fn end(&self, session: &SessionStatus, record: &TurnRecord) -> Result<(), StoreError> {
        let now = self.books.now();
        let mut turn: TurnStatus = record.turn.clone();
        turn.updated_at.clone_from(&now);
        turn.ended_at = Some(now.clone());
        // Another turn may be the one that the session has now.
        let own = session.active_turn_id.as_ref().is_none_or(|active| *active == turn.turn_id);
        let session = if own { idle(session, &now) } else { session.clone() };
        let event = if turn.status == TurnState::Canceling {
            turn.status = TurnState::Canceled;
            turn.cancel_reason.get_or_insert_with(|| INTERRUPTED.to_owned());
            ChatEvent::StatusChanged { session: Box::new(session.clone()) }
        } else {
            let error = interrupted(&turn);
            turn.status = TurnState::Failed;
            turn.error = Some(error.clone());
            ChatEvent::TurnFailed { turn_id: turn.turn_id.clone(), error }
        };
        let ended = self.books.commit(Change {
            session_id: &record.session_id,
            turn_id: Some(&turn.turn_id),
            event: &event,
            session: Some(&session),
            turn: Some(TurnChange::Update(&turn)),
            expect: Expect::TurnUnderWay,
        });
        match ended {
            // Another process was here first.
            Err(StoreError::TurnOver { .. }) => Ok(()),
            ended => ended,
        }
    }
}

const INTERRUPTED: &str = "process_interrupted";

fn interrupted(turn: &TurnStatus) -> ChatError {
    let prior = serde_json::to_value(turn.status).unwrap_or_default();
    let message = format!("turn {} was interrupted before it reached its end", turn.turn_id);
    ChatError::new(ErrorCode::InternalError, message)
        .with("terminalReason", INTERRUPTED)
        .with("priorStatus", prior)
}
