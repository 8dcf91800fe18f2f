//! What a script prints, line by line, without taking more memory than allowed.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::Child;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;

use super::{End, Ran};

/// The longest line; what is longer is cut.
const LONGEST_LINE: usize = 16 << 10;

/// How much of the beginning, and how much of the end, of the output is kept.
const KEPT: usize = 32 << 10;

/// Where a line was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A line without its end.
#[derive(Debug)]
pub(super) struct Line {
    stream: Stream,
    text: String,
}

/// Reads both outputs at once.
pub(super) fn read(child: &mut Child, readers: &mut JoinSet<()>) -> Receiver<Line> {
    let (sender, receiver) = channel(64);
    if let Some(stdout) = child.stdout.take() {
        readers.spawn(lines(stdout, Stream::Stdout, sender.clone()));
    }
    if let Some(stderr) = child.stderr.take() {
        readers.spawn(lines(stderr, Stream::Stderr, sender));
    }
    receiver
}

async fn lines(output: impl AsyncRead + Unpin, stream: Stream, sender: Sender<Line>) {
    let mut reader = BufReader::new(output);
    let mut line: Vec<u8> = Vec::new();
    loop {
        let (used, whole) = match reader.fill_buf().await {
            Ok([]) | Err(_) => break,
            Ok(bytes) => {
                let end = memchr(bytes);
                let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                let room = LONGEST_LINE.saturating_sub(line.len()).min(piece.len());
                line.extend_from_slice(piece.get(..room).unwrap_or_default());
                (end.map_or(bytes.len(), |end| end + 1), end.is_some())
            }
        };
        reader.consume(used);
        if whole && sender.send(take(stream, &mut line)).await.is_err() {
            return;
        }
    }
    if !line.is_empty() {
        let _nobody_listens = sender.send(take(stream, &mut line)).await;
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

fn take(stream: Stream, line: &mut Vec<u8>) -> Line {
    let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
    line.clear();
    Line { stream, text }
}

/// The part of the output that is kept.
#[derive(Debug, Default)]
pub(super) struct Kept {
    head: String,
    tail: String,
    left_out: usize,
    last_line: Option<String>,
}

impl Kept {
    pub(super) fn take(&mut self, line: &Line, told: &mut (dyn FnMut(Stream, &str) + Send)) {
        told(line.stream, &line.text);
        if line.stream == Stream::Stdout && !line.text.trim().is_empty() {
            self.last_line = Some(line.text.clone());
        }
        if self.tail.is_empty() && self.head.len() + line.text.len() < KEPT {
            self.head.push_str(&line.text);
            self.head.push('\n');
            return;
        }
        self.tail.push_str(&line.text);
        self.tail.push('\n');
        // Cut rarely, so that every byte is moved a few times at most.
        if self.tail.len() > 2 * KEPT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let over = self.tail.len().saturating_sub(KEPT);
        let at =
            (over..self.tail.len()).find(|at| self.tail.is_char_boundary(*at)).unwrap_or(self.tail.len());
        self.tail.drain(..at);
        self.left_out += at;
    }

    pub(super) fn into_ran(mut self, end: End) -> Ran {
        if self.tail.len() > KEPT {
            self.cut();
        }
        let Self { mut head, tail, left_out, last_line } = self;
        if left_out > 0 {
            head.push_str(&format!("… {left_out} bytes left out …\n"));
        }
        head.push_str(&tail);
        Ran { end, output: head, last_line }
    }
}
