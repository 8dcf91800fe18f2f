//! Events, read back as the lines that clients see.
//!
//! What is inside an envelope is kept as it was written and goes out as it is kept: it is looked at, since a line that is no
//! JSON would cost the client its stream, and not turned into values and back.

use rusqlite::{Connection, Row, params};
use serde::de::IgnoredAny;

use super::error::{Fault, StoreError};
use super::rows;
use crate::protocol::{EVENT, ListEvents, PROTOCOL_VERSION};

/// How many events are read at once, whatever is asked for.
pub const MOST_EVENTS: usize = 10_000;

/// How many bytes of lines are read at once, unless a single line is longer.
pub const MOST_BYTES: usize = 16 << 20;

/// Events of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPage {
    /// Finished envelopes in the order of their numbers, each one line of JSON.
    pub lines: Vec<String>,
    /// The largest number in the whole store, at the same moment.
    pub latest_sequence: u64,
    /// Whether there is more of what was asked for: after the last of these.
    pub more: bool,
}

/// What is around an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope<'a> {
    pub(super) emitted_at: &'a str,
    pub(super) session_id: &'a str,
    pub(super) turn_id: Option<&'a str>,
    pub(super) sequence: u64,
    /// JSON.
    pub(super) event: &'a str,
}

impl Envelope<'_> {
    /// The line, as serialising [`EventEnvelope`](crate::protocol::EventEnvelope) gives it.
    pub(super) fn line(&self) -> String {
        let ids = self.session_id.len() + self.turn_id.map_or(0, str::len);
        let mut line = String::with_capacity(self.event.len() + ids + 192);
        line.push_str("{\"type\":\"");
        line.push_str(EVENT);
        line.push_str("\",\"protocolVersion\":");
        line.push_str(&PROTOCOL_VERSION.to_string());
        push_text(&mut line, ",\"emittedAt\":", self.emitted_at);
        push_text(&mut line, ",\"sessionId\":", self.session_id);
        if let Some(turn_id) = self.turn_id {
            push_text(&mut line, ",\"turnId\":", turn_id);
        }
        line.push_str(",\"sequence\":");
        line.push_str(&self.sequence.to_string());
        line.push_str(",\"event\":");
        line.push_str(self.event);
        line.push('}');
        line
    }
}

/// Appends a key and a text. Most texts need no escape: ids and times.
fn push_text(line: &mut String, key: &str, text: &str) {
    line.push_str(key);
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\') {
        line.push('"');
        line.push_str(text);
        line.push('"');
    } else {
        line.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// The events that are asked for, as many as fit into a page. `listed` limits them to the newest.
pub(super) fn page(
    connection: &Connection,
    query: &ListEvents,
    listed: Option<u64>,
) -> Result<EventPage, Fault> {
    let latest_sequence = rows::latest(connection)?;
    let hidden = listed.map_or(0, |newest| latest_sequence.saturating_sub(newest));
    let after = signed(query.after_sequence.unwrap_or(0).max(hidden));
    let most =
        query.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MOST_EVENTS).min(MOST_EVENTS);
    // One more than is wanted shows whether there is more.
    let limit = i64::try_from(most + 1).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(match query.session_id {
        Some(_) => {
            "SELECT sequence, emitted_at, session_id, turn_id, event FROM chat_event INDEXED BY chat_event_session
             WHERE session_id = ?3 AND sequence > ?1 ORDER BY sequence LIMIT ?2"
        }
        None => {
            "SELECT sequence, emitted_at, session_id, turn_id, event FROM chat_event
             WHERE sequence > ?1 ORDER BY sequence LIMIT ?2"
        }
    })?;
    let mut found = match &query.session_id {
        Some(session_id) => statement.query(params![after, limit, session_id])?,
        None => statement.query(params![after, limit])?,
    };
    let mut page = EventPage { lines: Vec::new(), latest_sequence, more: false };
    let mut bytes = 0;
    while let Some(row) = found.next()? {
        if page.lines.len() == most || (bytes >= MOST_BYTES && !page.lines.is_empty()) {
            page.more = true;
            break;
        }
        let line = line_of(row)?;
        bytes += line.len();
        page.lines.push(line);
    }
    Ok(page)
}

/// One event.
pub(super) fn line(connection: &Connection, sequence: u64) -> Result<String, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT sequence, emitted_at, session_id, turn_id, event FROM chat_event WHERE sequence = ?1",
    )?;
    let mut found = statement.query([signed(sequence)])?;
    match found.next()? {
        Some(row) => line_of(row),
        None => Err(StoreError::EventNotFound { sequence }.into()),
    }
}

fn line_of(row: &Row<'_>) -> Result<String, Fault> {
    let sequence = rows::sequence(row.get(0)?);
    let event = rows::text(row, 4, "chat_event.event")?;
    check(event).map_err(|what| Fault::Value {
        column: "chat_event.event",
        what: format!("event {sequence}: {what}"),
    })?;
    let envelope = Envelope {
        emitted_at: rows::text(row, 1, "chat_event.emitted_at")?,
        session_id: rows::text(row, 2, "chat_event.session_id")?,
        turn_id: rows::optional_text(row, 3, "chat_event.turn_id")?,
        sequence,
        event,
    };
    Ok(envelope.line())
}

/// An event is an object in one line.
fn check(event: &str) -> Result<(), String> {
    if !event.starts_with('{') {
        return Err("it is no object".to_owned());
    }
    if event.bytes().any(|byte| byte == b'\n' || byte == b'\r') {
        return Err("it has several lines".to_owned());
    }
    serde_json::from_str::<IgnoredAny>(event).map(|_| ()).map_err(|error| error.to_string())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
