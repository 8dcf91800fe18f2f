//! Arguments of `fullsend flow`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::ShowFormat;

#[derive(Debug, Subcommand)]
pub(crate) enum FlowCommand {
    /// Say why calls of a run were denied, which exception allowed them, and what was hidden from the model
    ///
    /// Names the part of the call that is not what it must be, what in the conversation made it so, and an exception for
    /// the policy that would allow this call once. Of a result that was hidden it names the handle and the label.
    Explain(FlowExplainArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FlowExplainArgs {
    /// The directory of a run, or its `run-state.json`
    #[arg(value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) run: PathBuf,
    /// Only this call, also if it was allowed; its id is in the report of the run
    #[arg(value_name = "CALL")]
    pub(crate) call: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}
