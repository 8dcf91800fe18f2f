//! Opening a database: nothing is written to a file before it is known to be ours.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::error::{Fault, StoreError};
use super::schema;
use super::transaction::Transaction;

/// How long a process waits for another one.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How many statements are kept prepared: more than there are.
const STATEMENTS: usize = 64;

/// A file that is opened.
#[derive(Debug)]
pub(super) struct Opened {
    /// Its real path.
    pub(super) path: PathBuf,
    /// In the words of messages.
    pub(super) place: String,
    /// For what changes it.
    pub(super) writer: Connection,
    /// For what does not, so that neither waits for the other.
    pub(super) reader: Connection,
}

/// What becomes of a file that is not there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Absent {
    /// It is made.
    Make,
    /// That is an error.
    Refuse,
}

/// Opens a file.
pub(super) fn file(path: &Path, absent: Absent) -> Result<Opened, StoreError> {
    let unusable = |source| StoreError::Open { path: path.to_owned(), source };
    match absent {
        Absent::Make => create(path).map_err(unusable)?,
        Absent::Refuse if path.exists() => {}
        Absent::Refuse => return Err(StoreError::Missing { path: path.to_owned() }),
    }
    let real = fs::canonicalize(path).map_err(unusable)?;
    let place = format!("the chat database `{}`", path.display());
    let writer = prepare(&real, &place).map_err(|fault| fault.at(&place))?;
    let reader = connect(&real).map_err(|fault| fault.at(&place))?;
    reader.pragma_update(None, "query_only", true).map_err(|error| Fault::from(error).at(&place))?;
    Ok(Opened { path: real, place, writer, reader })
}

/// A database of this process, gone with it. SQLite keeps it in a file without a name once it is large.
pub(super) fn temporary(place: &str) -> Result<Connection, StoreError> {
    let open = || {
        let connection = connect(Path::new(""))?;
        schema::migrate(&connection, place)?;
        Ok(connection)
    };
    open().map_err(|fault: Fault| fault.at(place))
}

/// Makes the file, for its owner alone: prompts and results are kept in clear. An existing one is not opened, not even for a
/// moment: closing it would drop the locks that another connection of this process holds on it.
fn create(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A connection with the settings that belong to connections.
fn connect(path: &Path) -> Result<Connection, Fault> {
    let made = if path.as_os_str().is_empty() { OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::empty() };
    // Not as a URI: a file may be called `file:x?mode=memory`.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | made;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "foreign_keys", true)?;
    // What is removed is gone: it was prompts and results.
    connection.query_row("PRAGMA secure_delete = ON", [], |_| Ok(()))?;
    // Schemas of damaged or hostile files run nothing.
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn prepare(path: &Path, place: &str) -> Result<Connection, Fault> {
    let connection = connect(path)?;
    if is_ours(&connection, place)? {
        check(&connection, place)?;
    } else {
        // Somebody else may have made it; what SQLite puts beside it has its mode as well.
        fs::set_permissions(path, Permissions::from_mode(0o600))
            .map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        // Space is given back in small steps, without rewriting the file. It must be said before the first page.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    write_ahead(&connection)?;
    schema::migrate(&connection, place)?;
    Ok(connection)
}

/// True for a chat database, false for an empty file, an error for anything else.
fn is_ours(connection: &Connection, place: &str) -> Result<bool, Fault> {
    let foreign =
        |what: &str| Err(StoreError::Foreign { place: place.to_owned(), what: what.to_owned() }.into());
    // All three at one moment: another process may be making the tables right now.
    let moment = Transaction::read(connection)?;
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found = schema::version(connection)?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    moment.commit()?;
    match (id, found, tables) {
        (0, 0, 0) => Ok(false),
        (schema::APPLICATION_ID, found, _) if found > schema::newest() => {
            let known = schema::newest();
            Err(StoreError::Newer { place: place.to_owned(), found, known }.into())
        }
        (schema::APPLICATION_ID, 1.., _) => Ok(true),
        (schema::APPLICATION_ID, ..) => foreign("its header is wrong"),
        _ => foreign("it is a database of another program"),
    }
}

/// Looks through the whole file once: better to refuse it than to lose a session in the middle.
fn check(connection: &Connection, place: &str) -> Result<(), Fault> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match found.as_str() {
        "ok" => Ok(()),
        _ => Err(StoreError::Damaged { place: place.to_owned(), what: found }.into()),
    }
}

/// Readers and a writer at once; every commit reaches the kernel, and the disk from time to time.
fn write_ahead(connection: &Connection) -> Result<(), Fault> {
    let started = Instant::now();
    // SQLite does not wait here by itself when another process is at the same point.
    while let Err(fault) = switch(connection) {
        if !fault.is_busy() || started.elapsed() > PATIENCE {
            return Err(fault);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // What a long replay made of the log is cut off again.
    connection.query_row("PRAGMA journal_size_limit = 16777216", [], |_| Ok(()))?;
    Ok(())
}

fn switch(connection: &Connection) -> Result<(), Fault> {
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    Ok(())
}
