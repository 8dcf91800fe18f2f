//! A transaction that is undone unless it is committed.

use rusqlite::Connection;

use super::error::Fault;

/// Everything until [`commit`](Self::commit) or nothing. Its own statements are kept prepared, since there is one around
/// every event.
#[derive(Debug)]
pub(super) struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    /// One that writes. It waits here for other writers, not in the middle, where there is nothing to do but give up.
    pub(super) fn write(connection: &'a Connection) -> Result<Self, Fault> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    /// One that reads: all of it sees the same state, and no writer waits for it.
    pub(super) fn read(connection: &'a Connection) -> Result<Self, Fault> {
        connection.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self(connection))
    }

    /// Makes it last.
    pub(super) fn commit(self) -> Result<(), Fault> {
        self.0.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SQLite undoes some transactions by itself, for instance when the disk is full.
        if !self.0.is_autocommit() {
            let _nothing_more_can_be_done = self.0.execute_batch("ROLLBACK");
        }
    }
}
