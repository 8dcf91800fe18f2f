//! What can go wrong with a sandbox.

use std::io;

use crate::spec::SandboxSessionId;

/// Why a backend did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The session never existed, or it has been terminated.
    #[error("there is no sandbox session `{0}`")]
    SessionNotFound(SandboxSessionId),
    /// This backend cannot do it on this machine. Nothing was changed.
    #[error("the {backend} sandbox does not support {operation}{}", because(.reason))]
    Unsupported {
        /// The backend's name.
        backend: &'static str,
        /// What was asked.
        operation: &'static str,
        /// Why not, and what would help; may be empty.
        reason: String,
    },
    /// The request contradicts itself or asks for something that no sandbox grants. Nothing was changed.
    #[error("{0}")]
    InvalidRequest(String),
    /// The sandbox could not be set up, changed or taken down.
    #[error("{0}")]
    Lifecycle(String),
    /// What must be in place before a container starts is not; nothing was started.
    #[error("{0}")]
    NotPrepared(String),
    /// The command could not be started, or its end could not be learnt.
    #[error("{0}")]
    Exec(String),
    /// The command does not exist, or is nothing that can be run.
    #[error("cannot start `{command}` in the sandbox: {source}")]
    NotStarted {
        /// The program as it was asked for.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// A network policy that cannot be understood or enforced.
    #[error("{0}")]
    NetworkPolicy(String),
    /// Reading or writing on this machine failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, and to what.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A record that should be JSON is not.
    #[error("{doing}: {source}")]
    Json {
        /// What was being read or written.
        doing: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl SandboxError {
    /// The stable name of this kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SessionNotFound(_) => "session-not-found",
            Self::Unsupported { .. } => "sandbox-unsupported",
            Self::InvalidRequest(_) => "sandbox-invalid-request",
            Self::Lifecycle(_) => "sandbox-lifecycle",
            Self::NotPrepared(_) => "sandbox-not-prepared",
            Self::Exec(_) => "sandbox-exec",
            Self::NotStarted { .. } => "sandbox-not-started",
            Self::NetworkPolicy(_) => "sandbox-network-policy",
            Self::Io { .. } => "sandbox-io",
            Self::Json { .. } => "sandbox-json",
        }
    }

    /// For `map_err`: the system's answer while `doing` something.
    pub fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}
