//! What goes over the socket: one question, one answer, then the end.
//!
//! A question is `fsq1`, a byte for the phase, the length of the input as four bytes (most significant first), the input,
//! and the end of the stream. An answer is `fsa1`, the exit code as a byte, the lengths of standard output and standard error
//! as four bytes each, and the two texts.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::error::AskError;
use crate::hook::{Decision, HookPhase};

/// The longest input of a hook: what hooks take, and a little more.
pub(super) const LONGEST_INPUT: usize = (10 << 20) + (64 << 10);

/// The longest text of an answer; an answer may hold the output of a tool with every character escaped.
pub(super) const LONGEST_TEXT: usize = 64 << 20;

const QUESTION: &[u8; 4] = b"fsq1";
const ANSWER: &[u8; 4] = b"fsa1";
const PRE_TOOL: u8 = 1;
const POST_TOOL: u8 = 2;

/// What a hook process prints, and how it exits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Reply {
    /// The exit code: 0 lets the call or its output pass, 2 does not.
    pub exit: u8,
    /// What goes to standard output.
    pub stdout: String,
    /// What goes to standard error.
    pub stderr: String,
}

impl From<Decision> for Reply {
    /// Leaves out the findings: they are none of the sandbox's business.
    fn from(decision: Decision) -> Self {
        let Decision { exit, stdout, stderr, recorded: _ } = decision;
        Self { exit, stdout, stderr }
    }
}

/// What a hook asks about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) phase: HookPhase,
    pub(super) input: Vec<u8>,
}

/// Why something is not a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misuse {
    /// It does not begin like one.
    NotAQuestion,
    /// It is longer than any.
    TooLong(u32),
    /// It ends early.
    CutShort,
    /// It goes on after its end.
    GoesOn,
    /// It takes too long.
    Slow,
}

impl fmt::Display for Misuse {
    /// In our words: of what was sent, only a number is repeated.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAQuestion => formatter.write_str("sent something that is not a question"),
            Self::TooLong(length) => write!(formatter, "announced a question of {length} bytes"),
            Self::CutShort => formatter.write_str("closed the connection before the end of a question"),
            Self::GoesOn => formatter.write_str("sent more than one question"),
            Self::Slow => formatter.write_str("was too slow to ask"),
        }
    }
}

impl From<io::Error> for Misuse {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut { Self::Slow } else { Self::CutShort }
    }
}

/// The bytes in front of the input of a question.
pub(super) fn question_head(phase: HookPhase, length: u32) -> Vec<u8> {
    let phase = match phase {
        HookPhase::PreTool => PRE_TOOL,
        HookPhase::PostTool => POST_TOOL,
    };
    [QUESTION.as_slice(), &[phase], &length.to_be_bytes()].concat()
}

/// Reads a question to its end. Memory grows with what arrives, not with what is announced.
pub(super) fn read_question(from: &mut impl Read, longest: usize) -> Result<Question, Misuse> {
    let (mut begin, mut phase, mut length) = ([0; 4], [0; 1], [0; 4]);
    from.read_exact(&mut begin)?;
    if begin != *QUESTION {
        return Err(Misuse::NotAQuestion);
    }
    from.read_exact(&mut phase)?;
    let phase = match phase {
        [PRE_TOOL] => HookPhase::PreTool,
        [POST_TOOL] => HookPhase::PostTool,
        _ => return Err(Misuse::NotAQuestion),
    };
    from.read_exact(&mut length)?;
    let announced = u32::from_be_bytes(length);
    let length = usize::try_from(announced).ok().filter(|length| *length <= longest);
    let length = length.ok_or(Misuse::TooLong(announced))?;
    let input = read_up_to(from, length + 1)?;
    match input.len() {
        read if read > length => Err(Misuse::GoesOn),
        read if read < length => Err(Misuse::CutShort),
        _ => Ok(Question { phase, input }),
    }
}

/// The bytes of an answer; none when it is longer than any may be.
pub(super) fn answer(reply: &Reply) -> Option<Vec<u8>> {
    let length = |text: &str| u32::try_from(text.len()).ok().filter(|_| text.len() <= LONGEST_TEXT);
    let (stdout, stderr) = (length(&reply.stdout)?, length(&reply.stderr)?);
    let head = [ANSWER.as_slice(), &[reply.exit], &stdout.to_be_bytes(), &stderr.to_be_bytes()].concat();
    Some([&head, reply.stdout.as_bytes(), reply.stderr.as_bytes()].concat())
}

/// Reads an answer to its end.
pub(super) fn read_answer(from: &mut impl Read) -> Result<Reply, AskError> {
    let (mut begin, mut exit, mut lengths) = ([0; 4], [0; 1], [[0; 4]; 2]);
    from.read_exact(&mut begin).map_err(unanswered)?;
    if begin != *ANSWER {
        return Err(AskError::NotAnAnswer);
    }
    from.read_exact(&mut exit).map_err(unanswered)?;
    for length in &mut lengths {
        from.read_exact(length).map_err(unanswered)?;
    }
    let [exit] = exit;
    let [stdout, stderr] = lengths.map(u32::from_be_bytes);
    let (stdout, stderr) = (text(from, stdout)?, text(from, stderr)?);
    match read_up_to(from, 1).map_err(unanswered)?.is_empty() {
        true => Ok(Reply { exit, stdout, stderr }),
        false => Err(AskError::NotAnAnswer),
    }
}

fn text(from: &mut impl Read, length: u32) -> Result<String, AskError> {
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST_TEXT);
    let length = length.ok_or(AskError::NotAnAnswer)?;
    let bytes = read_up_to(from, length).map_err(unanswered)?;
    if bytes.len() < length {
        return Err(AskError::NotAnAnswer);
    }
    String::from_utf8(bytes).map_err(|_| AskError::NotAnAnswer)
}

/// What a failure to write or read means to who asks.
pub(super) fn unanswered(error: io::Error) -> AskError {
    if error.kind() == io::ErrorKind::TimedOut { AskError::TimedOut } else { AskError::Closed(error) }
}

fn read_up_to(from: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(u64::try_from(length).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A stream on which everything together takes no longer than it may, however many pieces it comes in.
#[derive(Debug)]
pub(super) struct Timed<'a> {
    stream: &'a UnixStream,
    end: Instant,
}

impl<'a> Timed<'a> {
    pub(super) fn new(stream: &'a UnixStream, patience: Duration) -> Self {
        Self { stream, end: Instant::now() + patience }
    }

    fn rest(&self) -> io::Result<Option<Duration>> {
        let rest = self.end.saturating_duration_since(Instant::now());
        if rest.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(rest)) }
    }
}

/// A socket says "would block" when its time is over.
fn timed(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.rest()?)?;
        (&*self.stream).read(buffer).map_err(timed)
    }
}

impl io::Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.rest()?)?;
        (&*self.stream).write(bytes).map_err(timed)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
