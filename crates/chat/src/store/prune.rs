//! Taking away what is over and not wanted any more.
//!
//! It is done in small steps, so that a process that writes meanwhile never waits long, and gives the space back in small
//! steps too, without a second copy of the file. What is removed is overwritten: it held prompts and results.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::error::Fault;
use super::open::PATIENCE;
use super::time;
use super::transaction::Transaction;

/// How many events are looked at in one step.
const EVENTS: i64 = 2_000;

/// How many pages are given back in one step.
const PAGES: u32 = 256;

/// What is not wanted any more. What either of the two names is removed. A session that has a turn under way is left
/// alone, and of every other one the newest event stays, unless the session goes as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Events, turns that ended and sessions that were closed longer ago than this.
    pub older_than: Option<Duration>,
    /// Events other than the newest so many of the store.
    pub keep_events: Option<u64>,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// So many events.
    pub events: u64,
    /// So many turns.
    pub turns: u64,
    /// So many sessions.
    pub sessions: u64,
    /// By so many bytes the database is smaller.
    pub freed_bytes: u64,
}

/// The same, as the database compares it.
#[derive(Debug)]
pub(super) struct Limits {
    /// What is older goes.
    before: Option<String>,
    /// Events up to this number go.
    up_to: Option<i64>,
}

impl Limits {
    pub(super) fn new(connection: &Connection, what: &Retention, now: Timestamp) -> Result<Self, Fault> {
        let moment =
            |age: Duration| SignedDuration::try_from(age).ok().and_then(|age| now.checked_sub(age).ok());
        Ok(Self {
            // Nothing is older than the beginning of time.
            before: what.older_than.and_then(moment).map(time::written),
            up_to: what.keep_events.map(|newest| last_but(connection, newest)).transpose()?.flatten(),
        })
    }
}

/// The number of the last event but so many.
fn last_but(connection: &Connection, newest: u64) -> Result<Option<i64>, Fault> {
    let Ok(newest) = i64::try_from(newest) else { return Ok(None) };
    let sql = "SELECT sequence FROM chat_event ORDER BY sequence DESC LIMIT 1 OFFSET ?1";
    Ok(connection.query_row(sql, [newest], |row| row.get(0)).optional()?)
}

/// Removes events of one step after the number `from`. The last number that was looked at, and how many are gone; none
/// after the last step.
pub(super) fn events(
    connection: &Connection,
    limits: &Limits,
    from: i64,
) -> Result<Option<(i64, u64)>, Fault> {
    let transaction = Transaction::write(connection)?;
    let to: Option<i64> = connection.query_row(
        "SELECT max(sequence) FROM (SELECT sequence FROM chat_event WHERE sequence > ?1 ORDER BY sequence LIMIT ?2)",
        params![from, EVENTS],
        |row| row.get(0),
    )?;
    let Some(to) = to else { return Ok(None) };
    let removed = connection.execute(
        "DELETE FROM chat_event
         WHERE sequence > ?1 AND sequence <= ?2
             AND (emitted_at < ?3 OR sequence <= ?4)
             AND NOT EXISTS (SELECT 1 FROM chat_turn AS t
                             WHERE t.session_id = chat_event.session_id AND t.status IN ('running', 'canceling'))
             AND EXISTS (SELECT 1 FROM chat_event AS later
                         WHERE later.session_id = chat_event.session_id AND later.sequence > chat_event.sequence)",
        params![from, to, limits.before, limits.up_to],
    )?;
    transaction.commit()?;
    Ok(Some((to, count(removed))))
}

/// Removes turns that ended, and sessions that were closed: how many of each. The session with the newest event of all stays:
/// numbers go on from there.
pub(super) fn turns_and_sessions(connection: &Connection, limits: &Limits) -> Result<(u64, u64), Fault> {
    let Some(before) = &limits.before else { return Ok((0, 0)) };
    let transaction = Transaction::write(connection)?;
    let turns = connection.execute(
        "DELETE FROM chat_turn WHERE ended_at < ?1 AND status NOT IN ('running', 'canceling')",
        [before],
    )?;
    let sessions = connection.execute(
        "DELETE FROM chat_session
         WHERE closed_at < ?1
             AND NOT EXISTS (SELECT 1 FROM chat_turn AS t WHERE t.session_id = chat_session.session_id)
             AND NOT EXISTS (SELECT 1 FROM chat_event AS e
                             WHERE e.session_id = chat_session.session_id AND e.emitted_at >= ?1)
             AND session_id IS NOT (SELECT session_id FROM chat_event ORDER BY sequence DESC LIMIT 1)",
        [before],
    )?;
    transaction.commit()?;
    Ok((count(turns), count(sessions)))
}

/// Gives back the pages of one step; false when there are none any more.
pub(super) fn give_back(connection: &Connection) -> Result<bool, Fault> {
    let before = free_pages(connection)?;
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(free_pages(connection)? < before)
}

/// Folds the log into the file, as far as nobody reads it. Others who write wait as long as this waits for readers: not long.
pub(super) fn fold(connection: &Connection) -> Result<(), Fault> {
    connection.busy_timeout(Duration::from_millis(200))?;
    let folded = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(PATIENCE)?;
    Ok(folded?)
}

/// How large the database is.
pub(super) fn size(connection: &Connection) -> Result<u64, Fault> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    let bytes: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    Ok(u64::try_from(pages.saturating_mul(bytes)).unwrap_or(0))
}

fn free_pages(connection: &Connection) -> Result<i64, Fault> {
    Ok(connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}
