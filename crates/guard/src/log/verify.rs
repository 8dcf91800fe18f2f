//! Looks for changes in a log.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use super::entry::{Chained, SEED};
use super::error::LogError;

/// The longest line that is read. Entries are far shorter; what is longer was not written by us, and must not fill memory.
pub(super) const LONGEST_LINE: u64 = 1 << 20;

/// What is known about a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Every entry is as it was written, and none is missing.
    Sealed {
        /// How many entries are before the last one, which only closes the log.
        entries: u64,
        /// The hash of the last one.
        head: String,
    },
    /// Every entry that is there is as it was written, but the end is missing: it was removed, the run crashed, or it is
    /// still going.
    Unsealed {
        /// How many entries there are.
        entries: u64,
        /// The hash of the last of them, or [`SEED`].
        head: String,
    },
    /// The log was changed.
    Broken(Broken),
}

/// Where a log was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The first line that is wrong, from 0; entries before it are as they were written.
    pub at: u64,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing in it.
    Blank,
    /// It does not end: the file was cut, or a writer died.
    Unfinished,
    /// It is longer than any entry.
    TooLong,
    /// It is not JSON, or lacks a member, or has one of the wrong kind.
    NotAnEntry,
    /// It holds an entry, but not in the spelling in which entries are written, such as with other spaces, order or members.
    Respelled,
    /// Its number is not that of its place.
    WrongNumber {
        /// The number it has.
        found: u64,
    },
    /// It does not follow the line before it: one was removed, added or moved.
    NotChained,
    /// Its hash does not fit what it says.
    WrongHash,
    /// It is the end of another log: it counts other entries.
    WrongSeal,
    /// It comes after the end.
    AfterSeal,
    /// The last entry is not the one whose hash was kept elsewhere: the end is missing, or this is another log.
    OtherHead {
        /// The hash of the last entry.
        found: String,
    },
}

impl Problem {
    /// Stable name of this problem for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::Unfinished => "unfinished",
            Self::TooLong => "too-long",
            Self::NotAnEntry => "not-an-entry",
            Self::Respelled => "respelled",
            Self::WrongNumber { .. } => "wrong-number",
            Self::NotChained => "not-chained",
            Self::WrongHash => "wrong-hash",
            Self::WrongSeal => "wrong-seal",
            Self::AfterSeal => "after-seal",
            Self::OtherHead { .. } => "other-head",
        }
    }

    /// What a person should do about it.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::Unfinished => {
                "the writer died or the file was cut; a run that is resumed cuts the rest off and records that"
            }
            Self::OtherHead { .. } => {
                "the end was removed, or this is the log of another run; look for the file with the expected hash"
            }
            Self::Blank
            | Self::TooLong
            | Self::NotAnEntry
            | Self::Respelled
            | Self::WrongNumber { .. }
            | Self::NotChained
            | Self::WrongHash
            | Self::WrongSeal
            | Self::AfterSeal => {
                "somebody or something changed the file; trust nothing from this line on, and find out who could write it"
            }
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.at.saturating_add(1), self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Blank => "it is blank",
            Self::Unfinished => "it has no end",
            Self::TooLong => "it is longer than any entry",
            Self::NotAnEntry => "it is not an entry",
            Self::Respelled => "the entry is not spelled as entries are written",
            Self::WrongNumber { found } => return write!(formatter, "its number is {found}"),
            Self::NotChained => "it does not follow the line before it",
            Self::WrongHash => "its hash does not fit what it says",
            Self::WrongSeal => "it ends a log with another number of entries",
            Self::AfterSeal => "it comes after the end of the log",
            Self::OtherHead { found } => {
                return write!(formatter, "the last hash is {found}, which is not the expected one");
            }
        };
        formatter.write_str(text)
    }
}

/// Looks for changes in the log at `path`. With `expected_head`, the last hash must be that one.
pub fn verify(path: &Path, expected_head: Option<&str>) -> Result<Verdict, LogError> {
    let failed = |source| LogError::Io { path: path.to_owned(), source };
    // Without waiting: a FIFO in the place of a log would never be opened.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    let mut chain = Chain::default();
    chain.read(&mut BufReader::with_capacity(1 << 16, file)).map_err(failed)?;
    Ok(chain.verdict(expected_head))
}

