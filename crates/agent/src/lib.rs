//! The built-in agent: a bounded, resumable loop of model turns and tool calls, on record.
//!
//! # Entry points
//!
//! * [`Tool`]: what a model may call, with its schema and its effect; [`ToolOutput`] is what came of a call
//! * [`store::RunStore`]: the directory of a run and its journal; [`store::Recorded`] is what the journal says
//! * [`report`]: what is made from the journal when a run is over
//!
//! # Invariants
//!
//! * Whatever a model does ends in a result that it can read, or in a budget that is used up; never in a dead run.
//! * What will be done is on record before it is done.
//!
//! # What it does not do
//!
//! Print, read the environment, know the command line.

pub mod gate;
pub mod report;
pub mod schema;
pub mod store;
pub mod tool;
pub mod toolbox;

pub use tool::{
    AttachedImage, Effect, Pending, Shown, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput,
    ToolSpec,
};
