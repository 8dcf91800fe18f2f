//! Output of commands, kept within limits: the beginning and the end for the model, the bytes in a file, the rest counted.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fullsend_sandbox::ExecExit;

use crate::protect::Compared;
use crate::sidecar::SandboxLabels;
use crate::tool::ToolFault;

/// The most bytes of a character.
const CHARACTER: usize = 4;
/// What stands for a NUL character, which neither people nor many programs can read.
const NUL_SYMBOL: &str = "\u{2400}";

/// Takes output that is too long for a result, or not text.
pub trait Spill: fmt::Debug + Send + Sync {
    /// A new file for one stream of one output, and its path.
    fn spill(&self, output_id: &str, stream: &str) -> io::Result<(PathBuf, Box<dyn Write + Send>)>;
}

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// How much is kept of each stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimits {
    /// Characters of the beginning, once the whole is too long.
    pub head: usize,
    /// Characters of the end, likewise.
    pub tail: usize,
    /// Bytes that are kept in a file.
    pub file_bytes: u64,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        Self { head: 60_000, tail: 20_000, file_bytes: 16 << 20 }
    }
}

/// Keeps nothing of what is too long to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Spill for Nowhere {
    fn spill(&self, _: &str, _: &str) -> io::Result<(PathBuf, Box<dyn Write + Send>)> {
        Ok((PathBuf::new(), Box::new(io::sink())))
    }
}

/// Sees output as it comes.
pub type Listener<'a> = &'a mut (dyn FnMut(Stream, &[u8]) + Send);

/// What becomes of the output of one command.
pub struct Capture<'a> {
    /// The number of the output.
    pub output_id: &'a str,
    /// How much is kept.
    pub limits: CaptureLimits,
    /// Where it is kept when there is much of it.
    pub spill: &'a dyn Spill,
    /// Who watches.
    pub listener: Option<Listener<'a>>,
}

impl Capture<'_> {
    pub(super) fn tell(&mut self, stream: Stream, bytes: &[u8]) {
        if let Some(listener) = &mut self.listener {
            listener(stream, bytes);
        }
    }

    fn open(&self, stream: Stream) -> Result<File, ToolFault> {
        let opened = self.spill.spill(self.output_id, stream.name());
        let (path, writer) = opened.map_err(|source| {
            let path = PathBuf::from(format!("{} of {}", stream.name(), self.output_id));
            ToolFault::Artifact { path, source }
        })?;
        Ok(File { path, writer, left: self.limits.file_bytes })
    }
}

impl fmt::Debug for Capture<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Capture").field("output_id", &self.output_id).finish_non_exhaustive()
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// Standard output.
    pub stdout: CapturedStream,
    /// Standard error.
    pub stderr: CapturedStream,
    /// How it ended.
    pub exit: ExecExit,
    /// What a runtime that follows labels says of it.
    pub labels: Option<SandboxLabels>,
    /// What it has changed that it may not change.
    pub compared: Compared,
}

/// What is left of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedStream {
    /// Text that can be shown; of too long an output the beginning and the end, with a notice between them.
    pub text: String,
    /// Characters in all. What is beyond the limit of the file counts by the byte.
    pub original_length: u64,
    /// Characters that the text leaves out.
    pub omitted: u64,
    /// Characters that stand for bytes which are not text.
    pub replaced: u64,
    /// The file with the bytes as they came.
    pub file: Option<PathBuf>,
    /// Bytes that are in no file.
    pub dropped_bytes: u64,
}

/// A file that takes bytes up to its limit.
struct File {
    path: PathBuf,
    writer: Box<dyn Write + Send>,
    left: u64,
}

impl File {
    fn write(&mut self, bytes: &[u8]) -> Result<(), ToolFault> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        let (kept, _) = bytes.split_at(room);
        self.left = self.left.saturating_sub(kept.len() as u64);
        self.writer.write_all(kept).map_err(|source| cannot_write(&self.path, source))
    }

    fn finish(mut self) -> Result<PathBuf, ToolFault> {
        self.writer.flush().map_err(|source| cannot_write(&self.path, source))?;
        Ok(self.path)
    }
}

fn cannot_write(path: &Path, source: io::Error) -> ToolFault {
    ToolFault::Artifact { path: path.to_owned(), source }
}

/// A stream while it is read. Needs the same memory however much comes.
pub(super) struct StreamCapture {
    stream: Stream,
    limits: CaptureLimits,
    /// As many bytes as a text that is shown whole can have.
    head: Vec<u8>,
    /// What came after, without what was left out.
    tail: Vec<u8>,
    left_out: u64,
    total: u64,
    characters: u64,
    file: Option<File>,
}

