//! Runs commands where a declared policy is true: a contract, the backends that keep it, and the egress proxy.
//!
//! # Entry points
//!
//! * [`SandboxBackend`]: what every backend does; [`SandboxSpec`] says what a session may touch
//! * [`Running`]: a command under way, with its output as it comes
//! * [`PermissionPolicy`]: what an agent may do, in lists that people write; it becomes a spec
//! * [`cgroup::Cgroups`]: limits for whole process trees
//! * [`egress::Egress`]: the proxy through which a session reaches the hosts on its list
//!
//! # Invariants
//!
//! * What a backend cannot enforce it refuses; nothing is accepted and then ignored.
//! * Nothing of the caller's environment, files, processes or network is there unless the spec grants it.
//! * Output is what the command wrote, byte for byte; what was left out is counted.
//!
//! # What it does not do
//!
//! It does not decide what an agent should be allowed to do, reads no harness files, and prints nothing.

pub mod cgroup;
mod contract;
mod docker;
pub mod egress;
mod error;
mod layer;
mod local;
mod mux;
pub mod policy;
pub mod spec;
mod tree;

pub use contract::{Pending, Process, Running, SandboxBackend};
pub use docker::{ContainerHook, ContainerUser, DockerBackend, DockerConfig};
pub use error::SandboxError;
pub use layer::{Layer, LayerStatus};
pub use local::{LocalBackend, LocalConfig};
pub use policy::PermissionPolicy;
pub use spec::{
    ByteString, Denial, Denied, Endpoint, ExecEvent, ExecExit, ExecRequest, ExecResult, FilesystemAccess,
    FilesystemMount, HttpRule, LimitHit, NetworkPolicy, PrivateHost, ResolvedMount, ResourceLimits,
    ResourceUsage, SandboxCapabilities, SandboxSession, SandboxSessionId, SandboxSnapshot, SandboxSpec,
    SandboxState, Secret, TerminalSize, WriteMode,
};
