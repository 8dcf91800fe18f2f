//! Measures what users of fullsend wait for.
//!
//! Run with `cargo xtask bench [NAME]...`, which builds in release mode first. One module per benchmark; a new
//! one is a module and a line in [`BENCHMARKS`]. Numbers are printed for people to judge, and never decide
//! whether a test passes: they depend on the machine and on what else it does.
#![expect(clippy::print_stdout, reason = "the report is this program's product")]

mod cache;
mod chat;
mod flow;
mod guard;
mod guard_corpus;
mod hook;
mod lint;
mod protect;
mod resolve;
mod run;
mod samples;
mod sandbox;
mod startup;
mod turns;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use clap::builder::PossibleValuesParser;

/// Measure what users of fullsend wait for.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Cli {
    /// Benchmarks to run; all of them when left out
    #[arg(value_parser = PossibleValuesParser::new(BENCHMARKS.iter().map(|benchmark| benchmark.name)))]
    names: Vec<String>,
    /// How often to repeat each measurement
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The binary to measure; by default the one beside this program
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// What a benchmark gets to know.
#[derive(Debug)]
struct Setting {
    /// The `fullsend` binary under test.
    fullsend: PathBuf,
    /// How often to repeat each measurement.
    runs: u32,
}

/// A measurement that can be chosen by name.
#[derive(Debug)]
struct Benchmark {
    name: &'static str,
    run: fn(&Setting) -> Result<()>,
}

/// Every benchmark there is.
const BENCHMARKS: &[Benchmark] = &[
    Benchmark { name: "startup", run: startup::run },
    Benchmark { name: "lint", run: lint::run },
    Benchmark { name: "cache", run: cache::run },
    Benchmark { name: "resolve", run: resolve::run },
    Benchmark { name: "sandbox", run: sandbox::run },
    Benchmark { name: "guard", run: guard::run },
    Benchmark { name: "hook", run: hook::run },
    Benchmark { name: "guard-corpus", run: guard_corpus::run },
    Benchmark { name: "run", run: run::run },
    Benchmark { name: "turns", run: turns::run },
    Benchmark { name: "flow", run: flow::run },
    Benchmark { name: "protect", run: protect::run },
    Benchmark { name: "chat", run: chat::run },
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if let (Some(turns::FLOOR), Some(url)) = (arguments.next().as_deref(), arguments.next()) {
        return turns::floor(&url);
    }
    let cli = Cli::parse();
    let fullsend = match cli.binary {
        Some(binary) => binary,
        None => std::env::current_exe()?.with_file_name("fullsend"),
    };
    if !fullsend.is_file() {
        bail!("{} does not exist; start benchmarks with `cargo xtask bench`", fullsend.display());
    }
    let setting = Setting { fullsend, runs: cli.runs };
    let chosen = |name| cli.names.is_empty() || cli.names.iter().any(|wanted| wanted == name);
    for benchmark in BENCHMARKS.iter().filter(|benchmark| chosen(benchmark.name)) {
        println!("== {}", benchmark.name);
        (benchmark.run)(&setting).with_context(|| format!("benchmark {}", benchmark.name))?;
    }
    Ok(())
}
