//! Sandboxes made of this machine's own kernel: namespaces, Landlock, seccomp.

mod backend;
mod channel;
mod environment;
mod filter;
mod image;
mod landlock;
mod launcher;
mod limits;
mod live;
mod memory;
mod mounts;
mod network;
mod notify;
mod paths;
mod probe;
mod process;
mod session;
mod state;
mod terminal;
mod view;
mod watched;

pub use backend::{LocalBackend, LocalConfig};
