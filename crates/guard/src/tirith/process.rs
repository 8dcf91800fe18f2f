//! Running `tirith`: a program at a fixed path, without a shell, with an end in time and in output.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

use super::arguments;

/// The most that is read of each output.
const MOST_OUTPUT: u64 = 1024 * 1024;

/// How often the end of the process is looked for once its output has ended.
const POLL: Duration = Duration::from_millis(1);

/// What the program said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// None when a signal ended it.
    pub exit_code: Option<i32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The path is relative. A name would be looked up in directories that the agent may write to.
    #[error("the path of tirith is not absolute")]
    NotAbsolute,
    /// There is no such program.
    #[error("tirith is not installed")]
    Missing,
    /// It took too long, and was ended.
    #[error("tirith did not answer in time")]
    TimedOut,
    /// It printed without end.
    #[error("tirith printed more than an answer can be")]
    TooMuchOutput,
    /// It could not be started or watched.
    #[error("tirith could not be run: {0}")]
    Process(#[source] io::Error),
}

/// Runs `program` on `command` and ends it, with all that it started, after `timeout`.
///
/// It runs in the root directory with an empty environment: both could otherwise carry settings of the agent's choice.
pub fn run(program: &Path, command: &str, timeout: Duration) -> Result<Output, Failure> {
    if !program.is_absolute() {
        return Err(Failure::NotAbsolute);
    }
    let deadline = Instant::now() + timeout;
    let spawned = Command::new(program)
        .args(arguments(command))
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Failure::Missing),
        Err(error) => return Err(Failure::Process(error)),
    };
    let result = watch(&mut child, deadline);
    // Not after an answer: the process has been waited for then, and its number may belong to another.
    if result.is_err() {
        end(&mut child);
    }
    result
}

fn watch(child: &mut Child, deadline: Instant) -> Result<Output, Failure> {
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let stdout = stdout.map_or_else(|| Ok(Vec::new()), |output| receive(&output, deadline))?;
    let stderr = stderr.map_or_else(|| Ok(Vec::new()), |output| receive(&output, deadline))?;
    loop {
        match child.try_wait().map_err(Failure::Process)? {
            Some(status) => return Ok(Output { exit_code: status.code(), stdout, stderr }),
            None if Instant::now() >= deadline => return Err(Failure::TimedOut),
            None => thread::sleep(POLL),
        }
    }
}

/// Reads an output to its end, or to its limit, in a thread of its own: a program that waits for one to be read while the
/// other is full would never end.
fn collect(mut output: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.by_ref().take(MOST_OUTPUT + 1).read_to_end(&mut bytes);
        let _nobody_waits_any_more = sender.send(read.map(|_| bytes));
    });
    receiver
}

fn receive(output: &Receiver<io::Result<Vec<u8>>>, deadline: Instant) -> Result<Vec<u8>, Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    let bytes = output.recv_timeout(left).map_err(|_| Failure::TimedOut)?.map_err(Failure::Process)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= MOST_OUTPUT => Ok(bytes),
        Ok(_) | Err(_) => Err(Failure::TooMuchOutput),
    }
}

/// Ends the process and what it started.
fn end(child: &mut Child) {
    let _already_gone = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _already_waited_for = child.kill();
    let _already_waited_for = child.wait();
}
