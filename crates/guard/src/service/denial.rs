//! The answer where there is no decision.

use super::wire::Reply;
use crate::hook::{HookPhase, failure};

/// Why the service denies by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// Deciding ended in a fault.
    Fault,
    /// What was found cannot be written.
    NotRecorded,
    /// More was found than a run may have.
    Flooded,
    /// The answer is longer than any may be.
    TooLong,
}

impl Denied {
    const fn reason(self) -> &'static str {
        match self {
            Self::Fault => "the check of this tool call failed",
            Self::NotRecorded => "the findings of this tool call could not be recorded",
            Self::Flooded => "this run has more findings than are recorded",
            Self::TooLong => "the checked output of this tool call is too long",
        }
    }

    /// What the hook prints. For output it ends the run: a block alone is not known to keep output from a model.
    pub(super) fn reply(self, phase: HookPhase) -> Reply {
        failure(phase, self.reason()).into()
    }
}
