//! What a session may touch, what is run in it, and what came of it.
//!
//! The wire shapes are a contract with other software: names and tags do not change.

mod bytes;
mod exec;
mod mount;
mod network;
mod session;

pub use bytes::ByteString;
pub(crate) use exec::Kept;
pub use exec::{
    Denial, Denied, ExecEvent, ExecExit, ExecRequest, ExecResult, LimitHit, ResourceUsage, TerminalSize,
};
pub use mount::{FilesystemAccess, FilesystemMount, ResolvedMount, WriteMode, is_at_or_below, normal_target};
pub use network::{Endpoint, HttpRule, NetworkPolicy, PrivateHost, Secret};
pub use session::{
    ResourceLimits, SandboxCapabilities, SandboxSession, SandboxSessionId, SandboxSnapshot, SandboxSpec,
    SandboxState,
};

/// Durable memory of the agent; read-only unless a mount says otherwise.
pub const MEMORY_MOUNT: &str = "/mnt/memory";
/// Where a session leaves its results.
pub const OUTPUTS_MOUNT: &str = "/mnt/session/outputs";
/// Names [`MEMORY_MOUNT`] in every command's environment.
pub const MEMORY_VARIABLE: &str = "FULLSEND_MEMORY_DIR";
/// Names [`OUTPUTS_MOUNT`] in every command's environment.
pub const OUTPUTS_VARIABLE: &str = "FULLSEND_OUTPUTS_DIR";
