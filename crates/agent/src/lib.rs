//! The built-in agent: a bounded, resumable loop of model turns and tool calls, on record.
//!
//! # Entry points
//!
//! * [`scene::Scene`]: a run put together, from what is wanted and what is given; [`scene::Prepared`] runs it
//! * [`engine::Engine`]: a run under way, new or resumed
//! * [`Tool`]: what a model may call, with its schema and its effect; [`ToolOutput`] is what came of a call
//! * [`files`]: the tools that read, write, list and search files
//! * [`flow`]: which calls may be made, and what the model gets to see of their results
//! * [`hooks::CallHooks`]: who is asked about every call and its result, besides the rules of flow
//! * [`explain::explain`]: why a call was denied, from the record
//! * [`Workspace`]: the directories of a run, and the only way to the files in them
//! * [`store::RunStore`]: the directory of a run and its journal; [`store::Recorded`] is what the journal says
//! * [`execution::Execution`]: the sandbox session of a run; [`tools::Bash`] runs commands in it
//! * [`browser::Browser`]: a page of a leased browser
//! * [`subagent::Delegate`]: the tool that gives work to a run of its own
//! * [`protect::Protection`]: keeps commands from changing what runs, or is believed, by itself
//! * [`sources::Sources`]: where values come from: labels of files, commands, prompts, pages and skills
//! * [`slot::PromptSlot`]: evidence of how a prompt came to be; [`manifest::RunManifest`] may supply it
//! * [`sidecar::Sidecars`]: files beside a container, for a runtime that follows labels itself
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

pub mod browser;
pub mod budget;
pub mod engine;
pub mod event;
pub mod execution;
pub mod explain;
pub mod files;
pub mod flow;
pub mod gate;
pub mod hooks;
pub mod manifest;
pub mod mode;
pub mod prompt;
pub mod protect;
pub mod report;
pub mod scene;
pub mod schema;
pub mod sidecar;
pub mod slot;
pub mod sources;
pub mod store;
pub mod structured;
pub mod subagent;
mod summary;
pub mod tool;
pub mod toolbox;
pub mod tools;
pub mod wiring;
pub mod workspace;

pub use tool::{
    AttachedImage, BadArgument, Effect, Pending, Shown, Tool, ToolCallContext, ToolFailure, ToolFault,
    ToolOutput, ToolSpec,
};
pub use workspace::Workspace;
