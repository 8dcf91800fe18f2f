//! Sandboxes made of this machine's own kernel: namespaces, Landlock, seccomp.

mod backend;
mod channel;
pub(crate) mod environment;
pub(crate) mod filter;
pub(crate) mod image;
mod landlock;
mod launcher;
pub(crate) mod limits;
mod live;
mod memory;
pub(crate) mod mounts;
pub(crate) mod network;
mod notify;
mod orphan;
mod paths;
mod probe;
mod process;
mod session;
mod state;
mod terminal;
mod view;
mod watched;

pub use backend::{LocalBackend, LocalConfig};