/// Looks for changes in a log that has been read.
pub fn verify_bytes(log: &[u8], expected_head: Option<&str>) -> Verdict {
    let mut chain = Chain::default();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        chain.line(line);
    }
    chain.verdict(expected_head)
}

/// An entry in the one spelling that entries have.
fn read_line(line: &[u8]) -> Result<Chained, Problem> {
    if u64::try_from(line.len()).is_ok_and(|length| length > LONGEST_LINE) {
        return Err(Problem::TooLong);
    }
    let text = line.strip_suffix(b"\n").ok_or(Problem::Unfinished)?;
    if text.trim_ascii().is_empty() {
        return Err(Problem::Blank);
    }
    let chained = Chained::read(text).map_err(|_| Problem::NotAnEntry)?;
    if chained.line().as_bytes() == line { Ok(chained) } else { Err(Problem::Respelled) }
}

fn check_hash(chained: &Chained) -> Result<(), Problem> {
    if chained.hash == chained.entry.hash(&chained.prev_hash) { Ok(()) } else { Err(Problem::WrongHash) }
}

/// Looks at the last line of a log by itself: whether it is an entry as it was written, and the first one if and only if it
/// is the only one. What is before it is not looked at.
pub(super) fn last_line(line: &[u8], is_only: bool) -> Result<Chained, Broken> {
    let check = || {
        let chained = read_line(line)?;
        check_hash(&chained)?;
        match (is_only, chained.seq == 0, chained.prev_hash == SEED) {
            (true, true, true) | (false, false, false) => Ok(chained),
            (true, false, _) | (false, true, _) => Err(Problem::WrongNumber { found: chained.seq }),
            (true, true, false) | (false, false, true) => Err(Problem::NotChained),
        }
    };
    // The number of the line is what it says itself, as far as it can be read.
    let at = || Chained::read(line.trim_ascii()).map_or(0, |chained| chained.seq);
    check().map_err(|problem| Broken { at: at(), problem })
}

/// A chain as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Chain {
    lines: u64,
    head: Option<String>,
    sealed: bool,
    broken: Option<Broken>,
}

impl Chain {
    /// Reads to the end, or to the first line that is wrong.
    pub(super) fn read(&mut self, log: &mut impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        while self.broken.is_none() {
            line.clear();
            if log.take(LONGEST_LINE + 1).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            self.line(&line);
        }
        Ok(())
    }

    /// Takes the next line, with its end.
    fn line(&mut self, line: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        match self.check(line) {
            Ok(chained) => {
                self.sealed = chained.entry.is_seal();
                self.head = Some(chained.hash);
                self.lines += 1;
            }
            Err(problem) => self.broken = Some(Broken { at: self.lines, problem }),
        }
    }

    fn check(&self, line: &[u8]) -> Result<Chained, Problem> {
        if self.sealed {
            return Err(Problem::AfterSeal);
        }
        let chained = read_line(line)?;
        if chained.prev_hash != self.head() {
            return Err(Problem::NotChained);
        }
        if chained.seq != self.lines {
            return Err(Problem::WrongNumber { found: chained.seq });
        }
        check_hash(&chained)?;
        if chained.entry.is_seal() && chained.entry.detail != super::seal_detail(self.lines) {
            return Err(Problem::WrongSeal);
        }
        Ok(chained)
    }

    fn head(&self) -> &str {
        self.head.as_deref().unwrap_or(SEED)
    }

    /// What is known after the last line.
    pub(super) fn verdict(self, expected_head: Option<&str>) -> Verdict {
        let head = self.head().to_owned();
        let Self { lines, sealed, broken, .. } = self;
        if let Some(broken) = broken {
            return Verdict::Broken(broken);
        }
        if expected_head.is_some_and(|expected| expected != head) {
            let at = lines.saturating_sub(1);
            return Verdict::Broken(Broken { at, problem: Problem::OtherHead { found: head } });
        }
        if sealed {
            return Verdict::Sealed { entries: lines.saturating_sub(1), head };
        }
        Verdict::Unsealed { entries: lines, head }
    }
}
