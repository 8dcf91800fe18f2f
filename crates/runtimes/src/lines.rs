//! Lines of a stream that nobody vouches for.

/// The longest line that is looked at. A longer one is passed over whole: what follows it still counts.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// Cuts a stream into lines, however it comes in.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The beginning of the line that is not complete.
    begun: Vec<u8>,
    /// Whether that line is too long, so that the rest of it is not kept.
    too_long: bool,
}

impl Lines {
    /// Takes the next bytes; `each` gets every line that they complete, without its end.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        // Only the first piece can go on with a line, and only the last one can lack an end.
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(end) = piece.strip_suffix(b"\n") else { return self.keep(piece) };
            if self.begun.is_empty() && !self.too_long {
                if end.len() <= LONGEST_LINE {
                    each(end);
                }
                continue;
            }
            self.keep(end);
            self.finish(&mut each);
        }
    }

    /// Hands out a last line without an end.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        if !self.too_long && !self.begun.is_empty() {
            each(&self.begun);
        }
        self.begun.clear();
        self.too_long = false;
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.too_long || self.begun.len() + piece.len() > LONGEST_LINE {
            self.too_long = true;
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_LINE, Lines};

    fn lines(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.push(piece, |line| found.push(line.to_vec()));
        }
        lines.finish(|line| found.push(line.to_vec()));
        found
    }

    #[test]
    fn lines_are_the_same_wherever_the_stream_is_cut() {
        let stream = b"one\n\ntwo\nthree";
        let whole = lines(&[stream]);
        assert_eq!(whole, [&b"one"[..], b"", b"two", b"three"]);
        for at in 0..stream.len() {
            let (left, right) = stream.split_at(at);
            let cut: Vec<Vec<u8>> = lines(&[left, right]);
            // An empty line that is cut off at its own end is nothing to look at.
            let shown = |lines: &[Vec<u8>]| -> Vec<Vec<u8>> {
                lines.iter().filter(|line| !line.is_empty()).cloned().collect()
            };
            assert_eq!(shown(&cut), shown(&whole), "cut at {at}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_hides_no_other() {
        let long = vec![b'x'; LONGEST_LINE + 1];
        let at_limit = vec![b'y'; LONGEST_LINE];
        for pieces in [vec![&b"a\n"[..], &long, b"\nb\n"], vec![b"a\n", &long[..9], &long[9..], b"\n", b"b"]]
        {
            assert_eq!(lines(&pieces), [b"a", b"b"]);
        }
        assert_eq!(lines(&[&at_limit, b"\nb"]), [&at_limit[..], b"b"]);
        assert_eq!(lines(&[&[&long[..], b"\nb\n"].concat()]), [b"b"]);
    }
}
