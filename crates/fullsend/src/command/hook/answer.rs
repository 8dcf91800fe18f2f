//! The answer to one hook call: whatever happens, there is one, and without a decision it is no.

use std::error::Error as _;
use std::fs::OpenOptions;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use fullsend_guard::hook::{Decision, Hook, HookConfig, HookFile, HookPhase, MAX_INPUT_BYTES, failure};
use fullsend_guard::log::{LogError, Place};
use fullsend_guard::{FindingsLog, SystemClock, TraceId, service};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::exit::Exit;

/// What is read and thrown away of input that is too long, so that whoever writes it can finish.
const DRAINED: u64 = 64 * 1024 * 1024;

/// How long to wait for a service or a log.
const PATIENCE: Duration = Duration::from_secs(20);

/// When there has to be an answer, whatever is waited for: a service, a log, the end of the input. Well below the time after
/// which runtimes go on without one.
const DEADLINE: Duration = Duration::from_secs(30);

/// Room for most calls, so that they are read at once.
const FIRST_READ: usize = 16 * 1024;

/// The longest configuration.
const LONGEST_CONFIG: u64 = 4 << 20;

/// How long to wait before another try.
const PAUSE: Duration = Duration::from_millis(3);

/// Input up to this size is judged on the spot: even the slowest check takes milliseconds for it, and a second thread would
/// cost more than most checks.
const SHORT_INPUT: usize = 64 * 1024;

/// Reads the call from standard input and prints the decision.
pub(super) fn answer(phase: HookPhase, config: Result<&Path, &str>) -> Exit {
    // What a panic says could quote the input, which is not to be trusted.
    std::panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let config = config.map_err(str::to_owned);
    let decision = match std::panic::catch_unwind(|| decide(phase, config, start)) {
        Ok(Ok(decision)) => decision,
        Ok(Err(Undecided::Because(problem))) => failure(phase, &problem),
        Ok(Err(Undecided::Late)) => failure(phase, "the hook was not ready in time"),
        Ok(Err(Undecided::Panicked)) | Err(_) => failure(phase, "the hook failed"),
    };
    let written = print(&decision);
    match (decision.exit, written) {
        (0, Ok(())) => Exit::Done,
        // What was to be said could not be said, so that the call must not go on as if it had been.
        (0, Err(_)) | (1.., _) => Exit::Command(2),
    }
}

/// Why there is no decision.
#[derive(Debug, PartialEq, Eq)]
enum Undecided {
    Because(String),
    Panicked,
    Late,
}

impl From<String> for Undecided {
    fn from(problem: String) -> Self {
        Self::Because(problem)
    }
}

/// What `work` returns, if it does so in time. Otherwise it is left behind, and ends with the process.
fn in_time<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, Undecided> {
    let (sender, receiver) = mpsc::channel();
    let start = std::thread::Builder::new().spawn(move || {
        let _nobody_waits_any_more = sender.send(work());
    });
    match start.map(|_left_alone| receiver.recv_timeout(limit)) {
        Ok(Ok(done)) => Ok(done?),
        Ok(Err(RecvTimeoutError::Timeout)) => Err(Undecided::Late),
        // A panic drops the sender. Without a thread there is no result either.
        Ok(Err(RecvTimeoutError::Disconnected)) | Err(_) => Err(Undecided::Panicked),
    }
}

fn print(decision: &Decision) -> io::Result<()> {
    let _reason_is_in_the_reply = io::stderr().lock().write_all(decision.stderr.as_bytes());
    let mut stdout = io::stdout().lock();
    stdout.write_all(decision.stdout.as_bytes())?;
    stdout.flush()
}

fn decide(phase: HookPhase, config: Result<&Path, String>, start: Instant) -> Result<Decision, Undecided> {
    let file = config.and_then(read_config);
    let limit = match &file {
        Ok(HookFile::Decide(config)) => config.limits.max_input_bytes,
        Ok(HookFile::Ask(ask)) => ask.limits.max_input_bytes,
        Err(_) => MAX_INPUT_BYTES,
    };
    let input = read_input(limit, start + DEADLINE)?;
    let file = file?;
    if input.len() <= SHORT_INPUT && !waits_for_others(&file) {
        return Ok(judge(phase, file, &input)?);
    }
    let left = DEADLINE.saturating_sub(start.elapsed());
    in_time(left, move || judge(phase, file, &input))
}

