//! Sandboxes in containers of an engine: docker or podman, with any runtime.
//!
//! One container runs for each session. Its process 1 is ours, so that a command costs a message and not a request to
//! the engine, and the container ends when this process does. The engine is driven through its command line client,
//! which knows about contexts, sockets and credentials; nothing is ever fetched.

mod arguments;
mod backend;
mod client;
mod command;
mod config;
mod container;
mod engine;
mod examine;
mod hook;
mod init;
mod layout;
pub(crate) mod limits;
mod network;
mod owners;
mod record;
mod session;
mod sweep;

pub use arguments::ContainerUser;
pub use backend::DockerBackend;
pub use config::DockerConfig;
pub use hook::ContainerHook;
