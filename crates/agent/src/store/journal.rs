//! The file of rows: appended to, never rewritten.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, Write as _};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::files::{self, Existing};
use super::row::Row;

/// The name of the file with the journal of a run, in its directory.
pub const JOURNAL: &str = "journal.jsonl";
/// The version of its form.
pub(super) const VERSION: u32 = 1;

/// A row as it stands in the file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Entry {
    /// Its number, from one, without a gap.
    pub seq: u64,
    /// When it was written: UTC with milliseconds.
    pub at: String,
    /// What happened.
    #[serde(flatten)]
    pub row: Row,
}

#[derive(Serialize)]
struct Written<'a> {
    seq: u64,
    at: &'a str,
    #[serde(flatten)]
    row: &'a Row,
}

/// A journal that only this process writes.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// The number of the last row.
    rows: u64,
    /// How long the file is.
    bytes: u64,
    /// How much of what this process has learned about files is in it.
    pub(super) facts: usize,
    /// Whether the file ends in the middle of a row.
    broken: bool,
    /// Where rows are put together; kept, so that a turn allocates nothing here.
    line: Vec<u8>,
}

impl Journal {
    /// Starts a journal with its first row. Whoever sees the file sees the row.
    pub(super) fn create(
        directory: impl AsFd,
        run_dir: &Path,
        at: &str,
        first: &Row,
    ) -> Result<Self, StoreError> {
        let path = run_dir.join(JOURNAL);
        let mut line = Vec::new();
        render(&mut line, 1, at, first)?;
        files::write_whole(directory.as_fd(), JOURNAL, Existing::Keep, |writer| {
            writer.write_all(&line)?;
            writer.flush()?;
            writer.get_ref().sync_all()
        })
        .map_err(|error| failed("create", &path, error))?;
        let file = open(directory, &path)?;
        let bytes = length(&line);
        Ok(Self { file, path, rows: 1, bytes, facts: 0, broken: false, line })
    }

    /// Opens a journal, reads its rows one by one, and cuts off a last one that is not whole.
    pub(super) fn reopen(
        directory: impl AsFd,
        run_dir: &Path,
        each: impl FnMut(Entry) -> Result<(), String>,
    ) -> Result<(Self, u64), StoreError> {
        let path = run_dir.join(JOURNAL);
        let file = open(directory, &path)?;
        let Read { rows, bytes, torn } = read(&file, &path, each)?;
        if rows == 0 {
            return Err(StoreError::NeverBegan { run_dir: run_dir.to_owned() });
        }
        if torn > 0 {
            file.set_len(bytes).map_err(|error| failed("write", &path, error))?;
        }
        Ok((Self { file, path, rows, bytes, facts: 0, broken: false, line: Vec::new() }, torn))
    }

    /// Writes a row, and returns its number.
    pub(super) fn append(&mut self, at: &str, row: &Row) -> Result<u64, StoreError> {
        if self.broken {
            return Err(StoreError::Broken { path: self.path.clone() });
        }
        let seq = self.rows + 1;
        self.line.clear();
        render(&mut self.line, seq, at, row)?;
        // A whole line is handed over at once. Only a disk that is full takes a part of it.
        if let Err(error) = self.file.write_all(&self.line) {
            self.broken = self.file.set_len(self.bytes).is_err();
            return Err(failed("write", &self.path, error));
        }
        self.bytes += length(&self.line);
        self.rows = seq;
        // One huge row does not keep its memory for the rest of the run.
        self.line.shrink_to(64 * 1024);
        Ok(seq)
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|error| failed("write", &self.path, error))
    }
}

/// What a journal has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// Whole rows.
    pub(super) rows: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// The bytes of a last row that is not whole.
    pub(super) torn: u64,
}

