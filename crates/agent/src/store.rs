//! The directory of a run: a journal that is the truth, and files that are made from it.
//!
//! `<artifact root>/<run id>/journal.jsonl` has one JSON object in each line, and a line is written before what it
//! announces happens. Nothing in it is ever rewritten, so that a turn costs the same late in a run as early. Whoever is
//! killed loses at most a line that nobody acted on.

mod artifacts;
mod census;
mod error;
mod failure;
mod files;
mod journal;
mod lock;
mod message;
mod policy;
mod recorded;
mod recorder;
mod row;
mod run_id;
mod settings;
mod subagent;
pub(crate) mod time;
pub(crate) mod usage;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fullsend_flow::{LabelId, LabelTable};
use fullsend_guard::Clock;
use serde::Serialize;
use serde_json::Value;

pub use artifacts::Artifacts;
pub(crate) use artifacts::MANIFEST;
pub(crate) use census::{Counted, count_files, read_manifest};
pub use error::{ArtifactError, StoreError};
pub use failure::{FailureKind, FailureRecord, FailureSource};
pub use journal::{Entry, JOURNAL};
pub use message::{ImageAttachment, KeptMessage, ToolResultRef};
pub use policy::{EventSeverity, PolicyDecision, PolicyEvent};
pub use recorded::{CallState, DanglingCall, KeptTurn, Recorded, Reminders, rows};
pub use recorder::Recorder;
pub use row::{CallFinished, EndStatus, Ending, Execution, Row, TerminalReason};
pub use run_id::{InvalidRunId, RunId};
pub use settings::{
    MountAccess, Provenance, RecordedGateway, RecordedLimits, RecordedManifest, RecordedMount,
    RecordedResult, RecordedRoot, RecordedSandbox, RecordedSettings, ToolAllowance, Widened, Widening,
};
pub use subagent::{SubagentRun, SubagentStatus};

use self::journal::Journal;
use self::lock::{LOCK, RunLock};
use self::recorded::Fold;
use self::recorder::lock;
use crate::report;
use crate::sources::Sources;

/// The file that says how a run stands, and that a person may name in place of its directory.
pub(crate) const RUN_STATE: &str = "run-state.json";

/// The record of a run, for the one process that runs it.
#[derive(Debug)]
pub struct RunStore {
    run_id: RunId,
    artifacts: Artifacts,
    journal: Arc<Mutex<Journal>>,
    clock: Arc<dyn Clock>,
    /// The record of the run that started this one: what it must know of files before this one acts.
    above: Option<Recorder>,
    /// How many labels are on record, with the one that is in every table.
    labels: usize,
    next_output: u64,
    cut_bytes: u64,
    _lock: RunLock,
}

impl RunStore {
    /// Begins the record of a run, where there is none yet.
    pub fn create(
        artifact_root: &Path,
        run_id: RunId,
        settings: &RecordedSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let (directory, run_dir) = make_run(artifact_root, &run_id)?;
        let lock = RunLock::take(&directory, &run_dir, &*clock)?;
        files::sweep(&directory).map_err(io_error("write", &run_dir))?;
        let names = files::names(&directory).map_err(io_error("read", &run_dir))?;
        // A directory with nothing but a lock is of somebody who died before the first row.
        if names.iter().any(|name| name != LOCK) {
            return Err(StoreError::Exists { run_id, run_dir });
        }
        let settings = Box::new(settings.clone());
        let first = Row::Started { version: journal::VERSION, run_id: run_id.clone(), settings };
        let journal = Journal::create(&directory, &run_dir, &time::now(&*clock), &first)?;
        let journal = Arc::new(Mutex::new(journal));
        let artifacts = Artifacts::new(directory, run_dir);
        let store = Self {
            run_id,
            artifacts,
            journal,
            clock,
            above: None,
            labels: 1,
            next_output: 1,
            cut_bytes: 0,
            _lock: lock,
        };
        report::render_state(&store)?;
        Ok(store)
    }

