//! Why an action came to nothing.

use super::action::InputError;
use super::lease::LeaseError;

/// Why an action came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// It cannot be asked.
    #[error("{0}")]
    Input(#[from] InputError),
    /// The browser is not lent.
    #[error("{0}")]
    Lease(#[from] LeaseError),
    /// There is no browser at the other end, or no longer, or none that keeps to the protocol.
    #[error("{0}")]
    Host(String),
    /// The browser or the page did not do it.
    #[error("{0}")]
    Command(String),
}

impl Failure {
    /// The code in the output.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Input(_) => "invalid_input",
            Self::Lease(_) => "lease_unavailable",
            Self::Host(_) => "host_unavailable",
            Self::Command(_) => "command_failed",
        }
    }

    /// The kind of failure in the report of the run. A page that does not do what is asked is none.
    pub(super) fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Input(_) => Some("tool_not_allowed"),
            Self::Lease(_) | Self::Host(_) => Some("harness_error"),
            Self::Command(_) => None,
        }
    }

    pub(super) fn command(message: impl Into<String>) -> Self {
        Self::Command(message.into())
    }

    pub(super) fn host(message: impl Into<String>) -> Self {
        Self::Host(message.into())
    }
}
