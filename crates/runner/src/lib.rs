//! The run pipeline: a harness to a validated, scanned, auditable result.
//!
//! Entry points: [`STEPS`] is the whole pipeline as a list; [`Event`] is everything that happens, from which progress, trace
//! and report are made. What the agent gets is prepared by [`environment`], [`env_file`] and [`host_files`].

pub mod api_servers;
pub mod assemble;
mod beneath;
pub mod context;
pub mod env_file;
pub mod environment;
mod event;
pub mod grants;
pub mod host_files;
pub mod policy_file;
pub mod readonly_repo;
pub mod scan;
pub mod security;

pub use event::{Event, Outcome, STEPS, Sink, Step};
