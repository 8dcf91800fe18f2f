//! Files that are no chat database, not any more, or not yet; and disks that are full.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use fullsend_chat::protocol::ListEvents;
use fullsend_chat::store::{Place, Store, StoreError};
use rusqlite::Connection;

use crate::support::records::{Ticking, begin_session, begin_turn, open, record, say, sequences};

fn try_open(path: &Path) -> Result<Store, StoreError> {
    Store::open(&Place::File(path.to_owned()), Ticking::new())
}

#[test]
fn a_new_database_is_its_owners_and_says_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file:chat?mode=memory");
    let store = open(&path);
    begin_session(&store, "s").unwrap();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    let raw = Connection::open_with_flags(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let number = |pragma: &str| raw.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(
        [number("application_id"), number("user_version"), number("auto_vacuum")],
        [0x4653_4348, 1, 2]
    );
    let mode: String = raw.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn what_was_stored_is_there_after_the_process_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let store = open(&path);
    begin_session(&store, "s").unwrap();
    begin_turn(&store, "s", "t").unwrap();
    drop(store);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside the database");
    let store = open(&path);
    assert_eq!(store.turns(None, None).unwrap(), [record("s", "t")]);
    assert_eq!(say(&store, "s", "t", "x").unwrap().sequence, 3);
}

#[test]
fn a_place_that_cannot_be_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("no/chat.db");
    let error = try_open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error:?}");
    assert!(error.to_string().contains("no/chat.db"), "{error}");
    assert!(!directory.path().join("no").exists());
    assert!(matches!(try_open(directory.path()), Err(StoreError::Sqlite { .. } | StoreError::Open { .. })));

    let absent = Place::Existing(directory.path().join("chat.db"));
    let error = Store::open(&absent, Ticking::new()).unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn files_of_others_are_refused_and_left_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    fs::write(&text, "not a database, but long enough to look at: ".repeat(40)).unwrap();
    let others = directory.path().join("others.db");
    Connection::open(&others).unwrap().execute_batch("CREATE TABLE t (x); PRAGMA user_version = 1").unwrap();
    let stamped = directory.path().join("stamped.db");
    Connection::open(&stamped).unwrap().execute_batch("PRAGMA application_id = 7").unwrap();
    let unversioned = directory.path().join("unversioned.db");
    Connection::open(&unversioned).unwrap().execute_batch("PRAGMA application_id = 1179861832").unwrap();
    for path in [text, others, stamped, unversioned] {
        let before = fs::read(&path).unwrap();
        let error = try_open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_database_of_a_later_release_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    drop(open(&path));
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let before = fs::read(&path).unwrap();
    let error = try_open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, known: 1, .. }), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_empty_file_becomes_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let store = open(&path);
    assert_eq!(begin_session(&store, "s").unwrap().sequence, 1);
    for entry in fs::read_dir(directory.path()).unwrap().map(Result::unwrap) {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
}

#[test]
fn damage_in_the_pages_is_found_when_the_file_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let store = open(&path);
    begin_session(&store, "s").unwrap();
    begin_turn(&store, "s", "t").unwrap();
    for index in 0..500 {
        say(&store, "s", "t", &format!("{index} {}", "x".repeat(100))).unwrap();
    }
    drop(store);
    let whole = fs::read(&path).unwrap();
    assert!(whole.len() > 20 * 4096);
    let middle = whole.len() / 2 / 4096 * 4096;
    let mut scribbled = whole.clone();
    scribbled[middle..middle + 4096].fill(0xa5);
    for damaged in [scribbled, whole[..middle].to_vec()] {
        fs::write(&path, &damaged).unwrap();
        let error = try_open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains("chat.db"), "{error}");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(sequences(&open(&path), None).len(), 502);
}

#[test]
fn a_value_that_cannot_be_read_is_named_by_table_and_column() {
    let directory = tempfile::tempdir().unwrap();
    let cases: [(&str, &str, Read); 8] = [
        ("UPDATE chat_session SET status = '{'", "chat_session.status", |s| s.sessions(None).map(|_| ())),
        ("UPDATE chat_session SET status = '{}'", "chat_session.status", |s| {
            begin_turn(s, "s", "u").map(|_| ())
        }),
        ("UPDATE chat_turn SET policy = '[]'", "chat_turn.policy", |s| s.turns(None, None).map(|_| ())),
        ("UPDATE chat_turn SET input = 'x'", "chat_turn.input", |s| s.sessions(None).map(|_| ())),
        ("UPDATE chat_turn SET error = '1'", "chat_turn.error", |s| s.turns(None, None).map(|_| ())),
        ("UPDATE chat_event SET event = '{\"kind\":'", "chat_event.event", list),
        ("UPDATE chat_event SET event = '{\n}'", "chat_event.event", list),
        ("UPDATE chat_event SET event = '17'", "chat_event.event", list),
    ];
    for (index, (sql, column, read)) in cases.into_iter().enumerate() {
        let path = directory.path().join(format!("{index}.db"));
        let store = open(&path);
        begin_session(&store, "s").unwrap();
        begin_turn(&store, "s", "t").unwrap();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let error = read(&store).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{sql}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(column) && text.contains(path.to_str().unwrap()), "{sql}: {text}");
    }
}

/// Something that reads the value.
type Read = fn(&Store) -> Result<(), StoreError>;

fn list(store: &Store) -> Result<(), StoreError> {
    store.events(&ListEvents::default()).map(|_| ())
}

/// A file system that takes no more is told apart, loses nothing, and goes on when there is room again.
#[test]
fn a_full_disk_stops_writing_and_nothing_else() {
    use fullsend_testkit::{in_namespace, test_name};
    in_namespace(test_name!(), &[], || {
        let directory = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(mounted.success());
        let path = directory.path().join("chat.db");
        let store = open(&path);
        begin_session(&store, "s").unwrap();
        begin_turn(&store, "s", "t").unwrap();
        let text = "x".repeat(10_000);
        let mut told = 2;
        let error = loop {
            match say(&store, "s", "t", &text) {
                Ok(stored) => {
                    told += 1;
                    assert_eq!(stored.sequence, told);
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        assert!(told > 10, "{told}");
        assert_eq!(sequences(&store, None), (1..=told).collect::<Vec<_>>());
        say(&store, "s", "t", &text).unwrap_err();
        let more = std::process::Command::new("mount")
            .args(["-o", "remount,size=8m"])
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(more.success());
        assert_eq!(say(&store, "s", "t", &text).unwrap().sequence, told + 1);
        drop(store);
        assert_eq!(sequences(&open(&path), None), (1..=told + 1).collect::<Vec<_>>());
    });
}

#[test]
fn two_names_of_one_database_are_one_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chat.db");
    let other = tempfile::tempdir().unwrap();
    let link = other.path().join("link.db");
    symlink(&path, &link).unwrap();
    let first = open(&path);
    begin_session(&first, "s").unwrap();
    begin_turn(&first, "s", "t").unwrap();
    let second = open(&link);
    assert_eq!(second.interrupted(None).unwrap(), [], "the first is seen to live");
    let error = begin_turn(&second, "s", "u").unwrap_err();
    assert!(matches!(error, StoreError::TurnRunning { elsewhere: true, .. }), "{error:?}");
    drop(first);
    assert_eq!(second.interrupted(None).unwrap().len(), 1);
}
