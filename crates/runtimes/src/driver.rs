//! Runs the program of a runtime in the sandbox, once, and tells what it says.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use fullsend_sandbox::{ByteString, ExecEvent, ExecExit, ExecRequest};

use crate::event::{Metrics, RuntimeEvent, Watch};
use crate::lines::Lines;
use crate::runtime::{Ended, Iteration, Place, RuntimeError};
use crate::summary::without_secrets;

/// How much of standard error is kept.
const LONGEST_TAIL: usize = 4 << 10;
/// How much of the raw stream is kept. A process of the agent's can write to it too, and without end.
const LONGEST_STREAM: u64 = 256 << 20;
/// How much of a debug log is kept.
pub(crate) const LONGEST_LOG: u64 = 64 << 20;
/// How long a program has to end by itself when the run is to end.
const GRACE: Duration = Duration::from_secs(5);
const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

/// A program with its arguments. No shell reads them.
#[derive(Debug)]
pub(crate) struct Command {
    /// Runs before the program and becomes it: a fixed text, to which arguments are only arguments.
    pub(crate) prelude: &'static str,
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(&'static str, String)>,
    /// What it reads.
    pub(crate) input: Option<String>,
    /// Whether it writes its debug log to standard error.
    pub(crate) logs: bool,
}

/// Understands the stream of a program.
pub(crate) trait Stream: Send {
    /// Takes a line.
    fn line(&mut self, line: &[u8], tell: &mut dyn FnMut(RuntimeEvent));

    /// The stream is at its end.
    fn end(&mut self, _tell: &mut dyn FnMut(RuntimeEvent)) {}
}

/// Runs `command` to its end, to the end of its time, or until the run is to end.
pub(crate) async fn drive(
    place: &Place,
    iteration: &Iteration<'_>,
    command: Command,
    stream: &mut dyn Stream,
    watch: Watch<'_>,
) -> Result<Ended, RuntimeError> {
    let mut kept = Kept::create(iteration.stream, LONGEST_STREAM)?;
    let log = if command.logs { Some(Kept::create(iteration.debug_log, LONGEST_LOG)) } else { None };
    let mut log = log.transpose()?;
    let mut account = Account::default();
    let mut lines = Lines::default();
    let mut tail = Tail::default();
    let request = request(place, iteration, command);
    let mut running = place.backend.spawn(&place.session, request).await?;
    let mut signalled = None;
    let mut next_signal = SIGTERM;
    let exit = loop {
        let event = tokio::select! {
            event = running.next() => event?,
            signal = end_wanted(iteration, signalled), if next_signal != 0 => {
                // It may have ended in this moment; the next event tells.
                let _gone_already = running.signal(next_signal);
                signalled = Some(signal);
                next_signal = if next_signal == SIGTERM { SIGKILL } else { 0 };
                continue;
            }
        };
        match event {
            ExecEvent::Stdout(bytes) => {
                kept.add(&bytes)?;
                lines.push(&bytes, |line| stream.line(line, &mut |event| account.tell(event, watch)));
            }
            ExecEvent::Stderr(bytes) => {
                tail.add(&bytes);
                log.as_mut().map_or(Ok(()), |log| log.add(&bytes))?;
            }
            ExecEvent::Exited(exit) => break exit,
        }
    };
    lines.finish(|line| stream.line(line, &mut |event| account.tell(event, watch)));
    stream.end(&mut |event| account.tell(event, watch));
    Ok(account.ended(&exit, signalled, &tail))
}

/// Waits for the wish to end the run, and once it was heard for the end of the grace, or until somebody is in a hurry.
async fn end_wanted(iteration: &Iteration<'_>, signalled: Option<i32>) -> i32 {
    match signalled {
        None => iteration.cancel.cancelled().await,
        Some(signal) => {
            tokio::select! {
                () = tokio::time::sleep(GRACE) => {}
                () = iteration.cancel.hurried() => {}
            }
            signal
        }
    }
}

fn request(place: &Place, iteration: &Iteration<'_>, command: Command) -> ExecRequest {
    let Command { prelude, program, arguments, variables, input, logs: _ } = command;
    let start = ["-c".to_owned(), prelude.to_owned(), "sh".to_owned(), program];
    let mut request = ExecRequest::new("/bin/sh", start.into_iter().chain(arguments));
    request.cwd = Some(place.stage.repo_in_sandbox());
    request.env = place.env.clone();
    request.env.extend(variables.into_iter().map(|(name, value)| (name.to_owned(), value)));
    request.stdin = input.map(|input| ByteString(input.into_bytes()));
    request.timeout = Some(iteration.timeout);
    request
}

/// What was told so far.
#[derive(Debug, Default)]
struct Account {
    metrics: Metrics,
    /// The last result: whether it is an error, and what it says.
    result: Option<(bool, String)>,
    /// The last error before a result.
    error: Option<String>,
}

impl Account {
    fn tell(&mut self, event: RuntimeEvent, watch: &mut (dyn FnMut(RuntimeEvent) + Send)) {
        self.metrics.count(&event);
        match &event {
            RuntimeEvent::Result { is_error, message, subtype, .. } => {
                let said = if message.is_empty() { subtype } else { message };
                self.result = Some((*is_error, said.clone()));
            }
            RuntimeEvent::Error { kind, message } => self.error = Some(format!("{kind}: {message}")),
            RuntimeEvent::Init { .. }
            | RuntimeEvent::Thinking { .. }
            | RuntimeEvent::Text { .. }
            | RuntimeEvent::ToolUse { .. }
            | RuntimeEvent::ToolResult { .. }
            | RuntimeEvent::Denied { .. }
            | RuntimeEvent::Tokens(_)
            | RuntimeEvent::Retry { .. } => {}
        }
        watch(event);
    }

