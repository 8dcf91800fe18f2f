//! Lines of bytes, none longer than memory has room for.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest line that is read.
pub(super) const LONGEST: usize = 8 << 20;

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// The lines of a reader.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: R,
    /// What was read; from `start` on it was not given out.
    buffer: Vec<u8>,
    start: usize,
    /// From here on nobody has looked for an end of a line.
    looked: usize,
    /// Whether the present line is too long, and is passed over.
    skipping: bool,
    ended: bool,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Without its end, and without blanks around it.
    Whole(&'a [u8]),
    /// It was passed over.
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), start: 0, looked: 0, skipping: false, ended: false }
    }

    /// The next line; one that has no end counts. Nothing when there are no more.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let unseen = self.buffer.get(self.looked..).unwrap_or_default();
            if let Some(at) = unseen.iter().position(|byte| *byte == b'\n') {
                let (from, to) = (self.start, self.looked + at);
                (self.start, self.looked) = (to + 1, to + 1);
                return Ok(Some(self.line(from, to)));
            }
            self.looked = self.buffer.len();
            if self.buffer.len() - self.start > LONGEST {
                self.skipping = true;
            }
            if self.skipping {
                self.buffer.clear();
                (self.start, self.looked) = (0, 0);
            }
            if self.ended {
                let (from, to) = (self.start, self.buffer.len());
                self.start = to;
                let left = to > from || self.skipping;
                return Ok(left.then(|| self.line(from, to)));
            }
            self.fill().await?;
        }
    }

    fn line(&mut self, from: usize, to: usize) -> Line<'_> {
        let line = self.buffer.get(from..to).unwrap_or_default();
        if std::mem::take(&mut self.skipping) || line.len() > LONGEST {
            return Line::TooLong;
        }
        Line::Whole(line.trim_ascii())
    }

    async fn fill(&mut self) -> io::Result<()> {
        // What was given out makes room.
        self.buffer.drain(..self.start);
        self.looked -= self.start;
        self.start = 0;
        let before = self.buffer.len();
        self.buffer.resize(before + PIECE, 0);
        let room = self.buffer.get_mut(before..).unwrap_or_default();
        let read = self.reader.read(room).await;
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        self.ended = read? == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Line, Lines};

    fn lines(input: &[u8]) -> Vec<Option<Vec<u8>>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = Lines::new(input);
            let mut found = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                found.push(match line {
                    Line::Whole(line) => Some(line.to_vec()),
                    Line::TooLong => None,
                });
            }
            found
        })
    }

    #[test]
    fn lines_end_with_or_without_a_return_and_the_last_needs_no_end() {
        let expected = ["one", "two", "", "three"].map(|line| Some(line.as_bytes().to_vec()));
        assert_eq!(lines(b"one\r\n two \n\nthree"), expected);
        assert_eq!(lines(b""), Vec::<Option<Vec<u8>>>::new());
        assert_eq!(lines(b"\n"), [Some(Vec::new())]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let mut input = vec![b'a'; LONGEST];
        input.push(b'\n');
        input.extend(vec![b'b'; LONGEST + 1]);
        input.extend(b"\nnext\n");
        input.extend(vec![b'c'; LONGEST * 2]);
        assert_eq!(lines(&input), [Some(vec![b'a'; LONGEST]), None, Some(b"next".to_vec()), None]);
    }
}
