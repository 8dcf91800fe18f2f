//! The end of sessions whose owner was killed.
//!
//! Process 1 of a session ends with its owner, and everything in the session with process 1, but not in the same moment.
//! Whoever takes the work up again waits for it: what is half done must not go on beside it.

use std::io;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::SandboxError;

/// The file in the directory of a session that says which process is its first.
pub(crate) const FIRST: &str = "first-process";

/// How long the kernel may take to end everything in a session.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Notes a process, and when it was started: numbers are used again.
pub(crate) fn note(path: &Path, pid: u32) -> io::Result<()> {
    match started(pid) {
        Some(moment) => std::fs::write(path, format!("{pid} {moment}")),
        // Gone already.
        None => Ok(()),
    }
}

/// Ends the process that was noted, and waits for it.
pub(crate) fn end(path: &Path) -> Result<(), SandboxError> {
    let Some((pid, moment)) = noted(path) else { return Ok(()) };
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let Ok(held) = pidfd_open(number, PidfdFlags::empty()) else { return Ok(()) };
    // Looked at while it is held: a process that has the number now is not the one that was noted.
    if started(pid) != Some(moment) {
        return Ok(());
    }
    let _it_may_have_ended = pidfd_send_signal(&held, Signal::KILL);
    let ended = poll(&mut [PollFd::new(&held, PollFlags::IN)], Some(&PATIENCE));
    match ended {
        Ok(0) => Err(SandboxError::Lifecycle(format!(
            "process {pid} of a sandbox whose owner was killed does not end; end it first"
        ))),
        Ok(_) => Ok(()),
        Err(errno) => {
            Err(SandboxError::Io { doing: format!("cannot wait for process {pid}"), source: errno.into() })
        }
    }
}

fn noted(path: &Path) -> Option<(u32, u64)> {
    let text = std::fs::read_to_string(path).ok()?;
    let (pid, moment) = text.split_once(' ')?;
    Some((pid.parse().ok()?, moment.parse().ok()?))
}

/// When a process was started, in ticks since the machine was.
fn started(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, also parentheses.
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_whitespace().nth(19)?.parse().ok()
}
