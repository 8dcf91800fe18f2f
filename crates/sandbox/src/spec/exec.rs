//! Commands and what came of them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::bytes::ByteString;

/// A command to run. It is started directly: no shell reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecRequest {
    /// A program by path, or by name in the session's `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The directory to start in; none for the session's default.
    pub cwd: Option<String>,
    /// Added to the session's environment.
    pub env: BTreeMap<String, String>,
    /// Standard input; none for an input that is at its end.
    pub stdin: Option<ByteString>,
    /// The longest it may take; none for the session's limit.
    pub timeout: Option<Duration>,
    /// Leave standard input open for [`crate::Running::feed`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interactive: bool,
    /// Run on a terminal of its own; standard error is then part of standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalSize>,
    /// Let processes that the command leaves behind live until the session ends.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_background: bool,
}

impl ExecRequest {
    /// A command with arguments.
    pub fn new(command: impl Into<String>, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { command: command.into(), args: args.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// A line for the session's `/bin/sh`.
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new("/bin/sh", ["-c".to_owned(), line.into()])
    }
}

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// What a command under way does.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecEvent {
    /// It wrote to standard output, or to its terminal.
    Stdout(Bytes),
    /// It wrote to standard error.
    Stderr(Bytes),
    /// It is over, and so is everything it started.
    Exited(ExecExit),
}

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecExit {
    /// The exit code, or 128 and the number of the signal that ended it; 124 for the time limit.
    pub exit_code: i32,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it used.
    pub usage: ResourceUsage,
    /// What the sandbox refused it.
    pub denials: Vec<Denial>,
    /// Limits that it ran into.
    pub limits_hit: Vec<LimitHit>,
}

impl ExecExit {
    pub(crate) fn with_output(self, stdout: KeptOutput, stderr: KeptOutput) -> ExecResult {
        let mut limits_hit = self.limits_hit;
        if stdout.omitted + stderr.omitted > 0 {
            limits_hit.push(LimitHit::Output);
        }
        ExecResult {
            stdout: stdout.bytes,
            stderr: stderr.bytes,
            exit_code: self.exit_code,
            timed_out: self.timed_out,
            signal: self.signal,
            usage: self.usage,
            denials: self.denials,
            limits_hit,
            stdout_omitted: stdout.omitted,
            stderr_omitted: stderr.omitted,
        }
    }
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecResult {
    /// Standard output, byte for byte; of too long an output the beginning and the end.
    pub stdout: ByteString,
    /// Standard error, likewise.
    pub stderr: ByteString,
    /// The exit code, or 128 and the number of the signal that ended it; 124 for the time limit.
    pub exit_code: i32,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// What it used.
    #[serde(default)]
    pub usage: ResourceUsage,
    /// What the sandbox refused it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<Denial>,
    /// Limits that it ran into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_hit: Vec<LimitHit>,
    /// Bytes left out in the middle of standard output.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stdout_omitted: u64,
    /// Bytes left out in the middle of standard error.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stderr_omitted: u64,
}

impl ExecResult {
    /// Whether it ended by itself with exit code 0.
    pub fn success(&self) -> bool {
        self.exit_code == 0 && !self.timed_out
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a command and everything it waited for used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// From start to end.
    pub wall: Duration,
    /// Processor time in programs.
    pub user: Duration,
    /// Processor time in the kernel.
    pub system: Duration,
    /// The largest process, in KiB.
    pub max_rss_kb: u64,
}

/// A limit that a command ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitHit {
    /// Wall-clock time.
    Time,
    /// Memory: something was killed or refused for lack of it.
    Memory,
    /// The number of processes.
    Processes,
    /// The output that is kept.
    Output,
}

/// Something that the sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What was refused.
    #[serde(flatten)]
    pub what: Denied,
    /// Why, in one sentence.
    pub reason: String,
    /// The policy line that would allow it; none if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// How often.
    pub count: u64,
}

/// The kinds of things that are refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Denied {
    /// A connection.
    Host {
        /// The name or address that was asked for.
        host: String,
        /// The port.
        port: u16,
    },
    /// A system call.
    Call {
        /// Its name.
        name: String,
    },
    /// A file or directory.
    Path {
        /// The path in the session.
        path: String,
        /// `read` or `write`.
        access: String,
    },
}

/// The beginning and the end of an output, each up to half of the limit.
#[derive(Debug)]
pub(crate) struct Kept {
    half: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    dropped: u64,
}

/// What is left of an output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KeptOutput {
    pub(crate) bytes: ByteString,
    pub(crate) omitted: u64,
}

impl Kept {
    pub(crate) fn new(limit: u64) -> Self {
        let half = usize::try_from(limit / 2).unwrap_or(usize::MAX / 4).max(1);
        Self { half, head: Vec::new(), tail: Vec::new(), dropped: 0 }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (front, back) = bytes.split_at(room);
        self.head.extend_from_slice(front);
        self.tail.extend_from_slice(back);
        // Cutting only once twice the half has gathered keeps the copying linear.
        if self.tail.len() > self.half.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.dropped += excess as u64;
    }

    pub(crate) fn finish(mut self) -> KeptOutput {
        self.cut();
        let mut bytes = self.head;
        bytes.extend_from_slice(&self.tail);
        KeptOutput { bytes: ByteString(bytes), omitted: self.dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::{ExecRequest, Kept};

    #[test]
    fn the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let mut kept = Kept::new(10);
        for part in ["abc", "def", "ghijklmnopqrstuvw", "x", "yz"] {
            kept.add(part.as_bytes());
        }
        let kept = kept.finish();
        assert_eq!((kept.bytes.display().as_ref(), kept.omitted), ("abcdevwxyz", 16));
    }

    #[test]
    fn output_within_the_limit_is_whole() {
        let mut kept = Kept::new(6);
        kept.add(b"abcdef");
        let kept = kept.finish();
        assert_eq!((kept.bytes.0.as_slice(), kept.omitted), (&b"abcdef"[..], 0));
    }

    #[test]
    fn a_request_needs_only_a_command() {
        let request: ExecRequest = serde_json::from_str(r#"{"command":"true"}"#).unwrap();
        assert_eq!(request, ExecRequest::new("true", Vec::<String>::new()));
        assert!(serde_json::from_str::<ExecRequest>(r#"{"comand":"true"}"#).is_err());
    }
}
