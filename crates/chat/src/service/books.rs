//! Where everything that happens is written down, and then told: in this order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fullsend_guard::Clock;

use super::live::Live;
use crate::outbox::Outbox;
use crate::store::{Change, Store, StoreError};

/// Who is told what nobody else can be told of.
pub type Complaints = Arc<dyn Fn(&str) + Send + Sync>;

/// The store, what is on its way to the client, and the turns that are under way here.
pub(crate) struct Books {
    pub(crate) store: Store,
    pub(crate) outbox: Outbox,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) complaints: Complaints,
    /// Held from the moment that an event gets its number until it is in the outbox.
    order: Mutex<()>,
    /// By session.
    live: Mutex<BTreeMap<String, Arc<Live>>>,
}

impl std::fmt::Debug for Books {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Books").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Books {
    pub(crate) fn new(store: Store, room: usize, clock: Arc<dyn Clock>, complaints: Complaints) -> Self {
        Self {
            store,
            outbox: Outbox::new(room),
            clock,
            complaints,
            order: Mutex::new(()),
            live: Mutex::default(),
        }
    }

    /// Writes down what happened, and tells of it.
    pub(crate) fn commit(&self, change: Change<'_>) -> Result<(), StoreError> {
        let order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = self.store.commit(change)?;
        self.outbox.event(stored.sequence, &stored.line);
        drop(order);
        Ok(())
    }

    /// The moment, as it is written: UTC with milliseconds.
    pub(crate) fn now(&self) -> String {
        self.clock.now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }

    fn turns(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn that is under way in a session, if it is here.
    pub(crate) fn live(&self, session_id: &str) -> Option<Arc<Live>> {
        self.turns().get(session_id).cloned()
    }

    /// All turns that are under way here.
    pub(crate) fn all_live(&self) -> Vec<Arc<Live>> {
        self.turns().values().cloned().collect()
    }

    pub(crate) fn add(&self, live: Arc<Live>) {
        self.turns().insert(live.session_id.clone(), live);
    }

    pub(crate) fn remove(&self, live: &Live) {
        let mut turns = self.turns();
        if turns.get(&live.session_id).is_some_and(|other| other.turn_id == live.turn_id) {
            turns.remove(&live.session_id);
        }
    }

    /// Says something that cannot be told in any other way.
    pub(crate) fn complain(&self, text: &str) {
        (self.complaints)(text);
    }
}
