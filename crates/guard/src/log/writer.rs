//! The one writer of a log file.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use super::entry::{Chained, Entry, SEED};
use super::error::Fault;
use super::verify::{Chain, Verdict};

/// A log file that nobody else may write, and the end of its chain.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
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
        Ok(Self { file, head: SEED.to_owned(), entries: 0, bytes: 0, sealed: false })
    }

    /// Continues a log; also says how many bytes of an unfinished line were cut off.
    pub(super) fn open(path: &Path) -> Result<(Self, u64), Fault> {
        let mut file = options().open(path)?;
        if !file.metadata()?.is_file() {
            return Err(Fault::Io(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        lock(&file)?;
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
        Ok((Self { file, head, entries, bytes, sealed: false }, length - bytes))
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
        let found = self.file.metadata()?.len();
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

fn lock(file: &File) -> Result<(), Fault> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Fault::InUse),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// How many bytes of a file of `length` bytes are whole lines. Looks from the end, as far as a line can be long.
fn finished(file: &mut File, length: u64) -> io::Result<u64> {
    let start = length.saturating_sub(super::verify::LONGEST_LINE);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    Read::take(&mut *file, length - start).read_to_end(&mut tail)?;
    let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(start + u64::try_from(whole).unwrap_or_default())
}
