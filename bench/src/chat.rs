//! How many events of a conversation are kept, and read back, in a second.
//!
//! Keeping is measured against the least that could be done: the same row put into the same table by a bare loop, one
//! transaction each, with the same settings of SQLite. Both take turns in one run, so that what else the machine does meets
//! both.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fullsend_chat::protocol::{ChatEvent, ListEvents, SessionStatus};
use fullsend_chat::store::{Change, Expect, Place, Store};
use fullsend_guard::SystemClock;
use rusqlite::Connection;
use serde_json::json;

use crate::Setting;
use crate::samples::{Samples, ratio};

/// How many events are put in before the other one has its turn.
const EACH: u32 = 1_000;
/// How often they take turns, at most.
const MOST_ROUNDS: u32 = 60;
/// How many events a page of a replay has.
const PAGE: u64 = 1_000;

const SESSION: &str = "6f0c2a52-5f6e-4d7e-9f0e-0d5a8b1c2d3e";
const TURN: &str = "0b9d1c5e-7a43-4f5b-8f66-3c2b1a0f9e8d";
const TEXT: &str = "twenty bytes of text";

/// Measures and prints.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let store = begin(&directory.path().join("store.db"))?;
    let bare = bare(&directory.path().join("bare.db"))?;
    let (mut kept, mut inserted) = (Samples::default(), Samples::default());
    let rounds = setting.runs.clamp(3, MOST_ROUNDS);
    for _ in 0..rounds {
        kept.push(timed(|| keep(&store))?);
        inserted.push(timed(|| insert(&bare))?);
    }
    let (kept, inserted) = (kept.median(), inserted.median());
    println!(
        "kept: {:.0} events/s; a bare loop: {:.0} rows/s; {:.2} of it (medians of {rounds} times {EACH})",
        per_second(EACH, kept),
        per_second(EACH, inserted),
        ratio(inserted, kept)
    );
    let mut replays = Samples::default();
    for _ in 0..5 {
        replays.push(timed(|| replay(&store, u64::from(rounds * EACH)))?);
    }
    let replayed = per_second(rounds * EACH, replays.median());
    println!("read back in pages of {PAGE}: {replayed:.0} events/s (median of 5)");
    Ok(())
}

/// A store with one session.
fn begin(path: &Path) -> Result<Store> {
    let store = Store::open(&Place::File(path.to_owned()), Arc::new(SystemClock))?;
    let at = "2026-01-01T00:00:00.000Z";
    let session: SessionStatus = serde_json::from_value(json!({
        "sessionId": SESSION,
        "status": "idle",
        "reusable": true,
        "turnCount": 0,
        "createdAt": at,
        "updatedAt": at,
        "workspace": {"hostPath": "/w"},
        "capabilities": fullsend_chat::protocol::Capabilities::default(),
        "policy": {
            "type": "fullsend.chat-policy",
            "toolMode": "workspace-write",
            "allowedToolIds": [],
            "allowedSubagentProfiles": [],
        },
    }))?;
    let event = ChatEvent::SessionStarted { session: Box::new(session.clone()) };
    store.commit(Change {
        session_id: SESSION,
        turn_id: None,
        event: &event,
        session: Some(&session),
        turn: None,
        expect: Expect::NewSession,
    })?;
    Ok(store)
}

/// A connection to a database with the same tables, the same session and the same settings.
fn bare(path: &Path) -> Result<Connection> {
    drop(begin(path)?);
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    for (setting, value) in [("foreign_keys", "ON"), ("synchronous", "NORMAL")] {
        connection.pragma_update(None, setting, value)?;
    }
    for setting in ["secure_delete = ON", "journal_size_limit = 16777216"] {
        connection.query_row(&format!("PRAGMA {setting}"), [], |_| Ok(()))?;
    }
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    ensure!(mode == "wal", "the bare database is not in the same mode: {mode}");
    Ok(connection)
}

fn keep(store: &Store) -> Result<()> {
    let event = ChatEvent::AssistantDelta { text: TEXT.to_owned() };
    let change = Change {
        session_id: SESSION,
        turn_id: Some(TURN),
        event: &event,
        session: None,
        turn: None,
        expect: Expect::Anything,
    };
    for _ in 0..EACH {
        black_box(store.commit(change)?);
    }
    Ok(())
}

fn insert(connection: &Connection) -> Result<()> {
    let event = format!("{{\"kind\":\"assistant_delta\",\"text\":\"{TEXT}\"}}");
    for _ in 0..EACH {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        connection
            .prepare_cached(
                "INSERT INTO chat_event (session_id, turn_id, kind, emitted_at, event) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute([SESSION, TURN, "assistant_delta", "2026-01-01T00:00:00.000Z", &event])?;
        connection.prepare_cached("COMMIT")?.execute([])?;
    }
    Ok(())
}

fn replay(store: &Store, expected: u64) -> Result<()> {
    let mut query =
        ListEvents { session_id: Some(SESSION.to_owned()), after_sequence: Some(1), limit: Some(PAGE) };
    let mut seen = 0;
    loop {
        let page = store.events(&query)?;
        let lines = u64::try_from(black_box(&page.lines).len())?;
        seen += lines;
        query.after_sequence = query.after_sequence.map(|after| after + lines);
        if !page.more {
            ensure!(seen == expected, "{seen} events came back of {expected}");
            return Ok(());
        }
    }
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work().context("measuring the chat store")?;
    Ok(start.elapsed())
}

fn per_second(count: u32, duration: Duration) -> f64 {
    f64::from(count) / duration.as_secs_f64().max(f64::EPSILON)
}