    /// Opens the record of a run to go on with it, by its directory or the `run-state.json` in it. A last row that was not
    /// written to its end is cut off; nobody acted on it.
    pub fn reopen(run: &Path, clock: Arc<dyn Clock>) -> Result<(Self, Recorded), StoreError> {
        let run_dir = run_dir_of(run)?;
        let directory = open_run(&run_dir)?;
        // Nothing is left in a directory that somebody named by mistake.
        if !files::has(&directory, JOURNAL) {
            return Err(StoreError::NoRun { path: run.to_owned() });
        }
        let lock = RunLock::take(&directory, &run_dir, &*clock)?;
        let mut fold = Fold::beside(run_dir.parent());
        let (journal, cut_bytes) = Journal::reopen(&directory, &run_dir, |entry| fold.add(entry))?;
        let Some(recorded) = fold.finish(cut_bytes) else { return Err(StoreError::NeverBegan { run_dir }) };
        sweep_all(&directory).map_err(io_error("write", &run_dir))?;
        let artifacts = Artifacts::new(directory, run_dir);
        let store = Self {
            run_id: recorded.run_id.clone(),
            journal: Arc::new(Mutex::new(journal)),
            clock,
            above: None,
            labels: recorded.labels.labels().count(),
            // After a loss of power there may be outputs whose rows are lost.
            next_output: recorded.next_output.max(artifacts.highest_output(&recorded.run_id) + 1),
            artifacts,
            cut_bytes,
            _lock: lock,
        };
        Ok((store, recorded))
    }

    /// The name of the run.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The directory of the run.
    pub fn run_dir(&self) -> &Path {
        self.artifacts.run_dir()
    }

    /// What tools need of the store while the loop writes the journal.
    pub fn artifacts(&self) -> &Artifacts {
        &self.artifacts
    }

    /// For what happens beside the loop and belongs on record.
    pub fn recorder(&self) -> Recorder {
        Recorder::new(Arc::clone(&self.journal), Arc::clone(&self.clock))
    }

    /// What is learned about files goes to another record first: a run that is killed together with those it started is all
    /// that is gone on with, and must know what they did to its files.
    #[must_use]
    pub fn reporting_to(self, above: Recorder) -> Self {
        Self { above: Some(above), ..self }
    }

    /// Puts on record what is new about files.
    pub(crate) fn keep_sources(&self, sources: &Sources) -> Result<(), StoreError> {
        if let Some(above) = &self.above {
            above.keep_sources(sources)?;
        }
        self.recorder().keep_sources(sources)
    }

    /// The clock that rows are dated by.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// The moment, as records write it.
    pub fn now(&self) -> String {
        time::now(&*self.clock)
    }

    /// A number for the output of a call, used for nothing else: `<run>:<tool>:<sequence>`.
    pub fn next_output_id(&mut self, tool: &str) -> String {
        let id = format!("{}:{tool}:{}", self.run_id, self.next_output);
        self.next_output += 1;
        id
    }

    /// Puts the labels on record that are not yet. Needed before a message with a new one.
    pub fn record_labels(&mut self, table: &LabelTable) -> Result<(), StoreError> {
        for (id, label) in table.labels_after(self.labels) {
            self.append(&Row::Label { id, label: label.clone() })?;
        }
        Ok(())
    }

    /// Writes a row and returns its number. When this fails, what the row announces must not happen.
    pub fn append(&mut self, row: &Row) -> Result<u64, StoreError> {
        // A row that refers to nothing could not be read back.
        if let Row::Message { label, .. } | Row::Hidden { label, .. } = row
            && usize::try_from(label.number()).is_ok_and(|number| number >= self.labels)
        {
            return Err(StoreError::UnknownLabel(*label));
        }
        let seq = lock(&self.journal).append(&time::now(&*self.clock), row)?;
        if matches!(row, Row::Label { .. }) {
            self.labels += 1;
        }
        Ok(seq)
    }

    /// Goes on with a run that was opened again, with what it may do from here on: see [`RecordedSettings::narrows`]. Makes
    /// the files that a process that was killed did not make.
    pub fn resume(&mut self, settings: &RecordedSettings) -> Result<(), StoreError> {
        let row = Row::Resumed { settings: Box::new(settings.clone()), cut_bytes: self.cut_bytes };
        self.append(&row)?;
        report::render(self)
    }

