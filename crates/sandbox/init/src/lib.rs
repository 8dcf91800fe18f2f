//! Sets a sandbox up from inside, then runs its commands as process 1.
//!
//! The program of this crate is linked statically and carried inside `fullsend`, which starts it from memory. It has
//! one thread, always: namespaces and identities belong to threads, and a process with several cannot change them
//! safely.
//!
//! # Entry points
//!
//! * [`wire`]: the messages, shared with the host side
//! * [`launcher`]: lives as long as the backend and clones a process 1 for each session
//! * [`setup`]: what a process 1 does before it is locked in: file systems, network, limits, Landlock, seccomp
//! * [`container`]: the same for a container, where an engine has done most of it
//! * [`server`]: what it does afterwards: start commands, reap, kill
//!
//! # Invariants
//!
//! * Every step either succeeds or ends the process before any command has run.
//! * What to mount, allow and limit is decided by the host; this program carries out a list and decides nothing.
//! * Unsafe code is in [`kernel`] only.
//!
//! # What it does not do
//!
//! It trusts the host side and nothing else; it reads no configuration and writes no files outside the new root.

pub mod channel;
pub mod container;
pub mod kernel;
pub mod launcher;
pub mod lockdown;
pub mod mux;
pub mod owners;
pub mod processes;
pub mod relay;
pub mod rootfs;
pub mod server;
pub mod setup;
pub mod wire;
