//! The commands, one module each.

mod agent;
mod cache;
mod chat;
mod check_output;
mod completions;
mod doctor;
mod fetch;
pub(crate) mod fetch_skill;
mod flow;
pub(crate) mod hook;
mod init;
mod lint;
mod lock;
mod pin;
mod remote;
mod rules;
mod run;
mod runs;
mod sandbox;
mod scan;
mod schema;
mod show;
mod skills;
mod verify_findings;

use std::path::PathBuf;

use anyhow::Result;
use fullsend_harness::workspace;

use crate::cli::{Command, DirectoryArgs, HarnessCommand, SandboxCommand};
use crate::exit::Exit;
use crate::output::{Advice, Output};

/// Runs a command.
pub(crate) fn run(command: Command, output: &mut Output) -> Result<Exit> {
    match command {
        Command::Harness(HarnessCommand::Lint(args)) => lint::run(args, output),
        Command::Harness(HarnessCommand::Show(args)) => show::run(&args, output),
        Command::Harness(HarnessCommand::Schema(args)) => schema::run(&args, output),
        Command::Harness(HarnessCommand::Rules(args)) => rules::run(&args, output),
        Command::Fetch(args) => fetch::run(&args, output),
        Command::FetchSkill(args) => fetch_skill::run(&args, output),
        Command::Lock(args) => lock::run(&args, output),
        Command::Pin(args) => pin::run(&args, output),
        Command::Cache(command) => cache::run(command, output),
        Command::Exec(args) => agent::exec(&args, output),
        Command::Resume(args) => agent::resume(&args, output),
        Command::Chat(args) => chat::run(&args, output),
        Command::Flow(command) => flow::run(command, output),
        Command::Skills(command) => skills::run(command, output),
        Command::Sandbox(SandboxCommand::Exec(args)) => sandbox::exec(&args, output),
        Command::Sandbox(SandboxCommand::Policy(args)) => sandbox::show_policy(&args, output),
        Command::Scan(command) => scan::run(command, output),
        Command::Hook(command) => hook::run(command, output),
        Command::Run(args) => run::run(&args, output),
        Command::Runs(command) => runs::run(command, output),
        Command::CheckOutput(args) => check_output::run(&args, output),
        Command::Doctor(args) => doctor::run(&args, output),
        Command::Init(args) => init::run(&args, output),
        Command::Completions(args) => completions::run(&args, output),
    }
}

/// The fullsend directory that was named, or the nearest one; relative to the working directory, as people write it.
fn fullsend_directory(args: &DirectoryArgs) -> Result<PathBuf> {
    if let Some(directory) = &args.fullsend_dir {
        anyhow::ensure!(
            directory.is_dir(),
            Advice::new(
                format!("the fullsend directory `{}` does not exist", directory.display()),
                "run `fullsend init`, or correct `--fullsend-dir`",
            )
        );
        return Ok(directory.clone());
    }
    let working = std::env::current_dir()?;
    let found = workspace::discover(&working).ok_or_else(|| {
        Advice::new(
            format!("no `.fullsend` directory in `{}` or above it", working.display()),
            "run `fullsend init` to start one, or name one with `--fullsend-dir`",
        )
    })?;
    Ok(found.strip_prefix(&working).map(PathBuf::from).unwrap_or(found))
}
