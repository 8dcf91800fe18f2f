//! Runs a script of the harness on the host, and ends it with everything that it started.

mod output;
mod program;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use fullsend_runtimes::Cancel;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use thiserror::Error;
use tokio::process::{Child, Command};
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

pub use self::output::Stream;
use self::output::{Kept, Line};
use self::program::Prepared;
use crate::strays::Mark;

/// How long a script that is to end may take to tidy up.
const GRACE: Duration = Duration::from_secs(5);

/// How long the rest of the output is waited for when the script itself has ended: what it started may have left its group
/// and still hold the pipe.
const REST: Duration = Duration::from_secs(1);

/// What to run.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// A script, which may lack permission to be executed: then what its first line names reads it.
    File(&'a Path),
    /// A line for `sh -c`.
    Shell(&'a str),
    /// A program of the system with arguments.
    Command(&'a str, &'a [&'a str]),
}

/// How to run it.
#[derive(Debug)]
pub struct Script<'a> {
    /// What.
    pub program: Program<'a>,
    /// In which directory.
    pub directory: &'a Path,
    /// All variables it has.
    pub env: &'a BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Duration,
    /// The wish to end it.
    pub cancel: &'a Cancel,
}

/// How a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exited(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// Its time was over.
    TimedOut,
    /// The run is to end, for this signal.
    Cancelled(i32),
}

/// What came of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// What it printed, both streams as they came; of much, the beginning and the end.
    pub output: String,
    /// The last line with something in it on standard output.
    pub last_line: Option<String>,
}

impl Ran {
    /// Whether it exited with 0.
    pub fn succeeded(&self) -> bool {
        self.end == End::Exited(0)
    }
}

/// Why a script was not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is not a file.
    #[error("the script `{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// It cannot be read or started.
    #[error("cannot run `{name}`; a script begins with a line such as `#!/bin/sh`")]
    Start {
        /// What.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// It cannot be waited for.
    #[error("cannot wait for `{name}`")]
    Wait {
        /// What.
        name: String,
        /// Why.
        source: io::Error,
    },
}

/// Runs a script to its end. `told` gets each line as it comes, not longer than 16 KiB.
///
/// The script has a process group of its own, which is ended with it: what it leaves in the background does not outlive it,
/// not even in a session of its own. Dropping the future ends it too.
pub async fn run(
    script: &Script<'_>,
    told: &mut (dyn FnMut(Stream, &str) + Send),
) -> Result<Ran, ScriptError> {
    let name = script.program.to_string();
    let prepared = Prepared::new(script.program)?;
    let mut command = prepared.command();
    let mark = Mark::new(script.env);
    command
        .env_clear()
        .envs(script.env)
        .env(Mark::VARIABLE, mark.value())
        .current_dir(script.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child =
        start(&mut command).await.map_err(|source| ScriptError::Start { name: name.clone(), source })?;
    let mut readers = JoinSet::new();
    let lines = output::read(&mut child, &mut readers);
    // A program of the system that we call leaves nothing behind, and looking costs time.
    let mark = matches!(script.program, Program::File(_) | Program::Shell(_)).then_some(mark);
    let mut group = Group::of(child, mark);
    watch(&mut group, lines, script, told).await.map_err(|source| ScriptError::Wait { name, source })
}

/// A copy that was just written cannot be executed while another thread's new process still has the file open.
async fn start(command: &mut Command) -> io::Result<Child> {
    for _ in 0..50 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            result => return result,
        }
    }
    command.spawn()
}

async fn watch(
    group: &mut Group,
    mut lines: Receiver<Line>,
    script: &Script<'_>,
    told: &mut (dyn FnMut(Stream, &str) + Send),
) -> io::Result<Ran> {
    let mut kept = Kept::default();
    let mut ended = group.ended();
    let mut why: Option<End> = None;
    let mut deadline = Instant::now() + script.timeout;
    let (mut open, mut killed) = (true, false);
    loop {
        tokio::select! {
            line = lines.recv(), if open => match line {
                Some(line) => kept.take(&line, told),
                None => open = false,
            },
            waited = &mut ended => {
                waited.map_err(io::Error::other)??;
                break;
            }
            signal = script.cancel.cancelled(), if why.is_none() => {
                why = Some(End::Cancelled(signal));
                deadline = Instant::now() + GRACE;
                group.signal(Signal::TERM);
            }
            () = script.cancel.hurried(), if why.is_some() && !killed => {
                killed = true;
                group.signal(Signal::KILL);
            }
            () = sleep_until(deadline) => {
                if why.is_some() {
                    killed = true;
                    group.signal(Signal::KILL);
                    deadline = Instant::now() + GRACE;
                } else {
                    why = Some(End::TimedOut);
                    deadline = Instant::now() + GRACE;
                    group.signal(Signal::TERM);
                }
            }
        }
    }
    // The script itself is not reaped yet, so the group is still its own.
    group.end();
    let rest = async {
        while let Some(line) = lines.recv().await {
            kept.take(&line, told);
        }
    };
    let _what_holds_the_pipe_is_not_ours = timeout(REST, rest).await;
    let status = group.reap().await?;
    Ok(kept.into_ran(why.unwrap_or_else(|| end_of(status))))
}

fn end_of(status: ExitStatus) -> End {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

/// A child with all that is in its process group. Ended when dropped.
#[derive(Debug)]
struct Group {
    child: Child,
    /// None when the child was reaped: the number may belong to somebody else then.
    leader: Option<Pid>,
    /// By which those are known that have left the group.
    mark: Option<Mark>,
}

impl Group {
    fn of(child: Child, mark: Option<Mark>) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { child, leader, mark }
    }

    /// Ends everything, those that have left the group too.
    fn end(&mut self) {
        self.signal(Signal::KILL);
        if let Some(mark) = self.mark.take() {
            mark.end_all();
        }
    }

    /// Waits until the child has ended, and leaves it to be reaped: until then nobody else gets its number.
    fn ended(&self) -> tokio::task::JoinHandle<io::Result<()>> {
        let leader = self.leader;
        tokio::task::spawn_blocking(move || {
            let Some(leader) = leader else { return Ok(()) };
            loop {
                match waitid(WaitId::Pid(leader), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                    Ok(_) => return Ok(()),
                }
            }
        })
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _nobody_left = kill_process_group(leader, signal);
        }
    }

    async fn reap(&mut self) -> io::Result<ExitStatus> {
        self.leader = None;
        self.child.wait().await
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
