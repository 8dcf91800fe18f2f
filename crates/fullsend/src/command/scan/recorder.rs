//! Writes what a scan found into the log of a run.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fullsend_guard::hook::{Action, Recorded};
use fullsend_guard::log::{LogError, Phase, Place};
use fullsend_guard::{FindingsLog, ScannerId, SystemClock, TraceId};

use crate::output::Advice;
use crate::output::findings::{Report, State};

/// How long another writer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_millis(20);

/// An open log, and the phase of the run that a scan belongs to.
pub(super) struct Recorder {
    log: FindingsLog,
    phase: Phase,
}

impl Recorder {
    /// Opens the log before anything is looked at: what cannot be recorded is not fixed either.
    pub(super) fn open(path: &Path, trace_id: Option<TraceId>, phase: Phase) -> Result<Self> {
        let trace_id = trace_id.unwrap_or_else(TraceId::generate);
        let give_up = Instant::now() + PATIENCE;
        let opened = loop {
            match open(path, &trace_id) {
                Err(LogError::InUse { .. }) if Instant::now() < give_up => std::thread::sleep(PAUSE),
                opened => break opened,
            }
        };
        let log = opened.with_context(|| {
            let message = format!("cannot record findings in `{}`", path.display());
            Advice::new(message, "name a findings log that has no end yet, or a file that does not exist")
        })?;
        Ok(Self { log, phase })
    }

    /// Appends all findings of a report, file by file.
    pub(super) fn record(&self, report: &Report) -> Result<()> {
        for (name, findings) in report.by_source() {
            let recorded: Vec<Recorded> = findings
                .map(|(finding, state)| Recorded {
                    finding: finding.clone(),
                    action: action(finding.rule.scanner, state),
                })
                .collect();
            let place = Place { phase: self.phase, tool: None, path: Some(&name) };
            self.log.append_all(place, &recorded)?;
        }
        Ok(())
    }
}

fn open(path: &Path, trace_id: &TraceId) -> Result<FindingsLog, LogError> {
    let clock = Arc::new(SystemClock);
    match FindingsLog::create(path, trace_id.clone(), clock.clone()) {
        Err(LogError::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
            FindingsLog::open_existing(path, trace_id.clone(), clock)
        }
        created => created,
    }
}

fn action(scanner: ScannerId, state: State) -> Action {
    match state {
        State::Fixed if scanner == ScannerId::UnicodeNormalizer => Action::Sanitize,
        State::Fixed => Action::Redact,
        State::Blocks => Action::Block,
        State::Reported => Action::Warn,
    }
}
