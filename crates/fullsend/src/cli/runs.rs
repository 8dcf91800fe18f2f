//! Arguments of `fullsend runs` and `fullsend check-output`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ShowFormat;
use crate::environment;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, oldest first
    Ls(RunsListArgs),
    /// Show what happened in a run
    ///
    /// Steps, tool calls, findings, what was asked for outside the sandbox, and costs, in the order in which they happened.
    /// Whether the findings log is whole is checked, too; the exit code is 1 when it was changed.
    Show(RunsShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunsPlaceArgs {
    /// Where run directories are [default: `fullsend/runs` in the directory for state]
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}

#[derive(Debug, Args)]
pub(crate) struct RunsListArgs {
    #[command(flatten)]
    pub(crate) place: RunsPlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunsShowArgs {
    /// The name of a run, or the path of its directory
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) place: RunsPlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOutputArgs {
    /// The file with the result
    pub(crate) file: PathBuf,
    /// The JSON Schema that it must satisfy
    #[arg(long, value_name = "FILE", env = environment::FULLSEND_OUTPUT_SCHEMA)]
    pub(crate) schema: PathBuf,
    /// What the file must be called
    #[arg(long, value_name = "NAME", env = environment::FULLSEND_OUTPUT_FILE, default_value = fullsend_runner::check_output::DEFAULT_FILE)]
    pub(crate) expect_name: String,
}
