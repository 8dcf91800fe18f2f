//! The built-in agent: a bounded, resumable loop of model turns and tool calls, on record.
//!
//! # Entry points
//!
//! * [`Tool`]: what a model may call, with its schema and its effect; [`ToolOutput`] is what came of a call
//! * [`Workspace`]: the directories of a run, and the only way to the files in them
//!
//! # Invariants
//!
//! * Whatever a model does ends in a result that it can read, or in a budget that is used up; never in a dead run.
//! * What will be done is on record before it is done.
//!
//! # What it does not do
//!
//! Print, read the environment, know the command line.

pub mod budget;
pub mod event;
pub mod gate;
pub mod prompt;
pub mod schema;
pub mod structured;
pub mod tool;
pub mod toolbox;
pub mod workspace;

pub use tool::{
    AttachedImage, Effect, Pending, Shown, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput,
    ToolSpec,
};
pub use workspace::Workspace;
