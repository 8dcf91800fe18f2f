//! A range of lines of a text that may be much larger than the range.

use std::io::BufRead;

use crate::files::ask::Stop;
use crate::files::failure::{ErrorCode, Failure};
use crate::workspace::FileProblem;

/// So much more of a file is read to tell how many lines it has.
const COUNT_BYTES: u64 = 8 * 1024 * 1024;

/// What to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) first: u64,
    pub(super) lines: u64,
    pub(super) bytes: usize,
}

/// What was taken.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) bytes: Vec<u8>,
    pub(super) first: u64,
    pub(super) lines: u64,
    /// The first line that was left out after it, where there is one.
    pub(super) next: Option<u64>,
    /// How many lines the text has, where that was found out.
    pub(super) total: Option<u64>,
    /// The only line is longer than the range.
    pub(super) cut_line: bool,
}

impl Window {
    /// Whether it is all of the text.
    pub(super) fn is_whole(&self) -> bool {
        self.first == 1 && self.next.is_none()
    }
}

/// A reader that knows which line it is at.
struct Lines<'a, R> {
    reader: &'a mut R,
    /// The line of the next byte.
    line: u64,
    /// Whether the next byte is the first of its line.
    at_start: bool,
    read: u64,
    stop: &'a Stop,
}

/// Takes a range of lines. `size` is about how many bytes there are.
pub(super) fn read_window(
    reader: &mut impl BufRead,
    range: Range,
    size: u64,
    stop: &Stop,
) -> Result<Window, Failure> {
    let mut lines = Lines { reader, line: 1, at_start: true, read: 0, stop };
    let mut window = Window { first: range.first, ..Window::default() };
    while lines.line < range.first && lines.next_line(usize::MAX, None)?.is_some() {}
    while window.lines < range.lines && !window.cut_line {
        let before = window.bytes.len();
        let room = range.bytes - before;
        match lines.next_line(room, Some(&mut window.bytes))? {
            None => break,
            Some(Fit::Whole) => window.lines += 1,
            Some(Fit::Cut) if window.lines == 0 && range.bytes > 0 => {
                trim_to_character(&mut window.bytes);
                (window.lines, window.cut_line) = (1, true);
                lines.next_line(usize::MAX, None)?;
            }
            Some(Fit::Cut) => {
                window.bytes.truncate(before);
                window.next = Some(range.first + window.lines);
                break;
            }
        }
    }
    if window.next.is_none() && !lines.is_at_end()? {
        window.next = Some(range.first + window.lines);
    }
    if window.cut_line && window.next.is_none() {
        window.next = Some(range.first + 1);
    }
    if size.saturating_sub(lines.read) <= COUNT_BYTES {
        while lines.next_line(usize::MAX, None)?.is_some() {}
        window.total = Some(lines.line - u64::from(lines.at_start));
    }
    Ok(window)
}

/// Whether a line had room.
enum Fit {
    Whole,
    Cut,
}

impl<R: BufRead> Lines<'_, R> {
    fn chunk(&mut self) -> Result<&[u8], Failure> {
        if self.stop.is_set() {
            return Err(Failure::new(ErrorCode::Timeout, "reading so far into the file takes too long"));
        }
        self.reader.fill_buf().map_err(|error| FileProblem::from(error).into())
    }

    fn is_at_end(&mut self) -> Result<bool, Failure> {
        Ok(self.chunk()?.is_empty())
    }

    /// Goes to the end of the line, or until there is no room. None at the end of the text.
    fn next_line(&mut self, mut room: usize, mut into: Option<&mut Vec<u8>>) -> Result<Option<Fit>, Failure> {
        let mut any = false;
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(any.then_some(Fit::Whole));
            }
            let newline = memchr::memchr(b'\n', chunk);
            let wanted = newline.map_or(chunk.len(), |at| at + 1);
            let taken = wanted.min(room);
            if let (Some(into), Some(bytes)) = (into.as_deref_mut(), chunk.get(..taken)) {
                into.extend_from_slice(bytes);
            }
            self.reader.consume(taken);
            self.read += taken as u64;
            if taken > 0 {
                self.at_start = false;
            }
            if taken < wanted {
                return Ok(Some(Fit::Cut));
            }
            (any, room) = (true, room - taken);
            if newline.is_some() {
                self.line += 1;
                self.at_start = true;
                return Ok(Some(Fit::Whole));
            }
        }
    }
}

/// Drops the first bytes of a character whose last ones had no room.
fn trim_to_character(bytes: &mut Vec<u8>) {
    let tail = bytes.len().saturating_sub(3);
    for start in (tail..bytes.len()).rev() {
        let Some(last) = bytes.get(start..) else { return };
        if let Err(error) = std::str::from_utf8(last)
            && error.valid_up_to() == 0
            && error.error_len().is_none()
        {
            bytes.truncate(start);
            return;
        }
    }
}
