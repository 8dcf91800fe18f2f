//! Who waits for what: requests for their answers, events for somebody to take them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};

use super::{ClientError, ConnectionError, UNREAD_EVENTS};
use crate::protocol::EventEnvelope;

/// What came of a request: its result as it was written, or why there is none.
pub(super) type Answer = Result<Box<RawValue>, ClientError>;

/// The two queues of a connection, and how it ended.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    state: Mutex<State>,
    /// An event came, or the last line was read.
    told: Notify,
    /// There is room for events, or a request waits for an answer that may stand behind some.
    wanted: Notify,
}

#[derive(Debug, Default)]
struct State {
    requests: HashMap<String, oneshot::Sender<Answer>>,
    events: VecDeque<EventEnvelope>,
    nobody_listens: bool,
    /// Why no request is answered any more.
    refused: Option<ConnectionError>,
    /// Why no line is read any more.
    over: Option<ConnectionError>,
}

impl Waiting {
    /// Waits for the answer to `id`, unless none will come.
    pub(super) fn expect(&self, id: String, reply: oneshot::Sender<Answer>) -> Result<(), ConnectionError> {
        let mut state = self.state();
        if let Some(why) = &state.refused {
            return Err(why.clone());
        }
        state.requests.insert(id, reply);
        drop(state);
        self.wanted.notify_one();
        Ok(())
    }

    /// Gives an answer to whom it belongs, or back where nobody asked. Who asked may have gone since.
    pub(super) fn answer(&self, id: &str, answer: Answer) -> Result<(), Answer> {
        let asked = self.state().requests.remove(id);
        match asked {
            Some(reply) => {
                let _ = reply.send(answer);
                Ok(())
            }
            None => Err(answer),
        }
    }

    pub(super) fn tell(&self, event: EventEnvelope) {
        let mut state = self.state();
        if !state.nobody_listens {
            state.events.push_back(event);
            drop(state);
            self.told.notify_one();
        }
    }

    /// Returns when another line should be read.
    pub(super) async fn room(&self) {
        loop {
            {
                let state = self.state();
                if state.events.len() < UNREAD_EVENTS || !state.requests.is_empty() {
                    return;
                }
            }
            self.wanted.notified().await;
        }
    }

    pub(super) async fn next_event(&self) -> Result<Option<EventEnvelope>, ConnectionError> {
        loop {
            {
                let mut state = self.state();
                if let Some(event) = state.events.pop_front() {
                    drop(state);
                    self.wanted.notify_one();
                    return Ok(Some(event));
                }
                match &state.over {
                    Some(ConnectionError::Ended) => return Ok(None),
                    Some(why) => return Err(why.clone()),
                    None => {}
                }
            }
            self.told.notified().await;
        }
    }

    pub(super) fn forget_events(&self) {
        let mut state = self.state();
        state.nobody_listens = true;
        state.events = VecDeque::new();
        drop(state);
        self.wanted.notify_one();
    }

    /// Nothing can be asked any more: all who wait are told why.
    pub(super) fn refuse_requests(&self, why: ConnectionError) {
        let mut state = self.state();
        let requests = std::mem::take(&mut state.requests);
        let why = state.refused.get_or_insert(why).clone();
        drop(state);
        for reply in requests.into_values() {
            let _ = reply.send(Err(why.clone().into()));
        }
    }

    /// Nothing will be read any more.
    pub(super) fn end(&self, why: ConnectionError) {
        self.state().over.get_or_insert_with(|| why.clone());
        self.refuse_requests(why);
        self.told.notify_one();
    }

    pub(super) fn why_ended(&self) -> ConnectionError {
        self.state().refused.clone().unwrap_or(ConnectionError::Ended)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
