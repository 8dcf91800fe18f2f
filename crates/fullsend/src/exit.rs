//! What the exit codes mean.

use std::process::ExitCode;

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The work is done.
    Done,
    /// The work was done and its answer is no: linting found errors.
    Failed,
    /// The command line or the configuration does not allow the work to be done.
    Usage,
    /// A finding or a policy does not let the work go on.
    Blocked,
    /// Whoever read the output has stopped reading; the code a shell reports for a process that SIGPIPE ended.
    ClosedPipe,
    /// What a command in a sandbox ended with, or why there was none.
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Blocked => 3,
            Exit::ClosedPipe => 141,
            Exit::Command(code) => code,
        })
    }
}
