//! The log of findings: one line of JSON for each, chained by hashes so that every change shows.
//!
//! Only the host writes it, into a directory that no sandbox sees. Each line carries the hash of the line before it and its
//! own, which covers all of its members; [`verify`] renders every line again and compares bytes. What a chain alone cannot
//! show is that its end is missing, so a finished log ends with an entry that says so, and the last hash can be kept
//! elsewhere, such as in the report of the run: who can write the file can also write another file that is whole, but not
//! one with the same last hash.
//!
//! Writers hold an exclusive lock on the file, and threads share a [`FindingsLog`] by cloning it. Processes that live for one
//! tool call each take the lock in turn with [`FindingsLog::join`].

mod entry;
mod error;
mod rules;
mod trace;
mod verify;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use entry::{Chained, Entry, Phase, SEED};
pub use error::LogError;
pub use rules::{ALL as RULES, CHANNEL_FLOOD, CHANNEL_MISUSE, DECISION_FAILED, LOG_REOPENED, LOG_SEALED};
pub use trace::{NotATraceId, TraceId, is_shell_safe, is_v4};
pub use verify::{Broken, Problem, Verdict, verify, verify_bytes};

use self::error::Fault;
use self::writer::Writer;
use crate::clock::Clock;
use crate::finding::Finding;
use crate::hook::{Action, Recorded};
use crate::visible::visible;

/// The longest name of a tool or file in an entry, in characters.
const LONGEST_NAME: usize = 1000;

/// Where in a run, and in what, something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// When in the run.
    pub phase: Phase,
    /// The tool whose call or output was looked at.
    pub tool: Option<&'a str>,
    /// The file that was looked at.
    pub path: Option<&'a str>,
}

impl From<Phase> for Place<'_> {
    fn from(phase: Phase) -> Self {
        Self { phase, tool: None, path: None }
    }
}

/// The log of one run, open for writing. Clones write to the same file.
///
/// Dropping it leaves the log without its last entry, as a crash would: only [`FindingsLog::seal`] says that nothing is
/// missing.
#[derive(Clone, Debug)]
pub struct FindingsLog {
    path: PathBuf,
    trace_id: TraceId,
    clock: Arc<dyn Clock>,
    writer: Arc<Mutex<Writer>>,
}

impl FindingsLog {
    /// Starts a log at `path`, where nothing may be yet. Its directory is made if it is missing, for the owner only.
    pub fn create(path: &Path, trace_id: TraceId, clock: Arc<dyn Clock>) -> Result<Self, LogError> {
        let writer = Writer::create(path).map_err(|fault| fault.at(path))?;
        Ok(Self::new(path, trace_id, clock, writer))
    }

    /// Continues the log of a run that was interrupted.
    ///
    /// What is there must be whole. A last line that a dying writer did not finish is cut off; the entry that this call adds
    /// says how long it was. Nobody acted on that entry, since a writer acts only on what it has written.
    pub fn open_existing(path: &Path, trace_id: TraceId, clock: Arc<dyn Clock>) -> Result<Self, LogError> {
        let (writer, unfinished) = Writer::open(path).map_err(|fault| fault.at(path))?;
        let log = Self::new(path, trace_id, clock, writer);
        let detail = match unfinished {
            0 => "opened again".to_owned(),
            bytes => format!("opened again; {bytes} bytes of an unfinished line were cut off"),
        };
        let reopened = Finding::new(&LOG_REOPENED, None, detail);
        log.append(Phase::FindingsLog, &Recorded { finding: reopened, action: Action::Warn })?;
        Ok(log)
    }

    /// Adds to the log at `path`, or starts it: for processes that live for a few entries and write one log in turn.
    ///
    /// Only the last line is looked at, so that this takes as long for a long log as for a short one; it must be an entry as
    /// it was written. A change further up is found by [`verify`], and by [`FindingsLog::open_existing`]. Nothing is added
    /// but what is appended, unless a writer died in the middle of a line: then this is what `open_existing` does.
    pub fn join(path: &Path, trace_id: TraceId, clock: Arc<dyn Clock>) -> Result<Self, LogError> {
        match Writer::create(path) {
            Err(Fault::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => {
                let writer = created.map_err(|fault| fault.at(path))?;
                return Ok(Self::new(path, trace_id, clock, writer));
            }
        }
        match Writer::join(path).map_err(|fault| fault.at(path))? {
            Some(writer) => Ok(Self::new(path, trace_id, clock, writer)),
            None => Self::open_existing(path, trace_id, clock),
        }
    }

    fn new(path: &Path, trace_id: TraceId, clock: Arc<dyn Clock>, writer: Writer) -> Self {
        Self { path: path.to_owned(), trace_id, clock, writer: Arc::new(Mutex::new(writer)) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run it belongs to.
    pub fn trace_id(&self) -> &TraceId {
        &self.trace_id
    }

    /// The hash of the last entry, to be kept where the log is not; [`SEED`] when there is none.
    pub fn head(&self) -> String {
        self.lock().head().to_owned()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes()
    }

    /// Writes one entry.
    pub fn append<'a>(&self, place: impl Into<Place<'a>>, recorded: &Recorded) -> Result<(), LogError> {
        self.append_all(place, std::slice::from_ref(recorded))
    }

    /// Writes one entry for each, all of them or none, with nothing in between.
    ///
    /// Who acts on a finding writes it first: when this fails, what was to be let through is not.
    pub fn append_all<'a>(&self, place: impl Into<Place<'a>>, recorded: &[Recorded]) -> Result<(), LogError> {
        if recorded.iter().any(|recorded| recorded.finding.rule == &LOG_SEALED) {
            return Err(LogError::NotAFinding { path: self.path.clone() });
        }
        let place = place.into();
        let entries = recorded.iter().map(|recorded| self.entry(place, recorded));
        self.lock().append(entries).map_err(|fault| fault.at(&self.path))
    }

    /// Writes the last entry, and returns its hash. Whatever is appended later is refused.
    pub fn seal(&self) -> Result<String, LogError> {
        let mut writer = self.lock();
        let finding = Finding::new(&LOG_SEALED, None, seal_detail(writer.entries()));
        let entry = self.entry(Phase::FindingsLog.into(), &Recorded { finding, action: Action::Warn });
        writer.seal(entry).map_err(|fault| fault.at(&self.path))
    }

    fn entry(&self, place: Place<'_>, recorded: &Recorded) -> Entry {
        let finding = &recorded.finding;
        let position = finding.span.map(|span| i64::try_from(span.start).unwrap_or(i64::MAX));
        Entry {
            trace_id: self.trace_id.as_str().to_owned(),
            timestamp: self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            phase: place.phase,
            scanner: finding.rule.scanner.as_str().to_owned(),
            rule: finding.rule.id.to_owned(),
            severity: finding.severity,
            detail: finding.detail().to_owned(),
            position: position.unwrap_or(-1),
            action: Some(recorded.action),
            tool: place.tool.map(short),
            path: place.path.map(short),
        }
    }

    /// A thread that panicked while it held the lock left the writer as it was before its entry.
    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the last entry of a log with `entries` others says.
fn seal_detail(entries: u64) -> String {
    format!("{entries} entries before this one")
}

/// A name in printable characters, not too many of them: names come from repositories and models.
fn short(name: &str) -> String {
    let cut = name.char_indices().nth(LONGEST_NAME).and_then(|(at, _)| name.get(..at));
    cut.map_or_else(|| visible(name).into_owned(), |kept| format!("{}…", visible(kept)))
}
