//! What is put into the store at once: an event with what it changes.

use std::sync::Arc;

use fullsend_guard::Clock;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use serde::Serialize;

use super::error::{Fault, StoreError};
use super::event::Envelope;
use super::owner::Owner;
use super::transaction::Transaction;
use super::{rows, time};
use crate::protocol::{ChatEvent, SessionState, SessionStatus, TurnRecord, TurnStatus};

/// An event, with the session and the turn as they stand after it.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// In which session.
    pub session_id: &'a str,
    /// In which turn, if in one.
    pub turn_id: Option<&'a str>,
    /// What happened.
    pub event: &'a ChatEvent,
    /// The session, if more of it has changed than the time of its last event.
    pub session: Option<&'a SessionStatus>,
    /// The turn, if it has changed.
    pub turn: Option<TurnChange<'a>>,
    /// What must be so.
    pub expect: Expect,
}

/// What becomes of a turn.
#[derive(Clone, Copy, Debug)]
pub enum TurnChange<'a> {
    /// It begins, in this process.
    Create(&'a TurnRecord),
    /// It stands otherwise. When it began does not change.
    Update(&'a TurnStatus),
}

/// What must be so when the change is made. It is looked at in the same transaction, whatever other processes do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// The session and the turn are there, if they are to be changed.
    #[default]
    Anything,
    /// There is no such session yet.
    NewSession,
    /// The session is there and not closed, none of its turns is under way, and it has had none of that id.
    NewTurn,
    /// The turn that is to be changed is under way. Of two processes that find a dead one's turn, one gives it its end.
    TurnUnderWay,
    /// No turn of the session is under way in another process.
    NotElsewhere,
}

/// An event that is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its number.
    pub sequence: u64,
    /// Its whole envelope, as it goes out; without the end of the line.
    pub line: Arc<str>,
}

/// The connection that writes, with what is used again for every event.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    event: Vec<u8>,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, event: Vec::new() }
    }

    /// Makes a change, or nothing.
    pub(super) fn commit(
        &mut self,
        change: &Change<'_>,
        clock: &dyn Clock,
        owner: &Owner,
    ) -> Result<Stored, Fault> {
        let Self { connection, event } = self;
        event.clear();
        serde_json::to_writer(&mut *event, change.event).map_err(encode("event"))?;
        // Only ever what serde_json wrote.
        let event = str::from_utf8(event).unwrap_or_default();
        let transaction = Transaction::write(connection)?;
        expect(connection, change, owner)?;
        if let Some(session) = change.session {
            write_session(connection, change, session)?;
        }
        match change.turn {
            None => {}
            Some(TurnChange::Create(turn)) => create_turn(connection, change.session_id, turn, owner)?,
            Some(TurnChange::Update(turn)) => update_turn(connection, change.session_id, turn)?,
        }
        // Now that no other process writes, times are in the order of sequences.
        let emitted_at = time::written(clock.now());
        let sequence = insert_event(connection, change, &emitted_at, event)?;
        transaction.commit()?;
        let envelope = Envelope {
            emitted_at: &emitted_at,
            session_id: change.session_id,
            turn_id: change.turn_id,
            sequence,
            event,
        };
        Ok(Stored { sequence, line: envelope.line().into() })
    }

    /// Writes down how a session stands, without anything that has happened.
    pub(super) fn keep(&mut self, session: &SessionStatus) -> Result<(), Fault> {
        let transaction = Transaction::write(&self.connection)?;
        update_session(&self.connection, &session.session_id, session, &stored(session)?)?;
        transaction.commit()
    }
}

/// Whether things are as expected.
fn expect(connection: &Connection, change: &Change<'_>, owner: &Owner) -> Result<(), Fault> {
    let session_id = change.session_id;
    match change.expect {
        // Seen to by the insertion itself.
        Expect::Anything | Expect::NewSession => Ok(()),
        Expect::NewTurn => {
            let Some(session) = rows::stored_session(connection, session_id)? else {
                return Err(session_not_found(session_id));
            };
            if session.status == SessionState::Closed {
                return Err(StoreError::SessionClosed { session_id: session_id.to_owned() }.into());
            }
            match under_way(connection, session_id)? {
                None => Ok(()),
                Some((turn_id, whose)) => Err(running(session_id, turn_id, whose != owner.id())),
            }
        }
        Expect::TurnUnderWay => {
            let turn_id = change.turn_id.unwrap_or_default();
            match under_way(connection, session_id)? {
                Some((found, _)) if found == turn_id => Ok(()),
                _ => Err(StoreError::TurnOver {
                    session_id: session_id.to_owned(),
                    turn_id: turn_id.to_owned(),
                }
                .into()),
            }
        }
        Expect::NotElsewhere => match under_way(connection, session_id)? {
            Some((turn_id, whose)) if whose != owner.id() => Err(running(session_id, turn_id, true)),
            _ => Ok(()),
        },
    }
}

