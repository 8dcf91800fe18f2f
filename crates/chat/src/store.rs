//! Sessions, turns and events in SQLite.
//!
//! An event is put into the store in one transaction with what it changes, and gets its number there; only then is anybody
//! told. What was said is not in here: a session is a run of the agent, and its journal has the transcript. So nothing is
//! rewritten as a conversation grows, and a piece of an answer costs one row.
//!
//! # How much lasts
//!
//! Every commit is in the hands of the kernel when [`Store::commit`] returns: a process that is killed, at any instant, loses
//! nothing that it told. A loss of power may cost the last moments, never the database: the log is written through to the
//! disk when it is folded into the file, not with every event.
//!
//! # Several processes
//!
//! They may use one database at once. Numbers are given under SQLite's lock, so they have no gap and no double, whoever
//! writes. A turn names its owner; one whose owner is dead is [interrupted](Store::interrupted).

mod change;
mod error;
mod event;
mod open;
mod owner;
mod prune;
mod rows;
mod schema;
mod time;
mod transaction;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fullsend_guard::Clock;
use rusqlite::Connection;

pub use self::change::{Change, Expect, Stored, TurnChange};
pub use self::error::StoreError;
pub use self::event::{EventPage, MOST_BYTES, MOST_EVENTS};
pub use self::prune::{Pruned, Retention};

use self::change::Writer;
use self::error::Fault;
use self::owner::Owner;
use self::prune::Limits;
use self::transaction::Transaction;
use crate::protocol::{ListEvents, SessionStatus, TurnRecord, TurnState};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file, which is made if it is not there. Its directory is not.
    File(PathBuf),
    /// In a file that must be there.
    Existing(PathBuf),
    /// Nowhere that outlives the process.
    Temporary {
        /// How many events can be listed: the newest. All if none.
        keep: Option<u64>,
    },
}

/// Sessions, turns and events.
#[derive(Debug)]
pub struct Store {
    /// In the words of messages.
    place: String,
    clock: Arc<dyn Clock>,
    writer: Mutex<Writer>,
    /// A connection of its own, so that those who replay hold up nobody who writes. A private database can have no second one.
    reader: Option<Mutex<Connection>>,
    /// How many events can be listed.
    listed: Option<u64>,
    /// After the connections: as long as one is open, this process is shown as alive.
    owner: Owner,
}

impl Store {
    /// Opens a store, and makes it if need be.
    pub fn open(place: &Place, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let opened = match place {
            Place::File(path) => open::file(path, open::Absent::Make)?,
            Place::Existing(path) => open::file(path, open::Absent::Refuse)?,
            Place::Temporary { keep } => {
                let place = "the temporary chat database".to_owned();
                let writer = Mutex::new(Writer::new(open::temporary(&place)?));
                return Ok(Self { place, clock, writer, reader: None, listed: *keep, owner: Owner::alone() });
            }
        };
        Ok(Self {
            owner: Owner::beside(&opened.path)?,
            place: opened.place,
            clock,
            writer: Mutex::new(Writer::new(opened.writer)),
            reader: Some(Mutex::new(opened.reader)),
            listed: None,
        })
    }

    /// Puts an event into the store, with what it changes: all of it or nothing. What is returned is in the store.
    pub fn commit(&self, change: Change<'_>) -> Result<Stored, StoreError> {
        self.writer().commit(&change, &*self.clock, &self.owner).map_err(|fault| fault.at(&self.place))
    }

    /// Writes down what has become of a session, where nothing has happened that anybody is told.
    pub fn keep(&self, session: &SessionStatus) -> Result<(), StoreError> {
        self.writer().keep(session).map_err(|fault| fault.at(&self.place))
    }

    /// All sessions, or one, by the time of their beginning. An unknown id gives none.
    pub fn sessions(&self, only: Option<&str>) -> Result<Vec<SessionStatus>, StoreError> {
        self.read(|connection| rows::sessions(connection, only))
    }

    /// Turns by the time of their beginning: of all sessions or of one, in any state or in one.
    pub fn turns(
        &self,
        session: Option<&str>,
        status: Option<TurnState>,
    ) -> Result<Vec<TurnRecord>, StoreError> {
        self.read(|connection| rows::turns(connection, session, status))
    }

    /// What happened, in order. A page has at most [`MOST_EVENTS`] events and not much more than [`MOST_BYTES`].
    pub fn events(&self, query: &ListEvents) -> Result<EventPage, StoreError> {
        self.read(|connection| event::page(connection, query, self.listed))
    }

    /// The line of one event, also of one that is not listed any more.
    pub fn line(&self, sequence: u64) -> Result<String, StoreError> {
        self.read(|connection| event::line(connection, sequence))
    }

    /// Turns that nobody makes any more, though they are not over, with their sessions: of all or of one.
    pub fn interrupted(&self, session: Option<&str>) -> Result<Vec<(SessionStatus, TurnRecord)>, StoreError> {
        self.read(|connection| {
            let mut found = Vec::new();
            for (session_id, turn_id, owner) in rows::under_way(connection, session)? {
                if self.owner.is_alive(&owner) {
                    continue;
                }
                let session = rows::sessions(connection, Some(&session_id))?.pop();
                let turn = rows::turn(connection, &session_id, &turn_id)?;
                found.extend(session.zip(turn));
            }
            Ok(found)
        })
    }

    /// Removes what is over and not wanted any more, and gives its space back. Never the newest event: numbers go on from it.
    pub fn prune(&self, what: &Retention) -> Result<Pruned, StoreError> {
        self.prune_in_steps(what).map_err(|fault| fault.at(&self.place))
    }

    /// Between two steps the lock is free for those who write.
    fn prune_in_steps(&self, what: &Retention) -> Result<Pruned, Fault> {
        let limits = &Limits::new(&self.writer().connection, what, self.clock.now())?;
        let before = prune::size(&self.writer().connection)?;
        let mut pruned = Pruned::default();
        let mut from = 0;
        loop {
            let Some((to, removed)) = prune::events(&self.writer().connection, limits, from)? else { break };
            from = to;
            pruned.events += removed;
        }
        (pruned.turns, pruned.sessions) = prune::turns_and_sessions(&self.writer().connection, limits)?;
        while prune::give_back(&self.writer().connection)? {}
        prune::fold(&self.writer().connection)?;
        pruned.freed_bytes = before.saturating_sub(prune::size(&self.writer().connection)?);
        Ok(pruned)
    }

    /// Reads one state of the store, whatever is written meanwhile.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        let snapshot = |connection: &Connection| {
            let transaction = Transaction::read(connection)?;
            let found = work(connection)?;
            transaction.commit()?;
            Ok(found)
        };
        let found = match &self.reader {
            Some(reader) => snapshot(&reader.lock().unwrap_or_else(PoisonError::into_inner)),
            None => snapshot(&self.writer().connection),
        };
        found.map_err(|fault: Fault| fault.at(&self.place))
    }

    /// A transaction is undone when a thread panics in it, so what is behind the lock is whole.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
