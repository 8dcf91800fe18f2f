//! The run pipeline: a harness to a validated, scanned, auditable result.
//!
//! # Entry points
//!
//! * [`STEPS`]: the whole pipeline as a list; [`Event`] is everything that happens, from which progress, trace and report
//!   are made
//! * [`pre_script`]: what a pre-script says about the run
//! * [`run_dir`]: the directory of a run
//! * [`script`]: scripts of the harness, on the host

mod durable;
mod event;
pub mod pre_script;
pub mod run_dir;
pub mod script;

pub use event::{Event, Outcome, STEPS, Sink, Step};