/// The turn of a session that is under way, and whose it is.
fn under_way(connection: &Connection, session_id: &str) -> Result<Option<(String, String)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT turn_id, owner FROM chat_turn WHERE session_id = ?1 AND status IN ('running', 'canceling')",
    )?;
    Ok(statement.query_row([session_id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

fn write_session(connection: &Connection, change: &Change<'_>, session: &SessionStatus) -> Result<(), Fault> {
    let status = stored(session)?;
    let id = change.session_id;
    if change.expect == Expect::NewSession {
        let mut statement = connection.prepare_cached(
            "INSERT INTO chat_session (session_id, status, created_at, closed_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO NOTHING",
        )?;
        return match statement.execute(params![id, status, session.created_at, session.closed_at])? {
            0 => Err(StoreError::SessionExists { session_id: id.to_owned() }.into()),
            _ => Ok(()),
        };
    }
    update_session(connection, id, session, &status)
}

/// A session as its row has it: the turn has its own.
fn stored(session: &SessionStatus) -> Result<String, Fault> {
    json("session", &SessionStatus { active_turn: None, ..session.clone() })
}

fn update_session(
    connection: &Connection,
    id: &str,
    session: &SessionStatus,
    status: &str,
) -> Result<(), Fault> {
    let mut statement = connection
        .prepare_cached("UPDATE chat_session SET status = ?2, closed_at = ?3 WHERE session_id = ?1")?;
    match statement.execute(params![id, status, session.closed_at])? {
        0 => Err(session_not_found(id)),
        _ => Ok(()),
    }
}

fn create_turn(
    connection: &Connection,
    session_id: &str,
    record: &TurnRecord,
    owner: &Owner,
) -> Result<(), Fault> {
    let TurnRecord { session_id: _, turn, input, context, policy, browser_lease_id, metadata } = record;
    let mut statement = connection.prepare_cached(
        "INSERT INTO chat_turn (session_id, turn_id, owner, status, input, context, policy, browser_lease_id, metadata,
             started_at, updated_at, ended_at, cancel_reason, error)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
         ON CONFLICT (session_id, turn_id) DO NOTHING",
    )?;
    let made = statement.execute(params![
        session_id,
        turn.turn_id,
        owner.id(),
        rows::word(turn.status),
        json("input", input)?,
        optional_json("context", context.as_ref())?,
        json("policy", policy)?,
        browser_lease_id,
        optional_json("metadata", metadata.as_ref())?,
        turn.started_at,
        turn.updated_at,
        turn.ended_at,
        turn.cancel_reason,
        optional_json("error", turn.error.as_ref())?,
    ]);
    match made.map_err(|error| without_session(error, session_id))? {
        0 => Err(StoreError::TurnExists { session_id: session_id.to_owned(), turn_id: turn.turn_id.clone() }
            .into()),
        _ => Ok(()),
    }
}

fn update_turn(connection: &Connection, session_id: &str, turn: &TurnStatus) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "UPDATE chat_turn SET status = ?3, updated_at = ?4, ended_at = ?5, cancel_reason = ?6, error = ?7
         WHERE session_id = ?1 AND turn_id = ?2",
    )?;
    let changed = statement.execute(params![
        session_id,
        turn.turn_id,
        rows::word(turn.status),
        turn.updated_at,
        turn.ended_at,
        turn.cancel_reason,
        optional_json("error", turn.error.as_ref())?,
    ])?;
    match changed {
        0 => {
            Err(StoreError::TurnNotFound { session_id: session_id.to_owned(), turn_id: turn.turn_id.clone() }
                .into())
        }
        _ => Ok(()),
    }
}

/// The number is the largest so far plus one, which SQLite finds in the transaction. The newest event is never removed.
fn insert_event(
    connection: &Connection,
    change: &Change<'_>,
    emitted_at: &str,
    event: &str,
) -> Result<u64, Fault> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO chat_event (session_id, turn_id, kind, emitted_at, event) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    statement
        .execute(params![change.session_id, change.turn_id, change.event.kind(), emitted_at, event])
        .map_err(|error| without_session(error, change.session_id))?;
    Ok(rows::sequence(connection.last_insert_rowid()))
}

/// A row that refers to no session says that there is no such session.
fn without_session(error: rusqlite::Error, session_id: &str) -> Fault {
    const FOREIGN_KEY: i32 = rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY;
    match error.sqlite_error() {
        Some(failure)
            if failure.code == ErrorCode::ConstraintViolation && failure.extended_code == FOREIGN_KEY =>
        {
            session_not_found(session_id)
        }
        _ => error.into(),
    }
}

fn session_not_found(session_id: &str) -> Fault {
    StoreError::SessionNotFound { session_id: session_id.to_owned() }.into()
}

fn running(session_id: &str, turn_id: String, elsewhere: bool) -> Fault {
    StoreError::TurnRunning { session_id: session_id.to_owned(), turn_id, elsewhere }.into()
}

fn json<T: Serialize>(what: &'static str, value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|source| encode(what)(source).into())
}

fn optional_json<T: Serialize>(what: &'static str, value: Option<&T>) -> Result<Option<String>, Fault> {
    value.map(|value| json(what, value)).transpose()
}

fn encode(what: &'static str) -> impl FnOnce(serde_json::Error) -> StoreError {
    move |source| StoreError::Encode { what, source }
}