    fn ended(self, exit: &ExecExit, signalled: Option<i32>, tail: &Tail) -> Ended {
        let exit_code = match signalled {
            Some(signal) if !exit.timed_out => 128 + signal,
            Some(_) | None => exit.exit_code,
        };
        let failed = exit_code != 0;
        let error = match self.result {
            Some((true, said)) => Some(self.error.filter(|_| said.is_empty()).unwrap_or(said)),
            Some((false, _)) if !failed => None,
            // What it wrote to standard error is more than what it had said before.
            Some((false, _)) | None if failed => {
                Some(tail.text()).filter(|tail| !tail.is_empty()).or(self.error)
            }
            // The stream was cut, or something else than the runtime wrote it.
            Some((false, _)) | None => {
                Some(self.error.unwrap_or_else(|| "it ended without saying how".to_owned()))
            }
        };
        let error = error.map(|error| without_secrets(&error));
        Ended { exit_code, metrics: self.metrics, error, timed_out: exit.timed_out }
    }
}

/// The end of standard error.
#[derive(Debug, Default)]
struct Tail(Vec<u8>);

impl Tail {
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
        if self.0.len() > 2 * LONGEST_TAIL {
            let surplus = self.0.len() - LONGEST_TAIL;
            self.0.drain(..surplus);
        }
    }

    fn text(&self) -> String {
        let start = self.0.len().saturating_sub(LONGEST_TAIL);
        String::from_utf8_lossy(self.0.get(start..).unwrap_or_default()).trim().to_owned()
    }
}

/// A stream, in a file of the host.
#[derive(Debug)]
struct Kept<'a> {
    file: File,
    path: &'a Path,
    left: u64,
}

impl<'a> Kept<'a> {
    fn create(path: &'a Path, left: u64) -> Result<Self, RuntimeError> {
        let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
        let file = opened
            .map_err(|source| RuntimeError::Io { doing: format!("create `{}`", path.display()), source })?;
        Ok(Self { file, path, left })
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), RuntimeError> {
        let some = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        self.left -= some as u64;
        self.file.write_all(bytes.get(..some).unwrap_or_default()).map_err(|source| RuntimeError::Io {
            doing: format!("write to `{}`", self.path.display()),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use fullsend_sandbox::ExecExit;

    use super::{Account, LONGEST_TAIL, Tail};
    use crate::event::{RuntimeEvent, TokenUsage};

    fn result(is_error: bool, message: &str) -> RuntimeEvent {
        let (message, subtype) = (message.to_owned(), "sub".to_owned());
        let usage = TokenUsage::default();
        RuntimeEvent::Result { num_turns: 1, total_cost_usd: 0.5, is_error, message, subtype, usage }
    }

    #[test]
    fn an_end_is_good_only_when_everything_says_so() {
        let error = || RuntimeEvent::Error { kind: "api".to_owned(), message: "broke".to_owned() };
        for (events, code, signalled, expected_code, expected) in [
            (vec![result(false, "done")], 0, None, 0, None),
            (vec![result(true, "no")], 0, None, 0, Some("no")),
            (vec![result(true, "")], 1, None, 1, Some("sub")),
            (vec![result(false, "done")], 3, None, 3, Some("on stderr")),
            (vec![], 0, None, 0, Some("it ended without saying how")),
            (vec![error()], 0, None, 0, Some("api: broke")),
            (vec![], 1, None, 1, Some("on stderr")),
            (vec![result(false, "done")], 0, Some(2), 130, Some("on stderr")),
        ] {
            let mut account = Account::default();
            let mut tail = Tail::default();
            tail.add(b"on stderr\n");
            events.iter().for_each(|event| account.tell(event.clone(), &mut |_| {}));
            let exit = ExecExit { exit_code: code, ..ExecExit::default() };
            let ended = account.ended(&exit, signalled, &tail);
            assert_eq!((ended.exit_code, ended.error.as_deref()), (expected_code, expected), "{events:?}");
            assert_eq!(ended.succeeded(), expected.is_none() && expected_code == 0);
        }
    }

    #[test]
    fn the_end_of_standard_error_is_kept() {
        let mut tail = Tail::default();
        (0..100_000).for_each(|number| tail.add(format!("{number}\n").as_bytes()));
        assert!(tail.text().ends_with("99999") && tail.text().len() <= LONGEST_TAIL);
    }
}
