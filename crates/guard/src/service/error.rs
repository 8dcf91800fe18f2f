//! Why there is no service, or no answer.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a service cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The socket cannot be made.
    #[error("cannot make the hook socket `{}`", path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no thread for it.
    #[error("cannot start a thread for the hook service")]
    Thread(#[source] io::Error),
}

impl ServiceError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Socket { .. } => "hook-service-socket",
            Self::Thread(_) => "hook-service-thread",
        }
    }
}

/// Why there is no answer. Whatever the reason, the hook denies.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// Nobody listens.
    #[error("nobody answers on the hook socket `{}`", path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The input is longer than any that is decided about.
    #[error("the hook input has {length} bytes; the limit is {limit}")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The answer took too long.
    #[error("the hook service did not answer in time")]
    TimedOut,
    /// The connection was closed: the service refuses, or has ended.
    #[error("the hook service closed the connection")]
    Closed(#[source] io::Error),
    /// What came back is not an answer.
    #[error("what came over the hook socket is not an answer")]
    NotAnAnswer,
}

impl AskError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "hook-service-unreachable",
            Self::TooLong { .. } => "hook-input-too-long",
            Self::TimedOut => "hook-service-timeout",
            Self::Closed(_) => "hook-service-closed",
            Self::NotAnAnswer => "hook-service-protocol",
        }
    }
}