/// Reads the rows of a journal, one by one, whoever writes it. `each` says what is wrong with a row in its place.
pub(super) fn read(
    mut file: &File,
    path: &Path,
    mut each: impl FnMut(Entry) -> Result<(), String>,
) -> Result<Read, StoreError> {
    let io = |error| failed("read", path, error);
    file.rewind().map_err(io)?;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let (mut read, mut line) = (Read { rows: 0, bytes: 0, torn: 0 }, Vec::new());
    loop {
        line.clear();
        let taken = reader.read_until(b'\n', &mut line).map_err(io)?;
        if line.pop_if(|last| *last == b'\n').is_none() {
            read.torn = u64::try_from(taken).unwrap_or(u64::MAX);
            return Ok(read);
        }
        let number = read.rows + 1;
        let damaged = |problem| StoreError::Damaged { path: path.to_owned(), line: number, problem };
        let entry = parse(&line, path, number)?;
        if entry.seq != number {
            return Err(damaged(format!("it says that it is row {}", entry.seq)));
        }
        each(entry).map_err(damaged)?;
        read.rows = number;
        read.bytes += u64::try_from(taken).unwrap_or(u64::MAX);
    }
}

/// What every version of a row has.
#[derive(Deserialize)]
struct Head {
    kind: String,
    #[serde(default)]
    version: Option<u32>,
}

/// The kinds of rows that are known.
const KINDS: [&str; 23] = [
    "started",
    "resumed",
    "label",
    "message",
    "opened",
    "model_attempt",
    "usage",
    "call_started",
    "hidden",
    "inspected",
    "call_finished",
    "decision",
    "policy_event",
    "failure",
    "cwd",
    "skill_activated",
    "skill_read",
    "skill_executed",
    "subagent",
    "policy_snapshot",
    "provenance",
    "invocation_context",
    "ended",
];

fn parse(line: &[u8], path: &Path, number: u64) -> Result<Entry, StoreError> {
    let newer = |what| StoreError::Newer { path: path.to_owned(), line: number, what };
    let error = match serde_json::from_slice::<Entry>(line) {
        Ok(Entry { row: Row::Started { version, .. }, .. }) if version != VERSION => {
            return Err(newer(format!("version {version}")));
        }
        Ok(entry) => return Ok(entry),
        Err(error) => error,
    };
    // Only a row that cannot be read is looked at twice, to say whether it is broken or of another time.
    match serde_json::from_slice::<Head>(line) {
        Ok(Head { version: Some(version), kind }) if kind == "started" && version != VERSION => {
            Err(newer(format!("version {version}")))
        }
        Ok(Head { kind, .. }) if !KINDS.contains(&kind.as_str()) => {
            Err(newer(format!("a row of the kind `{}`", kind.escape_debug().take(60).collect::<String>())))
        }
        Ok(_) | Err(_) => {
            let problem = error.to_string();
            Err(StoreError::Damaged { path: path.to_owned(), line: number, problem })
        }
    }
}

fn render(line: &mut Vec<u8>, seq: u64, at: &str, row: &Row) -> Result<(), StoreError> {
    let unwritable = |source| StoreError::Unwritable { what: "a row".to_owned(), source };
    serde_json::to_writer(&mut *line, &Written { seq, at, row }).map_err(unwritable)?;
    line.push(b'\n');
    Ok(())
}

fn open(directory: impl AsFd, path: &Path) -> Result<File, StoreError> {
    files::open_file(directory, JOURNAL, OFlags::RDWR | OFlags::APPEND)
        .map_err(|error| failed("read", path, error))
}

/// Opens a journal to look at it.
pub(super) fn open_to_read(directory: impl AsFd, path: &Path) -> Result<File, StoreError> {
    files::open_file(directory, JOURNAL, OFlags::RDONLY).map_err(|error| failed("read", path, error))
}

fn length(line: &[u8]) -> u64 {
    u64::try_from(line.len()).unwrap_or(u64::MAX)
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    use io::ErrorKind::{FileTooLarge, InvalidInput, NotFound, QuotaExceeded, StorageFull};
    let (kind, path) = (source.kind(), path.to_owned());
    if [StorageFull, QuotaExceeded, FileTooLarge].contains(&kind) {
        StoreError::Full { path, source }
    } else if kind == NotFound && action == "read" {
        StoreError::NoRun { path: path.parent().unwrap_or(&path).to_owned() }
    } else if kind == InvalidInput || is_link(&source) {
        StoreError::NotPlain { path, expected: "a file" }
    } else {
        StoreError::Io { action, path, source }
    }
}

/// What the system says of a link that is not to be followed.
pub(super) fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}