    /// Ends the run, and makes every file that is made from the journal. From here on it can only be resumed.
    pub fn end(&mut self, ending: &Ending) -> Result<(), StoreError> {
        self.append(&Row::Ended(ending.clone()))?;
        lock(&self.journal).sync()?;
        report::render(self)
    }

    /// Writes down a message, and gives it back: it may be long, and is not copied.
    pub fn append_message(
        &mut self,
        turn: u64,
        label: LabelId,
        message: KeptMessage,
    ) -> Result<KeptMessage, StoreError> {
        let row = Row::Message { turn, label, message };
        self.append(&row)?;
        // It is the row from above.
        let Row::Message { message, .. } = row else { return Err(StoreError::UnknownLabel(label)) };
        Ok(message)
    }

    /// Every row so far, in order.
    pub fn entries(&self) -> Result<Vec<Entry>, StoreError> {
        let path = self.run_dir().join(JOURNAL);
        let file = journal::open_to_read(self.artifacts.directory(), &path)?;
        let mut entries = Vec::new();
        journal::read(&file, &path, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok(entries)
    }

    /// See [`Artifacts::write_output`].
    pub fn write_output(
        &self,
        output_id: &str,
        tool: &str,
        record: &Value,
    ) -> Result<PathBuf, ArtifactError> {
        self.artifacts.write_output(output_id, tool, record)
    }

    /// See [`Artifacts::spill`].
    pub fn spill(&self, output_id: &str, stream: &str) -> io::Result<(PathBuf, File)> {
        self.artifacts.spill(output_id, stream)
    }

    /// See [`Artifacts::keep_image`].
    pub fn keep_image(&self, bytes: &[u8], media_type: &str) -> Result<PathBuf, ArtifactError> {
        self.artifacts.keep_image(bytes, media_type)
    }

    /// See [`Artifacts::write_artifact`].
    pub fn write_artifact(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, ArtifactError> {
        self.artifacts.write_artifact(name, value)
    }
}

/// Makes the directory of a run. Where it lies is for the operator to choose, also through links; it itself is no link.
fn make_run(artifact_root: &Path, run_id: &RunId) -> Result<(OwnedFd, PathBuf), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(artifact_root)
        .map_err(io_error("create", artifact_root))?;
    let root = artifact_root.canonicalize().map_err(io_error("read", artifact_root))?;
    let run_dir = root.join(run_id.as_str());
    match DirBuilder::new().mode(0o700).create(&run_dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(StoreError::Io { action: "create", path: run_dir, source: error });
        }
        Ok(()) | Err(_) => {}
    }
    let directory = open_run(&run_dir)?;
    Ok((directory, run_dir))
}

/// The directory of a run that is named by it, or by its state.
fn run_dir_of(run: &Path) -> Result<PathBuf, StoreError> {
    let named = if run.file_name().is_some_and(|name| name == RUN_STATE) {
        run.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    } else {
        run
    };
    let no_run = |_| StoreError::NoRun { path: run.to_owned() };
    let metadata = named.symlink_metadata().map_err(no_run)?;
    if metadata.is_symlink() {
        return Err(StoreError::NotPlain { path: named.to_owned(), expected: "a directory" });
    }
    named.canonicalize().map_err(no_run)
}

fn open_run(run_dir: &Path) -> Result<OwnedFd, StoreError> {
    files::open_dir(run_dir).map_err(|source| {
        let path = run_dir.to_owned();
        if source.kind() == io::ErrorKind::NotADirectory || journal::is_link(&source) {
            StoreError::NotPlain { path, expected: "a directory" }
        } else {
            StoreError::Io { action: "read", path, source }
        }
    })
}

/// Removes what a process that died left unfinished, here and where outputs and pictures are.
fn sweep_all(directory: &OwnedFd) -> io::Result<()> {
    files::sweep(directory)?;
    for name in [artifacts::OUTPUTS, artifacts::IMAGES] {
        if files::has(directory, name) {
            files::sweep(files::subdir(directory, name)?)?;
        }
    }
    Ok(())
}

fn io_error<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io { action, path: path.to_owned(), source }
}
