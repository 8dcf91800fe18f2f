//! A turn that is under way in this process: what it says, how it is ended, and what is left behind.

mod questions;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::books::Books;
use crate::protocol::{
    ChatError, ChatEvent, Decision, ErrorCode, SessionState, SessionStatus, TurnState, TurnStatus,
};
use crate::store::{Change, Expect, StoreError, TurnChange};
use crate::turn::TurnEnd;

/// A turn that is under way.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) session_id: String,
    pub(crate) turn_id: String,
    state: Mutex<State>,
    cancelled: watch::Sender<bool>,
    over: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    session: SessionStatus,
    /// Whether the session is other than it is on record.
    changed: bool,
    /// Why nothing could be written down.
    fault: Option<String>,
    /// Questions that nobody has answered yet.
    questions: BTreeMap<String, oneshot::Sender<Decision>>,
    /// Whether there is nobody any more who could answer.
    alone: bool,
    /// How the turn ended, where that is not on record yet.
    unwritten: Option<TurnEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Canceling,
    /// Nothing more is told of it.
    Over,
}

/// Why an event was not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untold {
    /// The turn is being ended.
    Ending,
    /// It could not be written down.
    Fault,
}

impl Live {
    pub(crate) fn new(session: SessionStatus, turn_id: &str) -> Self {
        Self {
            session_id: session.session_id.clone(),
            turn_id: turn_id.to_owned(),
            state: Mutex::new(State {
                phase: Phase::Running,
                session,
                changed: false,
                fault: None,
                questions: BTreeMap::new(),
                alone: false,
                unwritten: None,
            }),
            cancelled: watch::Sender::new(false),
            over: watch::Sender::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<'a>(&'a self, event: &'a ChatEvent) -> Change<'a> {
        Change {
            session_id: &self.session_id,
            turn_id: Some(&self.turn_id),
            event,
            session: None,
            turn: None,
            expect: Expect::Anything,
        }
    }

    /// The run that has the conversation. It is on record before anything happens in it: the model may think for minutes
    /// before it says something, and a process that dies meanwhile must not leave a session without its conversation.
    pub(crate) fn run_began(&self, books: &Books, run_id: &str) {
        let mut state = self.lock();
        if state.session.harness_run_id.as_deref() == Some(run_id) {
            return;
        }
        state.session.harness_run_id = Some(run_id.to_owned());
        // Where this fails, it is on record with the next thing that happens. A turn that is over has no say any more.
        state.changed = state.phase == Phase::Over || books.store.keep(&state.session).is_err();
    }

    /// Tells what happens in the turn. Nothing is told of a turn that is being ended. When something cannot be written down,
    /// the turn ends.
    pub(crate) fn tell(&self, books: &Books, event: &ChatEvent) -> Result<(), Untold> {
        let mut state = self.lock();
        self.tell_locked(&mut state, books, event)
    }

    fn tell_locked(&self, state: &mut State, books: &Books, event: &ChatEvent) -> Result<(), Untold> {
        if state.phase != Phase::Running {
            return Err(Untold::Ending);
        }
        if state.fault.is_some() {
            return Err(Untold::Fault);
        }
        let session = state.changed.then_some(&state.session);
        match books.commit(Change { session, ..self.change(event) }) {
            Ok(()) => {
                state.changed = false;
                Ok(())
            }
            Err(error) => {
                state.fault = Some(error.to_string());
                self.cancelled.send_replace(true);
                Err(Untold::Fault)
            }
        }
    }

    /// Ends the turn: whoever makes it is told to stop, and nothing more is told of it but that it has ended.
    pub(crate) fn cancel(&self, books: &Books, reason: &str) -> Result<Option<SessionStatus>, StoreError> {
        let mut state = self.lock();
        if state.phase == Phase::Over {
            return Ok(None);
        }
        if state.phase == Phase::Running {
            self.refuse_all(&mut state, books, "canceled");
        }
        let mut session = state.session.clone();
        let now = books.now();
        session.status = SessionState::Canceling;
        session.reusable = false;
        session.updated_at.clone_from(&now);
        let mut turn = self.turn(&session, &now);
        turn.status = TurnState::Canceling;
        turn.cancel_reason = Some(reason.to_owned());
        session.active_turn = Some(turn.clone());
        let event = ChatEvent::TurnCanceled { turn_id: self.turn_id.clone(), reason: reason.to_owned() };
        let (session, turn) = (&session, Some(TurnChange::Update(&turn)));
        let written = books.commit(Change { session: Some(session), turn, ..self.change(&event) });
        if written.is_ok() {
            state.phase = Phase::Canceling;
            state.session.clone_from(session);
            state.changed = false;
        }
        // Whoever wants an end gets one, on record or not.
        self.cancelled.send_replace(true);
        written.map(|()| Some(session.clone()))
    }

    fn turn(&self, session: &SessionStatus, now: &str) -> TurnStatus {
        let known = session.active_turn.clone().map(|turn| TurnStatus { updated_at: now.to_owned(), ..turn });
        known.unwrap_or_else(|| TurnStatus {
            turn_id: self.turn_id.clone(),
            status: TurnState::Running,
            started_at: now.to_owned(),
            updated_at: now.to_owned(),
            ended_at: None,
            cancel_reason: None,
            error: None,
        })
    }

    /// Puts on record how the turn has ended, if it can be written.
    pub(crate) fn finish(&self, books: &Books, end: TurnEnd) {
        let mut state = self.lock();
        state.questions.clear();
        if state.phase != Phase::Over {
            state.unwritten = Some(end);
            if let Err(error) = self.write_end(&mut state, books) {
                let (turn, session) = (&self.turn_id, &self.session_id);
                books.complain(&format!(
                    "the end of turn {turn} of session {session} could not be written down: {error}"
                ));
            }
        }
        if state.phase == Phase::Over {
            books.remove(self);
        }
        drop(state);
        self.over.send_replace(true);
    }

    /// Tries once more to put on record how the turn has ended, where that failed.
    pub(crate) fn finish_late(&self, books: &Books) -> Result<(), StoreError> {
        let mut state = self.lock();
        if state.unwritten.is_some() {
            self.write_end(&mut state, books)?;
            books.remove(self);
        }
        Ok(())
    }

    fn write_end(&self, state: &mut State, books: &Books) -> Result<(), StoreError> {
        let Some(end) = &state.unwritten else { return Ok(()) };
        let now = books.now();
        let session = idle(&state.session, &now);
        let mut turn = self.turn(&state.session, &now);
        turn.ended_at = Some(now);
        let turn_id = self.turn_id.clone();
        let event = if state.phase == Phase::Canceling {
            turn.status = TurnState::Canceled;
            ChatEvent::StatusChanged { session: Box::new(session.clone()) }
        } else {
            match (&state.fault, end) {
                (None, TurnEnd::Completed { final_text, usage }) => {
                    turn.status = TurnState::Completed;
                    ChatEvent::TurnCompleted { turn_id, final_text: final_text.clone(), usage: *usage }
                }
                (fault, end) => {
                    let error = why(fault.as_deref(), end);
                    turn.status = TurnState::Failed;
                    turn.error = Some(error.clone());
                    ChatEvent::TurnFailed { turn_id, error }
                }
            }
        };
        let turn = Some(TurnChange::Update(&turn));
        books.commit(Change { session: Some(&session), turn, ..self.change(&event) })?;
        let broken = match (state.phase, end) {
            (Phase::Running, TurnEnd::Broken(error)) => Some(error.clone()),
            _ => None,
        };
        state.session = session;
        state.phase = Phase::Over;
        state.unwritten = None;
        broken.map_or(Ok(()), |error| self.give_up(state, books, error))
    }

    /// Puts on record that the session cannot go on.
    fn give_up(&self, state: &mut State, books: &Books, error: ChatError) -> Result<(), StoreError> {
        state.session.status = SessionState::Failed;
        state.session.reusable = false;
        state.session.updated_at = books.now();
        let event = ChatEvent::Error { error, fatal: true };
        let session = Some(&state.session);
        books.commit(Change { session, turn_id: None, ..self.change(&event) })
    }

    /// Closes the session although the turn has not ended: nothing more is told of the turn.
    pub(crate) fn close_over(
        &self,
        books: &Books,
        reason: &str,
    ) -> Result<Option<SessionStatus>, StoreError> {
        let mut state = self.lock();
        if state.phase == Phase::Over {
            return Ok(None);
        }
        let now = books.now();
        let mut turn = self.turn(&state.session, &now);
        (turn.status, turn.ended_at) = (TurnState::Canceled, Some(now.clone()));
        let session = closed(&idle(&state.session, &now), &now);
        let event = ChatEvent::SessionClosed { reason: reason.to_owned() };
        let turn = Some(TurnChange::Update(&turn));
        books.commit(Change { session: Some(&session), turn, turn_id: None, ..self.change(&event) })?;
        state.phase = Phase::Over;
        state.session.clone_from(&session);
        Ok(Some(session))
    }

    /// Waits until the turn has ended, or so long; whether it has.
    pub(crate) async fn ended_within(&self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.ended()).await.is_ok()
    }

    /// Waits until the turn has ended.
    pub(crate) async fn ended(&self) {
        let mut over = self.over.subscribe();
        // The sender is ours, and outlives this.
        let _there = over.wait_for(|over| *over).await;
    }

    /// Ready when the turn is to end.
    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut cancelled = self.cancelled.subscribe();
        async move {
            // Without a sender nobody makes the turn any more.
            let _gone = cancelled.wait_for(|cancelled| *cancelled).await;
        }
    }
}

