//! Server-sent events: lines to the data of events, however the bytes are cut.

use memchr::memchr2;

/// The longest line, and the longest data of one event. Larger than any delta, small enough for a bad day.
pub(super) const MAX_EVENT: usize = 8 * 1024 * 1024;

/// An event is larger than any that makes sense.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Reads events piece by piece. Every byte is looked at once.
#[derive(Debug, Default)]
pub(super) struct SseParser {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    begun: bool,
}

impl SseParser {
    /// Takes the next bytes, and hands out the data of every event that they complete.
    pub(super) fn feed<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        // A line may end with two characters, and the second may come in the next piece.
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (head, tail) = bytes.split_at(end);
            self.keep(head)?;
            self.end_line(each)?;
            let is_return = tail.starts_with(b"\r");
            bytes = tail.get(1..).unwrap_or_default();
            if is_return {
                self.after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
        }
        Ok(self.keep(bytes)?)
    }

    /// Hands out an event that the end of the answer completes: not every server sends the last blank line.
    pub(super) fn finish<E: From<TooLong>>(
        &mut self,
        each: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_line(each)?;
        self.dispatch(each)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > MAX_EVENT {
            return Err(TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line<E: From<TooLong>>(&mut self, each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        if !self.begun {
            self.begun = true;
            if self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
        }
        if self.line.is_empty() {
            return self.dispatch(each);
        }
        // Comments, names, ids and retry times say nothing about an answer.
        if let Some(rest) = self.line.strip_prefix(b"data") {
            let value = match rest {
                [] => Some(rest),
                [b':', value @ ..] => Some(value.strip_prefix(b" ").unwrap_or(value)),
                _ => None,
            };
            if let Some(value) = value {
                if self.data.len() + value.len() >= MAX_EVENT {
                    return Err(TooLong.into());
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
        }
        self.line.clear();
        Ok(())
    }

    fn dispatch<E>(&mut self, each: &mut impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let outcome = if self.has_data && !self.data.is_empty() { each(&self.data) } else { Ok(()) };
        self.data.clear();
        self.has_data = false;
        outcome
    }
}
