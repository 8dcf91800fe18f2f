//! Builds what users get and runs the benchmarks against it.

use std::ffi::OsString;

use anyhow::Result;

use crate::process;
use crate::repo::Repo;

/// Arguments of the `bench` command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Passed on to the benchmark program; `--help` after `--` shows what it takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// The `bench` command. Both binaries land in one directory, where the benchmarks look for `fullsend`.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    process::run(repo.cargo().args([
        "build",
        "--release",
        "--package",
        "fullsend",
        "--package",
        "fullsend-bench",
    ]))?;
    let program = repo.target_dir()?.join("release/fullsend-bench");
    process::run(repo.command(program).args(&args.arguments))
}