/// Why a turn could not go on.
fn why(fault: Option<&str>, end: &TurnEnd) -> ChatError {
    match (fault, end) {
        (Some(fault), _) => {
            let message = format!("what happened in the turn could not be written down: {fault}");
            ChatError::new(ErrorCode::InternalError, message)
        }
        (None, TurnEnd::Failed(error) | TurnEnd::Broken(error)) => error.clone(),
        (None, TurnEnd::Completed { .. } | TurnEnd::Canceled) => {
            ChatError::new(ErrorCode::InternalError, "the turn ended by itself")
        }
    }
}

/// A session without a turn.
pub(super) fn idle(session: &SessionStatus, now: &str) -> SessionStatus {
    let (status, reusable) = match session.status {
        SessionState::Idle | SessionState::TurnRunning | SessionState::Canceling => {
            (SessionState::Idle, true)
        }
        over @ (SessionState::Closed | SessionState::Failed) => (over, false),
    };
    SessionStatus {
        status,
        reusable,
        active_turn: None,
        active_turn_id: None,
        updated_at: now.to_owned(),
        ..session.clone()
    }
}

/// A session that was closed.
pub(super) fn closed(session: &SessionStatus, now: &str) -> SessionStatus {
    SessionStatus {
        status: SessionState::Closed,
        reusable: false,
        closed_at: session.closed_at.clone().or_else(|| Some(now.to_owned())),
        updated_at: now.to_owned(),
        active_turn: None,
        active_turn_id: None,
        ..session.clone()
    }
}
