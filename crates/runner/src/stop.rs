//! Why a run does not go on.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use fullsend_harness::ShowError;
use fullsend_resolve::ResolveError;
use fullsend_runtimes::{RuntimeError, StageError};
use fullsend_sandbox::SandboxError;
use fullsend_yaml::{Diagnostic, SourceMap};

use crate::event::Outcome;
use crate::outward::mint::MintError;

/// Why a run does not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// There is no such agent, or it may not run.
    #[error(transparent)]
    Agent(#[from] ShowError),
    /// The organisation or the repository has switched all runs off.
    #[error("`kill_switch` is on in `{}`: no agent may run", file.display())]
    KillSwitch {
        /// Which file says so.
        file: PathBuf,
    },
    /// The harness has errors.
    #[error("the harness has errors")]
    Broken {
        /// The files, for showing places.
        sources: Box<SourceMap>,
        /// The problems.
        problems: Vec<Diagnostic>,
    },
    /// What the harness names cannot be had.
    #[error("the harness cannot be resolved")]
    Resolve(#[from] Box<ResolveError>),
    /// The lock file says otherwise.
    #[error("{message}")]
    Lock {
        /// What disagrees.
        message: String,
        /// What to do.
        help: String,
    },
    /// What was asked for cannot be done.
    #[error("{message}")]
    Refused {
        /// What, and why.
        message: String,
        /// What to do.
        help: String,
    },
    /// Scanners found what may not go on.
    #[error("{message}")]
    Blocked {
        /// How much of what.
        message: String,
        /// What to do.
        help: String,
    },
    /// The token of the agent's role cannot be had.
    #[error("there is no token for the run: {0}")]
    Mint(MintError),
    /// The pre-script says that there is nothing to do.
    #[error("skipped: {reason}")]
    Skipped {
        /// In its words.
        reason: String,
    },
    /// Something of the harness failed: a script, the agent, the validation.
    #[error("{message}")]
    Failed {
        /// What, and how.
        message: String,
    },
    /// The time of the run is over.
    #[error("the agent did not finish within {}", spoken(*limit))]
    TimedOut {
        /// How long it had.
        limit: Duration,
    },
    /// Somebody ended the run.
    #[error("cancelled by signal {signal}")]
    Cancelled {
        /// The signal.
        signal: i32,
    },
    /// The sandbox.
    #[error("the sandbox failed")]
    Sandbox(#[from] SandboxError),
    /// The runtime.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The directories of the run.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A file.
    #[error("cannot {doing}")]
    Io {
        /// What was being done, to which file.
        doing: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl Stop {
    /// A failure of a file, with what was being done to it.
    pub fn io(doing: impl fmt::Display) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.to_string();
        move |source| Self::Io { doing, source }
    }

    /// A refusal with its remedy.
    pub fn refused(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: help.into() }
    }

    /// Why, in one line: with the cause, where the message does not tell it.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Sandbox(error) => format!("{self}: {error}"),
            Self::Resolve(error) => format!("{self}: {error}"),
            Self::Io { source, .. } => format!("{self}: {source}"),
            Self::Agent(_)
            | Self::Mint(_)
            | Self::KillSwitch { .. }
            | Self::Broken { .. }
            | Self::Lock { .. }
            | Self::Refused { .. }
            | Self::Blocked { .. }
            | Self::Skipped { .. }
            | Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Cancelled { .. }
            | Self::Runtime(_)
            | Self::Stage(_) => self.to_string(),
        }
    }

    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Refused { help, .. } | Self::Blocked { help, .. } | Self::Lock { help, .. } => {
                Some(help.clone())
            }
            Self::KillSwitch { .. } => Some("switch it off there when agents may run again".to_owned()),
            Self::Broken { .. } => {
                Some("correct the problems above; `fullsend harness lint` lists all of them".to_owned())
            }
            Self::Resolve(error) => error.help(),
            Self::Mint(error) => Some(error.help()),
            Self::TimedOut { .. } => {
                Some("raise `timeout_minutes` or `--timeout`, or give the agent less to do".to_owned())
            }
            Self::Agent(_)
            | Self::Skipped { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Sandbox(_)
            | Self::Runtime(_)
            | Self::Stage(_)
            | Self::Io { .. } => None,
        }
    }

    /// How the step ended that it happened in.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Skipped { .. } => Outcome::Skipped,
            Self::Blocked { .. } | Self::KillSwitch { .. } => Outcome::Blocked,
            Self::Cancelled { .. } => Outcome::Cancelled,
            Self::Agent(_)
            | Self::Broken { .. }
            | Self::Resolve(_)
            | Self::Mint(_)
            | Self::Lock { .. }
            | Self::Refused { .. }
            | Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Sandbox(_)
            | Self::Runtime(_)
            | Self::Stage(_)
            | Self::Io { .. } => Outcome::Failed,
        }
    }
}

/// A time limit as people say it.
fn spoken(limit: Duration) -> String {
    match (limit.as_secs(), limit.subsec_nanos()) {
        (60, 0) => "1 minute".to_owned(),
        (seconds, 0) if seconds > 0 && seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        (1, 0) => "1 second".to_owned(),
        _ => format!("{} seconds", limit.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Stop;

    #[test]
    fn a_limit_is_said_in_the_unit_it_was_given_in() {
        for (millis, said) in [
            (60_000, "1 minute"),
            (1_800_000, "30 minutes"),
            (90_000, "90 seconds"),
            (1_000, "1 second"),
            (1_500, "1.5 seconds"),
            (250, "0.25 seconds"),
        ] {
            let stop = Stop::TimedOut { limit: Duration::from_millis(millis) };
            assert_eq!(stop.to_string(), format!("the agent did not finish within {said}"));
        }
    }
}