/// Whether the decision may have to wait for another process: a service, a scanner, another hook that writes to the log.
fn waits_for_others(file: &HookFile) -> bool {
    match file {
        HookFile::Decide(config) => config.checks.tirith.enabled || config.findings.is_some(),
        HookFile::Ask(_) => true,
    }
}

fn judge(phase: HookPhase, file: HookFile, input: &[u8]) -> Result<Decision, String> {
    match file {
        HookFile::Decide(config) => {
            let hook = Hook::new(*config).map_err(|error| error.to_string())?;
            let decision = hook.decide(phase, input);
            record(hook.config(), phase, input, &decision)?;
            Ok(decision)
        }
        HookFile::Ask(ask) => {
            let answer =
                service::ask(&ask.service, phase, input, PATIENCE).map_err(|error| error.to_string())?;
            Ok(Decision {
                exit: answer.exit,
                stdout: answer.stdout,
                stderr: answer.stderr,
                recorded: Vec::new(),
            })
        }
    }
}

/// Writes what was found into the log. Without its record a decision does not count.
fn record(config: &HookConfig, phase: HookPhase, input: &[u8], decision: &Decision) -> Result<(), String> {
    let Some(path) = config.findings.as_deref().filter(|_| !decision.recorded.is_empty()) else {
        return Ok(());
    };
    let tool = service::tool_name(input);
    let place = Place { phase: phase.into(), tool: tool.as_deref(), path: None };
    open_log(path, config.trace_id.as_deref())
        .and_then(|log| log.append_all(place, &decision.recorded))
        .map_err(|error| {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("the findings of this call cannot be recorded: {error}{cause}")
        })
}

/// Opens the log, waiting for hooks of other calls that write to it.
fn open_log(path: &Path, trace_id: Option<&str>) -> Result<FindingsLog, LogError> {
    let trace_id = trace_id.and_then(|id| id.parse().ok()).unwrap_or_else(TraceId::generate);
    let give_up = Instant::now() + PATIENCE;
    loop {
        match FindingsLog::join(path, trace_id.clone(), Arc::new(SystemClock)) {
            Err(LogError::InUse { .. }) if Instant::now() < give_up => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

pub(super) fn read_config(path: &Path) -> Result<HookFile, String> {
    let shown = path.display();
    let text = read_file(path)
        .map_err(|error| format!("the hook's configuration `{shown}` cannot be read: {error}"))?;
    HookFile::parse(&text).map_err(|error| format!("the hook's configuration is wrong: {shown}:{error}"))
}

/// A file of text that is not too long, opened without waiting: a FIFO in its place would never be opened.
fn read_file(path: &Path) -> io::Result<String> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut text =
        String::with_capacity(usize::try_from(metadata.len().min(LONGEST_CONFIG)).unwrap_or_default() + 1);
    file.take(LONGEST_CONFIG + 1).read_to_string(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|length| length <= LONGEST_CONFIG) {
        return Ok(text);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {LONGEST_CONFIG} bytes")))
}

/// Standard input, up to one byte more than the limit.
fn read_input(limit: usize, until: Instant) -> Result<Vec<u8>, Undecided> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut input = Vec::with_capacity(FIRST_READ);
    let stdin = io::stdin();
    let mut stdin = Timely { source: stdin.as_fd(), until };
    stdin.by_ref().take(most).read_to_end(&mut input).map_err(|error| {
        if error.kind() == io::ErrorKind::TimedOut {
            return Undecided::Late;
        }
        Undecided::Because(format!("the hook's input cannot be read: {error}"))
    })?;
    if input.len() > limit {
        let _too_long_anyway = io::copy(&mut stdin.take(DRAINED), &mut io::sink());
    }
    Ok(input)
}

/// A descriptor that is read without a buffer, and not waited for beyond a moment.
struct Timely<'a> {
    source: BorrowedFd<'a>,
    until: Instant,
}

impl Read for Timely<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut wanted = [PollFd::from_borrowed_fd(self.source, PollFlags::IN)];
            match rustix::event::poll(&mut wanted, Some(&timeout)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(rustix::io::read(self.source, &mut *buffer)?),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Undecided, in_time};

    #[test]
    fn what_panics_or_never_ends_is_not_waited_for() {
        let long = Duration::from_secs(60);
        assert_eq!(in_time(long, || Ok(7)), Ok(7));
        assert_eq!(in_time::<()>(long, || panic!("told to")), Err(Undecided::Panicked));
        let forever = || {
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        };
        assert_eq!(in_time(Duration::from_millis(10), forever), Err(Undecided::Late));
    }
}
