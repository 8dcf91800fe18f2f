//! The tables, and how those of an older release become those of this one.

use rusqlite::Connection;

use super::error::{Fault, StoreError};
use super::transaction::Transaction;

/// Written into the header of a file, so that nobody takes the database of another program for ours: `FSCH`.
pub(super) const APPLICATION_ID: i64 = 0x4653_4348;

/// Statements that lead from each version to the next. A version that was released is never edited: append another.
const MIGRATIONS: &[&str] = &[FIRST];

/// What each table is for, and why its columns are as they are:
///
/// * `chat_session.status` is a whole session as the protocol writes it, except for what other rows say better: the turn
///   that is under way, and the time of the last event.
/// * `chat_turn` has one column for each part of a turn. `owner` names the process that makes it. At most one turn of
///   a session is under way; the index sees to that, whatever two processes think.
/// * `chat_event.event` is what is inside the envelope; the envelope is put around it when it is read. An index on the
///   session holds the sequence as well, since that is the row's own number.
const FIRST: &str = "
CREATE TABLE chat_session (
    session_id TEXT NOT NULL PRIMARY KEY,
    status TEXT NOT NULL,
    created_at TEXT NOT NULL,
    closed_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE chat_turn (
    session_id TEXT NOT NULL REFERENCES chat_session (session_id) ON DELETE CASCADE,
    turn_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'canceling', 'canceled', 'completed', 'failed')),
    input TEXT NOT NULL,
    context TEXT,
    policy TEXT NOT NULL,
    browser_lease_id TEXT,
    metadata TEXT,
    started_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    ended_at TEXT,
    cancel_reason TEXT,
    error TEXT,
    PRIMARY KEY (session_id, turn_id)
) STRICT;

CREATE UNIQUE INDEX chat_turn_under_way ON chat_turn (session_id) WHERE status IN ('running', 'canceling');

CREATE TABLE chat_event (
    sequence INTEGER NOT NULL PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES chat_session (session_id) ON DELETE CASCADE,
    turn_id TEXT,
    kind TEXT NOT NULL,
    emitted_at TEXT NOT NULL,
    event TEXT NOT NULL
) STRICT;

CREATE INDEX chat_event_session ON chat_event (session_id);
";

/// The newest version that this build knows.
pub(super) fn newest() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// The version of a database; zero has no tables yet.
pub(super) fn version(connection: &Connection) -> Result<i64, Fault> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Brings a database to the newest version. Of several processes that try at once, one does it.
pub(super) fn migrate(connection: &Connection, place: &str) -> Result<(), Fault> {
    let transaction = Transaction::write(connection)?;
    let found = version(connection)?;
    let known = newest();
    if found > known {
        return Err(StoreError::Newer { place: place.to_owned(), found, known }.into());
    }
    apply(connection, MIGRATIONS, found)?;
    transaction.commit()
}

/// Does what is left to do from version `found` on.
fn apply(connection: &Connection, migrations: &[&str], found: i64) -> Result<(), Fault> {
    for (version, statements) in (1_i64..).zip(migrations).filter(|(version, _)| *version > found) {
        connection.execute_batch(statements)?;
        connection.pragma_update(None, "user_version", version)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{apply, version};

    #[test]
    fn migrations_are_made_in_order_from_where_a_database_is() {
        let steps =
            ["CREATE TABLE t (x)", "INSERT INTO t VALUES (2)", "UPDATE t SET x = x * 10", "DROP TABLE t"];
        for begun in 0..=3 {
            let connection = Connection::open_in_memory().unwrap();
            apply(&connection, &steps[..begun], 0).unwrap();
            let found = version(&connection).unwrap();
            assert_eq!(found, i64::try_from(begun).unwrap());
            apply(&connection, &steps[..3], found).unwrap();
            let left: i64 = connection.query_row("SELECT x FROM t", [], |row| row.get(0)).unwrap();
            assert_eq!((left, version(&connection).unwrap()), (20, 3));
        }
    }
}
