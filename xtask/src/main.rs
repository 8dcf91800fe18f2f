//! The repository's own commands, run as `cargo xtask <command>`.
//!
//! One module per command. Everything CI does is a command here, so a developer can repeat any of it on a
//! laptop with nothing but Rust installed. It never talks to a forge and never changes tracked files, except
//! `docs`, which rewrites the generated pages.
#![expect(clippy::print_stdout, reason = "a developer tool talks to its terminal")]

mod bench;
mod ci;
mod deny;
mod docs;
mod engine;
mod fuzz;
mod fuzz_log;
mod help_tree;
mod layers;
mod lengths;
mod libtest_log;
mod process;
mod repo;
mod setup;
mod suites;
mod totals;
mod version;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;

use crate::repo::Repo;

/// The repository's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Run every test; the last line is `N passed, N failed, N skipped`
    Test,
    /// Run everything a change must pass: style, architecture, generated pages, lints, tests
    Ci,
    /// Install what tests need beyond Rust; repeated runs do nothing
    Setup,
    /// Check that dependencies between our crates point down only
    Layers,
    /// Check that no source file is longer than the limit
    Lengths,
    /// Check dependencies against deny.toml: duplicates, licences, sources
    Deny,
    /// Rewrite the pages that are generated from the built binary
    Docs(docs::Args),
    /// Fuzz the parsers of hostile bytes with libFuzzer, on stable Rust
    Fuzz(fuzz::Args),
    /// Build in release mode and run the benchmarks
    Bench(bench::Args),
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(code) => code,
        Err(error) => {
            // Nothing useful is left to do when stderr is closed.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let repo = Repo::find()?;
    match command {
        Command::Test => return suites::test(&repo),
        Command::Ci => return ci::run(&repo),
        Command::Setup => setup::run(&repo),
        Command::Layers => layers::check(&repo)?,
        Command::Lengths => lengths::check(&repo)?,
        Command::Deny => deny::check(&repo)?,
        Command::Docs(args) => docs::run(&repo, args)?,
        Command::Fuzz(args) => fuzz::run(&repo, &args)?,
        Command::Bench(args) => bench::run(&repo, &args)?,
    }
    Ok(ExitCode::SUCCESS)
}
