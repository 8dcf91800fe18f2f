//! What can go wrong with the store.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Why something was not put into the store, or not read from it. Whatever it is, nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The id is taken.
    #[error("there is a chat session `{session_id}` already: choose another id, or go on with that one")]
    SessionExists {
        /// The id.
        session_id: String,
    },
    /// There is no such session.
    #[error("there is no chat session `{session_id}`")]
    SessionNotFound {
        /// The id.
        session_id: String,
    },
    /// The session takes no turn any more.
    #[error("the chat session `{session_id}` is closed: start another one")]
    SessionClosed {
        /// The id.
        session_id: String,
    },
    /// The id is taken.
    #[error("the chat session `{session_id}` has had a turn `{turn_id}` already: choose another id")]
    TurnExists {
        /// In which session.
        session_id: String,
        /// The id.
        turn_id: String,
    },
    /// There is no such turn.
    #[error("the chat session `{session_id}` has no turn `{turn_id}`")]
    TurnNotFound {
        /// In which session.
        session_id: String,
        /// The id.
        turn_id: String,
    },
    /// The turn was to be under way, and is over.
    #[error("the turn `{turn_id}` of the chat session `{session_id}` is over")]
    TurnOver {
        /// In which session.
        session_id: String,
        /// The id.
        turn_id: String,
    },
    /// A turn is under way.
    #[error(
        "the turn `{turn_id}` of the chat session `{session_id}` is under way{}: wait for its end",
        if *elsewhere { " in another process" } else { "" }
    )]
    TurnRunning {
        /// In which session.
        session_id: String,
        /// Which.
        turn_id: String,
        /// Whether another process has it, living or not.
        elsewhere: bool,
    },
    /// There is no such event, or not any more.
    #[error("there is no chat event {sequence} any more: it was pruned")]
    EventNotFound {
        /// Its number.
        sequence: u64,
    },
    /// The database is not there.
    #[error("there is no chat database `{}`", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The database cannot be made or opened.
    #[error("cannot open the chat database `{}`: {source}: its directory must be there and writable", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file beside the database, by which other processes see that this one lives, cannot be kept.
    #[error("cannot keep `{}`, which shows others that this process uses the chat database: {source}", path.display())]
    Owner {
        /// That file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{place} is no chat database: {what}: name another file")]
    Foreign {
        /// The file.
        place: String,
        /// What it is.
        what: String,
    },
    /// The database is of a later release.
    #[error(
        "{place} was written by a later release of fullsend (its schema is {found}, this one knows up to {known}): \
         use that release, or another file"
    )]
    Newer {
        /// The file.
        place: String,
        /// The version of its schema.
        found: i64,
        /// The newest that this build knows.
        known: i64,
    },
    /// The database does not hold what it should.
    #[error("{place} is damaged: {what}: put back a copy of it, or move it away and begin with a new one")]
    Damaged {
        /// The file.
        place: String,
        /// Where in it, and what is wrong there.
        what: String,
    },
    /// There is no room.
    #[error(
        "there is no room for {place}: free some space on its disk, or prune it with `fullsend chat prune`"
    )]
    Full {
        /// The file.
        place: String,
    },
    /// Another process holds it for too long.
    #[error("{place} was held by another process for longer than five seconds: try again")]
    Busy {
        /// The file.
        place: String,
    },
    /// Something else.
    #[error("{place} cannot be used: {source}")]
    Sqlite {
        /// The file.
        place: String,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Something cannot be written as JSON.
    #[error("a chat {what} cannot be written as JSON: {source}")]
    Encode {
        /// What.
        what: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
}

/// What goes wrong below, where nobody knows the name of the file.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is refused, for a reason that is complete.
    Refused(StoreError),
    /// SQLite says no.
    Sqlite(rusqlite::Error),
    /// A value is not what belongs there.
    Value {
        /// Table and column.
        column: &'static str,
        /// What is wrong.
        what: String,
    },
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    /// Whether another process is in the way.
    pub(super) fn is_busy(&self) -> bool {
        let code = match self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            Self::Refused(_) | Self::Value { .. } => None,
        };
        matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// The same with the name of the file.
    pub(super) fn at(self, place: &str) -> StoreError {
        let place = place.to_owned();
        match self {
            Self::Refused(error) => error,
            Self::Value { column, what } => {
                StoreError::Damaged { place, what: format!("`{column}` cannot be read: {what}") }
            }
            Self::Sqlite(source) => match source.sqlite_error_code() {
                Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { place, what: source.to_string() },
                Some(ErrorCode::NotADatabase) => {
                    StoreError::Foreign { place, what: "it is no SQLite database".to_owned() }
                }
                Some(ErrorCode::DiskFull) => StoreError::Full { place },
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { place },
                _ => StoreError::Sqlite { place, source },
            },
        }
    }
}
