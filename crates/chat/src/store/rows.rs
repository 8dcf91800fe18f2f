//! Rows of sessions and turns, read back into what the protocol says.

use rusqlite::{Connection, OptionalExtension as _, Row, ToSql};
use serde::de::DeserializeOwned;

use super::error::Fault;
use crate::protocol::{SessionStatus, TurnRecord, TurnState, TurnStatus};

/// A session that was written, and when something last happened in it.
const SESSION: &str = "
SELECT status, (SELECT emitted_at FROM chat_event AS e WHERE e.session_id = s.session_id ORDER BY sequence DESC LIMIT 1)
FROM chat_session AS s";

const TURN: &str = "
SELECT session_id, turn_id, status, input, context, policy, browser_lease_id, metadata, started_at, updated_at, ended_at,
    cancel_reason, error
FROM chat_turn";

/// All sessions, or one, by the time of their beginning.
pub(super) fn sessions(connection: &Connection, only: Option<&str>) -> Result<Vec<SessionStatus>, Fault> {
    let only_one = if only.is_some() { "WHERE session_id = ?1" } else { "" };
    let mut statement =
        connection.prepare_cached(&format!("{SESSION} {only_one} ORDER BY created_at, session_id"))?;
    let mut rows = match only {
        Some(id) => statement.query([id])?,
        None => statement.query([])?,
    };
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut session: SessionStatus = json(row, 0, "chat_session.status")?;
        if let Some(latest) = row.get(1)? {
            session.updated_at = latest;
        }
        session.active_turn = match &session.active_turn_id {
            Some(turn_id) => turn(connection, &session.session_id, turn_id)?.map(|record| record.turn),
            None => None,
        };
        found.push(session);
    }
    Ok(found)
}

/// A session as it was written, without what is joined to it.
pub(super) fn stored_session(connection: &Connection, id: &str) -> Result<Option<SessionStatus>, Fault> {
    let mut statement = connection.prepare_cached("SELECT status FROM chat_session WHERE session_id = ?1")?;
    let mut rows = statement.query([id])?;
    rows.next()?.map(|row| json(row, 0, "chat_session.status")).transpose()
}

/// Turns by the time of their beginning.
pub(super) fn turns(
    connection: &Connection,
    session: Option<&str>,
    status: Option<TurnState>,
) -> Result<Vec<TurnRecord>, Fault> {
    let status = status.map(word);
    let (condition, values): (&str, Vec<&dyn ToSql>) = match (&session, &status) {
        (None, None) => ("", Vec::new()),
        (Some(session), None) => ("WHERE session_id = ?1", vec![session]),
        (None, Some(status)) => ("WHERE status = ?1", vec![status]),
        (Some(session), Some(status)) => ("WHERE session_id = ?1 AND status = ?2", vec![session, status]),
    };
    let mut statement =
        connection.prepare_cached(&format!("{TURN} {condition} ORDER BY started_at, turn_id"))?;
    let mut rows = statement.query(values.as_slice())?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(record(row)?);
    }
    Ok(found)
}

/// One turn.
pub(super) fn turn(connection: &Connection, session: &str, id: &str) -> Result<Option<TurnRecord>, Fault> {
    let mut statement =
        connection.prepare_cached(&format!("{TURN} WHERE session_id = ?1 AND turn_id = ?2"))?;
    let mut rows = statement.query([session, id])?;
    rows.next()?.map(record).transpose()
}

/// Session, turn and owner of every turn that is under way.
pub(super) fn under_way(
    connection: &Connection,
    session: Option<&str>,
) -> Result<Vec<(String, String, String)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, turn_id, owner FROM chat_turn
         WHERE status IN ('running', 'canceling') AND (?1 IS NULL OR session_id = ?1) ORDER BY started_at, turn_id",
    )?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The largest number that an event has, zero if there is none.
pub(super) fn latest(connection: &Connection) -> Result<u64, Fault> {
    let mut statement = connection.prepare_cached("SELECT max(sequence) FROM chat_event")?;
    let found: Option<Option<i64>> = statement.query_row([], |row| row.get(0)).optional()?;
    Ok(sequence(found.flatten().unwrap_or(0)))
}

/// A number of an event: SQLite gives none below one.
pub(super) fn sequence(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

fn record(row: &Row<'_>) -> Result<TurnRecord, Fault> {
    Ok(TurnRecord {
        session_id: row.get(0)?,
        turn: TurnStatus {
            turn_id: row.get(1)?,
            status: state(row.get_ref(2)?.as_str().unwrap_or_default())?,
            started_at: row.get(8)?,
            updated_at: row.get(9)?,
            ended_at: row.get(10)?,
            cancel_reason: row.get(11)?,
            error: optional_json(row, 12, "chat_turn.error")?,
        },
        input: json(row, 3, "chat_turn.input")?,
        context: optional_json(row, 4, "chat_turn.context")?,
        policy: json(row, 5, "chat_turn.policy")?,
        browser_lease_id: row.get(6)?,
        metadata: optional_json(row, 7, "chat_turn.metadata")?,
    })
}

/// How a state is written.
pub(super) fn word(state: TurnState) -> &'static str {
    match state {
        TurnState::Running => "running",
        TurnState::Canceling => "canceling",
        TurnState::Canceled => "canceled",
        TurnState::Completed => "completed",
        TurnState::Failed => "failed",
    }
}

fn state(written: &str) -> Result<TurnState, Fault> {
    match written {
        "running" => Ok(TurnState::Running),
        "canceling" => Ok(TurnState::Canceling),
        "canceled" => Ok(TurnState::Canceled),
        "completed" => Ok(TurnState::Completed),
        "failed" => Ok(TurnState::Failed),
        other => Err(Fault::Value { column: "chat_turn.status", what: format!("`{other}` is no state") }),
    }
}

fn json<T: DeserializeOwned>(row: &Row<'_>, index: usize, column: &'static str) -> Result<T, Fault> {
    parse(text(row, index, column)?, column)
}

fn optional_json<T: DeserializeOwned>(
    row: &Row<'_>,
    index: usize,
    column: &'static str,
) -> Result<Option<T>, Fault> {
    optional_text(row, index, column)?.map(|text| parse(text, column)).transpose()
}

fn parse<T: DeserializeOwned>(text: &str, column: &'static str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::Value { column, what: error.to_string() })
}

/// The text of a column, without a copy.
pub(super) fn text<'a>(row: &'a Row<'_>, index: usize, column: &'static str) -> Result<&'a str, Fault> {
    row.get_ref(index)?.as_str().map_err(|error| Fault::Value { column, what: error.to_string() })
}

/// The same of a column that may have none.
pub(super) fn optional_text<'a>(
    row: &'a Row<'_>,
    index: usize,
    column: &'static str,
) -> Result<Option<&'a str>, Fault> {
    row.get_ref(index)?.as_str_or_null().map_err(|error| Fault::Value { column, what: error.to_string() })
}
