//! The run pipeline: a harness to a validated, scanned, auditable result.
//!
//! # Entry points
//!
//! * [`STEPS`]: the whole pipeline as a list; [`Event`] is everything that happens, from which progress, trace and report
//!   are made
//! * [`check_output`]: whether a file is the result that was asked for
//! * [`event_log`]: everything that happened, on disk
//! * [`extract`]: what the agent left, out of the sandbox's files
//! * [`pre_script`]: what a pre-script says about the run
//! * [`report`]: how a run stands, at every moment
//! * [`run_dir`]: the directory of a run; [`runs`] reads those of the past
//! * [`sanitise`]: what is delivered, made harmless and kept as it was checked
//! * [`script`]: scripts of the harness, on the host
//! * [`trace`]: spans for whoever collects them
//! * [`transcript`]: what a runtime's own record says about its end
//! * [`validate`]: whether the result is what was asked for, and which attempt counts

pub mod check_output;
mod durable;
mod event;
pub mod event_log;
pub mod extract;
pub mod pre_script;
pub mod report;
pub mod run_dir;
pub mod runs;
pub mod sanitise;
pub mod script;
pub mod trace;
pub mod transcript;
pub mod validate;

pub use event::{AccessKind, Event, Outcome, STEPS, Sink, Step};
