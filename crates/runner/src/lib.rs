//! The run pipeline: a harness to a validated, scanned, auditable result.
//!
//! Entry points: [`STEPS`] is the whole pipeline as a list; [`Event`] is everything that happens, from which progress, trace
//! and report are made.

mod event;

pub use event::{Event, Outcome, STEPS, Sink, Step};