impl StreamCapture {
    pub(super) fn new(stream: Stream, limits: CaptureLimits) -> Self {
        Self {
            stream,
            limits,
            head: Vec::new(),
            tail: Vec::new(),
            left_out: 0,
            total: 0,
            characters: 0,
            file: None,
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8], capture: &Capture<'_>) -> Result<(), ToolFault> {
        self.count(bytes);
        let room = self.head_bytes().saturating_sub(self.head.len()).min(bytes.len());
        let (front, back) = bytes.split_at(room);
        self.head.extend_from_slice(front);
        if !back.is_empty() {
            if self.file.is_none() {
                let mut file = capture.open(self.stream)?;
                file.write(&self.head)?;
                self.file = Some(file);
                self.tail.reserve_exact(self.tail_bytes() * 2);
            }
            self.add_to_tail(back);
        }
        match &mut self.file {
            Some(file) if !back.is_empty() => file.write(back),
            Some(_) | None => Ok(()),
        }
    }

    /// Characters are counted as far as the file goes, bytes beyond: a flood should cost no more than being read.
    fn count(&mut self, bytes: &[u8]) {
        let room = self.limits.file_bytes.saturating_sub(self.total);
        let (counted, rest) = bytes.split_at(usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len()));
        let starts = counted.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.characters += (starts + rest.len()) as u64;
        self.total += bytes.len() as u64;
    }

    fn add_to_tail(&mut self, bytes: &[u8]) {
        let keep = self.tail_bytes();
        let (skipped, last) = bytes.split_at(bytes.len().saturating_sub(keep));
        self.left_out += skipped.len() as u64;
        // Cutting only once twice as much has gathered keeps the copying linear.
        if self.tail.len() + last.len() > keep * 2 {
            let excess = (self.tail.len() + last.len()).saturating_sub(keep).min(self.tail.len());
            self.tail.drain(..excess);
            self.left_out += excess as u64;
        }
        self.tail.extend_from_slice(last);
    }

    fn head_bytes(&self) -> usize {
        (self.limits.head + self.limits.tail) * CHARACTER
    }

    fn tail_bytes(&self) -> usize {
        // One more for a character that is cut at the front.
        (self.limits.tail + 1) * CHARACTER
    }

    pub(super) fn finish(mut self, capture: &Capture<'_>) -> Result<CapturedStream, ToolFault> {
        if self.left_out == 0 {
            self.head.append(&mut self.tail);
        }
        let (beginning, replaced) = readable(&self.head);
        let (end, also_replaced) = readable(past_cut_character(&self.tail));
        let replaced = replaced + also_replaced;
        // Bytes that are not text are characters of their own once they can be read.
        let readable_length = (beginning.chars().count() + end.chars().count()) as u64;
        let original_length =
            if self.left_out == 0 { readable_length } else { self.characters.max(readable_length) };
        let shown = (self.limits.head + self.limits.tail) as u64;
        let omitted = original_length.saturating_sub(shown);
        if (omitted > 0 || replaced > 0) && self.file.is_none() {
            let mut file = capture.open(self.stream)?;
            file.write(&self.head)?;
            self.file = Some(file);
        }
        let dropped_bytes = self.total.saturating_sub(self.limits.file_bytes);
        let file = self.file.take().map(File::finish).transpose()?;
        let text = if omitted == 0 {
            beginning
        } else {
            let end = if self.left_out == 0 { &beginning } else { &end };
            let notice = notice(self.stream, omitted, capture.output_id, dropped_bytes);
            [first(&beginning, self.limits.head), &notice, last(end, self.limits.tail)].concat()
        };
        Ok(CapturedStream { text, original_length, omitted, replaced, file, dropped_bytes })
    }
}

fn notice(stream: Stream, omitted: u64, output_id: &str, dropped_bytes: u64) -> String {
    let name = stream.name();
    let dropped = match dropped_bytes {
        0 => String::new(),
        bytes => format!(", except for its last {bytes} bytes, which were more than is kept"),
    };
    format!(
        "\n[{omitted} characters of {name} are left out here; the artifact of {output_id} has all of it{dropped}]\n"
    )
}

/// The text, and how many characters of it stand for something else.
fn readable(bytes: &[u8]) -> (String, u64) {
    let mut text = String::with_capacity(bytes.len());
    let mut replaced = 0;
    for chunk in bytes.utf8_chunks() {
        let mut parts = chunk.valid().split('\0');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            text.push_str(NUL_SYMBOL);
            text.push_str(part);
            replaced += 1;
        }
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            replaced += 1;
        }
    }
    (text, replaced)
}

/// Without the rest of a character whose beginning was left out.
fn past_cut_character(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(CHARACTER - 1).take_while(|byte| **byte & 0xc0 == 0x80).count();
    bytes.get(rest..).unwrap_or_default()
}

fn first(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(position, _)| position);
    text.get(..end).unwrap_or_default()
}

fn last(text: &str, characters: usize) -> &str {
    let Some(before) = characters.checked_sub(1) else { return "" };
    let start = text.char_indices().nth_back(before).map_or(0, |(position, _)| position);
    text.get(start..).unwrap_or_default()
}
