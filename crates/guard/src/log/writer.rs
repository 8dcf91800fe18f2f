//! The one writer of a log file.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::entry::{Chained, Entry, SEED};
use super::error::Fault;
use super::verify::{Chain, LONGEST_LINE, Verdict, last_line};

/// A log file that nobody else may write, and the end of its chain.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    path: PathBuf,
    head: String,
    entries: u64,
    bytes: u64,
    sealed: bool,
}

impl Writer {
    /// Starts a log where nothing is yet.
    pub(super) fn create(path: &Path) -> Result<Self, Fault> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let file = options().create_new(true).mode(0o600).open(path)?;
        lock(&file)?;
        if file.metadata()?.len() > 0 {
            // Another process was faster between the two lines above, and is done.
            return Err(Fault::Io(io::ErrorKind::AlreadyExists.into()));
        }
        Ok(Self { file, path: path.to_owned(), head: SEED.to_owned(), entries: 0, bytes: 0, sealed: false })
    }

    /// Adds to a log after looking at its last line only; none when that line has no end.
    pub(super) fn join(path: &Path) -> Result<Option<Self>, Fault> {
        let mut file = existing(path)?;
        let bytes = file.metadata()?.len();
        let tail = tail(&mut file, bytes)?;
        let (mut head, mut entries) = (SEED.to_owned(), 0);
        if bytes > 0 {
            let Some(lines) = tail.strip_suffix(b"\n") else { return Ok(None) };
            let start = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let line = tail.get(start..).unwrap_or_default();
            let is_only = u64::try_from(line.len()) == Ok(bytes);
            let chained = last_line(line, is_only).map_err(Fault::Broken)?;
            if chained.entry.is_seal() {
                return Err(Fault::Sealed);
            }
            (head, entries) = (chained.hash, chained.seq.saturating_add(1));
        }
        Ok(Some(Self { file, path: path.to_owned(), head, entries, bytes, sealed: false }))
    }

    /// Continues a log; also says how many bytes of an unfinished line were cut off.
    pub(super) fn open(path: &Path) -> Result<(Self, u64), Fault> {
        let mut file = existing(path)?;
        let length = file.metadata()?.len();
        let bytes = finished(&mut file, length)?;
        file.seek(SeekFrom::Start(0))?;
        let mut chain = Chain::default();
        chain.read(&mut BufReader::new((&file).take(bytes)))?;
        let (entries, head) = match chain.verdict(None) {
            Verdict::Unsealed { entries, head } => (entries, head),
            Verdict::Sealed { .. } => return Err(Fault::Sealed),
            Verdict::Broken(broken) => return Err(Fault::Broken(broken)),
        };
        if bytes < length {
            file.set_len(bytes)?;
        }
        Ok((Self { file, path: path.to_owned(), head, entries, bytes, sealed: false }, length - bytes))
    }

    pub(super) fn head(&self) -> &str {
        &self.head
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes all of `entries` in one go, or none.
    pub(super) fn append(&mut self, entries: impl IntoIterator<Item = Entry>) -> Result<(), Fault> {
        if self.sealed {
            return Err(Fault::Sealed);
        }
        let (mut lines, mut head, mut seq) = (String::new(), self.head.clone(), self.entries);
        for entry in entries {
            let chained = Chained::new(seq, entry, head);
            lines.push_str(&chained.line());
            (head, seq) = (chained.hash, seq + 1);
        }
        self.write(lines.as_bytes())?;
        (self.head, self.entries) = (head, seq);
        Ok(())
    }

    /// Writes the last entry, and returns its hash once the file is on disk.
    pub(super) fn seal(&mut self, entry: Entry) -> Result<String, Fault> {
        self.append([entry])?;
        self.sealed = true;
        self.file.sync_all()?;
        Ok(self.head.clone())
    }

    /// The file must be as it was left: whatever else wrote to it, nothing is chained to that.
    fn write(&mut self, lines: &[u8]) -> Result<(), Fault> {
        let metadata = self.file.metadata()?;
        let found = metadata.len();
        if !is_at(&metadata, &self.path) {
            return Err(Fault::Gone);
        }
        if found != self.bytes {
            return Err(Fault::Changed { expected: self.bytes, found });
        }
        if let Err(error) = self.file.write_all(lines) {
            // A part of a line would make all that follows unreadable. If it cannot be taken back, the next append
            // finds a file that is too long and refuses.
            let _seen_by_the_next_append = self.file.set_len(self.bytes);
            return Err(error.into());
        }
        self.bytes += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        Ok(())
    }
}

/// Appends only, and not through a link: a link could lead into another file that happens to be writable.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    options.read(true).append(true).custom_flags(flags);
    options
}

/// Opens and locks a log that is there.
fn existing(path: &Path) -> Result<File, Fault> {
    let file = options().open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Fault::Io(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    lock(&file)?;
    Ok(file)
}

/// Whether the file is still the one at `path`. What is written to one that is not there any more is read by nobody.
fn is_at(metadata: &Metadata, path: &Path) -> bool {
    let same = |found: Metadata| (found.dev(), found.ino()) == (metadata.dev(), metadata.ino());
    std::fs::symlink_metadata(path).is_ok_and(same)
}

fn lock(file: &File) -> Result<(), Fault> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Fault::InUse),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// How many bytes of a file of `length` bytes are whole lines. Looks from the end, as far as a line can be long.
fn finished(file: &mut File, length: u64) -> io::Result<u64> {
    let start = length.saturating_sub(LONGEST_LINE);
    let tail = from(file, start, length)?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(start + u64::try_from(whole).unwrap_or_default())
}

/// The end of a file of `length` bytes, with at least its last line: little where lines are short.
fn tail(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
    let mut size = SHORT_TAIL;
    loop {
        let start = length.saturating_sub(size);
        let tail = from(file, start, length)?;
        let ends = tail.iter().filter(|byte| **byte == b'\n').take(2).count();
        if ends > 1 || start == 0 || size > LONGEST_LINE {
            return Ok(tail);
        }
        size *= 8;
    }
}

/// What is first read of the end of a log; most lines are shorter.
const SHORT_TAIL: u64 = 4096;

fn from(file: &mut File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    Read::take(&mut *file, end.saturating_sub(start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
