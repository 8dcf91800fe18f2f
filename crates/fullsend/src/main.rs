//! The `fullsend` command.

use clap::Parser;

/// Run AI agents from declarative harnesses, safely.
#[derive(Debug, Parser)]
#[command(name = "fullsend", version)]
struct Cli {}

fn main() {
    Cli::parse();
}
