//! How turns begin, are asked about, and are ended.

use std::sync::Arc;

use super::live::Live;
use super::sessions::elsewhere;
use super::{Service, policy, told};
use crate::protocol::{
    CancelTurn, ChatError, ChatEvent, ErrorCode, ResolveApproval, SessionState, SessionStatus, StartTurn,
    TurnRecord, TurnState, TurnStatus,
};
use crate::store::{Change, Expect, StoreError, TurnChange};
use crate::turn::{TurnDesk, TurnEnd, TurnOrder};

impl Service {
    pub(super) fn start_turn(&self, ask: StartTurn) -> Result<TurnStatus, ChatError> {
        let id = ask.session_id.clone();
        self.settle(&id)?;
        let session = self.session(&id)?;
        match session.status {
            SessionState::Closed => return Err(told(StoreError::SessionClosed { session_id: id })),
            SessionState::Failed => return Err(unusable(&id)),
            SessionState::Idle | SessionState::TurnRunning | SessionState::Canceling => {}
        }
        if let Some(turn_id) = session.active_turn_id {
            return Err(told(StoreError::TurnRunning { session_id: id, turn_id, elsewhere: false }));
        }
        let context = ask.context.clone().or_else(|| session.context.clone());
        let policy = policy::of_turn(&session.policy, context.as_ref(), ask.policy.as_ref())?;
        let browser = ask.browser_access.clone().or_else(|| self.lent_to(&id));
        if let Some(error) = self.lacks_browser(&policy, browser.is_some()) {
            return Err(error);
        }
        let now = self.books.now();
        let turn_id = ask.turn_id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let turn = TurnStatus {
            turn_id: turn_id.clone(),
            status: TurnState::Running,
            started_at: now.clone(),
            updated_at: now.clone(),
            ended_at: None,
            cancel_reason: None,
            error: None,
        };
        let record = TurnRecord {
            session_id: id,
            turn: turn.clone(),
            input: ask.input,
            context,
            policy,
            browser_lease_id: browser.as_ref().map(|lease| lease.lease_id.clone()),
            metadata: ask.metadata,
        };
        let session = SessionStatus {
            status: SessionState::TurnRunning,
            reusable: true,
            turn_count: session.turn_count + 1,
            active_turn_id: Some(turn_id),
            active_turn: Some(turn.clone()),
            updated_at: now,
            ..session
        };
        self.begin_turn(TurnOrder { session, turn: record, browser })?;
        Ok(turn)
    }

    fn begin_turn(&self, order: TurnOrder) -> Result<(), ChatError> {
        let (session, record) = (&order.session, &order.turn);
        let event = ChatEvent::TurnStarted { turn: record.turn.clone() };
        let change = Change {
            session_id: &record.session_id,
            turn_id: Some(&record.turn.turn_id),
            event: &event,
            session: Some(session),
            turn: Some(TurnChange::Create(record)),
            expect: Expect::NewTurn,
        };
        self.books.commit(change).map_err(told)?;
        let live = Arc::new(Live::new(session.clone(), &record.turn.turn_id));
        self.books.add(live.clone());
        let (books, runner) = (self.books.clone(), self.runner.clone());
        tokio::spawn(async move {
            let desk = TurnDesk::new(books.clone(), live.clone());
            // On a task of its own, so that what panics there ends a turn and not the service.
            let made = tokio::spawn(async move { runner.run(order, desk).await }).await;
            let end = made.unwrap_or_else(|error| {
                let message = format!("the turn ended unexpectedly: {error}");
                TurnEnd::Failed(ChatError::new(ErrorCode::InternalError, message))
            });
            live.finish(&books, end);
        });
        Ok(())
    }

    pub(super) fn cancel_turn(&self, ask: &CancelTurn) -> Result<SessionStatus, ChatError> {
        let id = ask.session_id.as_str();
        self.settle(id)?;
        let session = self.session(id)?;
        let active = session.active_turn_id.as_deref();
        let active = active.filter(|active| ask.turn_id.as_deref().is_none_or(|asked| asked == *active));
        let Some(active) = active else { return Err(no_turn(id)) };
        let Some(live) = self.books.live(id) else { return Err(elsewhere(id, active)) };
        let reason = ask.reason.as_deref().unwrap_or("canceled");
        let canceled = live.cancel(&self.books, reason).map_err(told)?;
        canceled.ok_or_else(|| no_turn(id))
    }

    pub(super) fn resolve_approval(&self, ask: &ResolveApproval) -> Result<SessionStatus, ChatError> {
        let id = ask.session_id.as_str();
        let session = self.session(id)?;
        let resolved = match self.books.live(id) {
            Some(live) => live.resolve(&self.books, &ask.approval_id, ask.decision).map_err(told)?,
            None => false,
        };
        if resolved {
            return Ok(session);
        }
        let message = format!("nobody in session {id} waits for an answer to {}", ask.approval_id);
        Err(ChatError::new(ErrorCode::ApprovalNotFound, message))
    }
}

fn unusable(id: &str) -> ChatError {
    let message = format!("chat session cannot go on: {id}; its last error says why; start another");
    ChatError::new(ErrorCode::SessionUnusable, message)
}

fn no_turn(id: &str) -> ChatError {
    ChatError::new(ErrorCode::TurnNotFound, format!("active turn not found for session {id}"))
}
