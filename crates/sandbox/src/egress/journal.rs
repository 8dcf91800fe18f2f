//! The record of decisions: one JSON line each, and the denials that a result tells about.
//!
//! A decision that cannot be written down is not made: without a record everything is refused.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::refusal::{Kind, Refusal};
use super::target::quote;
use crate::error::SandboxError;
use crate::spec::{Denial, Denied};

/// How many different denials are kept between two calls of [`Journal::take_denials`].
const MAX_DENIALS: usize = 256;
/// The largest log. A session can ask for things as fast as it likes, and must not fill the host's disk with it.
const MAX_LOG: u64 = 256 * 1024 * 1024;
/// How much of a path is written down.
const MAX_PATH: usize = 2048;

/// What was asked, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// How it came in: `connect`, `http`, `socks`, `dns`, `transparent`, `endpoint:<name>`.
    pub(super) entrance: String,
    /// Ties the lines of one connection together.
    pub(super) connection: u64,
    /// The name or address that was asked for.
    pub(super) host: String,
    /// The port; 0 where only a name was asked for.
    pub(super) port: u16,
    /// The method of a request that could be read.
    pub(super) method: Option<String>,
    /// Its path without the query, which may carry secrets.
    pub(super) path: Option<String>,
}

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    session: &'a str,
    command: Option<&'a str>,
    event: &'a str,
    entrance: &'a str,
    connection: u64,
    host: &'a str,
    port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_up: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_down: Option<u64>,
}

/// Writes decisions down and remembers denials.
#[derive(Debug)]
pub(super) struct Journal {
    session: String,
    writer: Option<Mutex<Writer>>,
    command: Mutex<Option<String>>,
    denials: Mutex<Vec<Denial>>,
}

#[derive(Debug)]
struct Writer {
    file: File,
    /// Whether the last line was cut off, as by a full disk; the next one then starts on a line of its own.
    broken: bool,
    /// How many bytes the log may still grow.
    left: u64,
}

impl Journal {
    /// Opens the log for appending; it is readable by its owner only.
    pub(super) fn open(session: String, path: Option<&Path>) -> Result<Self, SandboxError> {
        let writer = path.map(Writer::open).transpose()?.map(Mutex::new);
        Ok(Self { session, writer, command: Mutex::default(), denials: Mutex::default() })
    }

    /// The command that runs from now on.
    pub(super) fn attribute(&self, command: Option<String>) {
        *locked(&self.command) = command;
    }

    /// Writes down that something is allowed; it is refused if that fails.
    pub(super) fn allow(&self, asked: &Asked, address: Option<String>) -> Result<(), Refusal> {
        let line =
            Event { name: "decision", decision: Some("allow"), reason: "allowed", address, traffic: None };
        self.write(asked, line).map_err(|error| {
            let sentence =
                format!("the egress log cannot be written ({error}), and nothing passes unrecorded");
            Refusal::policy("log-unwritable", sentence, None)
        })
    }

    /// Writes down a refusal, and remembers it for the command's result if it is known what was asked for.
    pub(super) fn deny(&self, asked: &Asked, refusal: &Refusal) {
        let (name, decision) = match refusal.kind {
            Kind::Policy | Kind::Request => ("decision", Some("deny")),
            Kind::Upstream => ("failure", None),
        };
        let event = Event { name, decision, reason: refusal.code, address: None, traffic: None };
        // What was refused stays refused whether or not it can be written down.
        let _ = self.write(asked, event);
        if refusal.kind != Kind::Upstream && !asked.host.is_empty() {
            self.remember(asked, refusal);
        }
    }

    /// Writes down the end of something that was allowed.
    pub(super) fn close(&self, asked: &Asked, reason: &str, (up, down): (u64, u64)) {
        let event = Event { name: "close", decision: None, reason, address: None, traffic: Some((up, down)) };
        // The connection is over; the next decision finds out about the log.
        let _ = self.write(asked, event);
    }

    /// What was refused since the last call.
    pub(super) fn take_denials(&self) -> Vec<Denial> {
        std::mem::take(&mut *locked(&self.denials))
    }

    fn remember(&self, asked: &Asked, refusal: &Refusal) {
        let what = Denied::Host { host: asked.host.clone(), port: asked.port };
        let mut denials = locked(&self.denials);
        let same = |denial: &&mut Denial| denial.what == what && denial.reason == refusal.sentence;
        if let Some(known) = denials.iter_mut().find(same) {
            known.count += 1;
        } else if denials.len() < MAX_DENIALS {
            let (reason, remedy) = (refusal.sentence.clone(), refusal.remedy.clone());
            denials.push(Denial { what, reason, remedy, count: 1 });
        }
    }

    fn write(&self, asked: &Asked, event: Event<'_>) -> io::Result<()> {
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        let command = locked(&self.command).clone();
        let line = Line {
            time: jiff::Timestamp::now().to_string(),
            session: &self.session,
            command: command.as_deref(),
            event: event.name,
            entrance: &asked.entrance,
            connection: asked.connection,
            host: &asked.host,
            port: asked.port,
            address: event.address,
            decision: event.decision,
            reason: event.reason,
            method: asked.method.as_deref(),
            path: asked.path.as_deref().map(|path| quote(path, MAX_PATH)),
            bytes_up: event.traffic.map(|(up, _)| up),
            bytes_down: event.traffic.map(|(_, down)| down),
        };
        locked(writer).append(&serde_json::to_vec(&line)?)
    }
}

/// What differs between the kinds of lines.
struct Event<'a> {
    name: &'a str,
    decision: Option<&'a str>,
    reason: &'a str,
    address: Option<String>,
    traffic: Option<(u64, u64)>,
}

impl Writer {
    fn open(path: &Path) -> Result<Self, SandboxError> {
        let failed = || SandboxError::io(format!("cannot open the egress log {}", path.display()));
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(failed())?;
        let size = file.metadata().map_err(failed())?.len();
        Ok(Self { file, broken: false, left: MAX_LOG.saturating_sub(size) })
    }

    /// One write per line, so that lines are whole whoever else appends.
    fn append(&mut self, json: &[u8]) -> io::Result<()> {
        let start: &[u8] = if self.broken { b"\n" } else { b"" };
        let line = [start, json, b"\n"].concat();
        let Some(left) = self.left.checked_sub(line.len() as u64) else {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has reached 256 MiB"));
        };
        let written = self.file.write(&line);
        self.left = left;
        self.broken = match &written {
            Ok(count) => *count < line.len() && (*count > 0 || self.broken),
            Err(_) => self.broken,
        };
        match written? {
            count if count == line.len() => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::StorageFull, "the line was cut off")),
        }
    }
}

/// What a lock holds here is whole after every statement, so a panic elsewhere does not spoil it.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
