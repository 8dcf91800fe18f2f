//! The arguments of `fullsend hook`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Decide about a tool call before it happens
    ///
    /// Reads one JSON object (`tool_name`, `tool_input`) from standard input. Nothing is printed when the call may happen.
    /// What cannot be checked is denied: bad input, a bad configuration, a failure of this program.
    #[command(
        after_help = "Exit codes: 0 the call may happen; 2 it is denied, and standard output says why."
    )]
    PreTool(HookArgs),
    /// Clean the output of a tool call before the model sees it
    ///
    /// Reads one JSON object with `tool_result`, or `tool_response` as Claude Code sends it, from standard input. Nothing is
    /// printed when the output may stay as it is; otherwise the reply has what takes its place, in the same shape.
    #[command(
        after_help = "Exit codes: 0 the output may be shown, as it is or as the reply has it; 2 it is withheld."
    )]
    PostTool(HookArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// What is checked, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: PathBuf,
}
