//! The `fullsend` command: reads arguments, calls the library, prints, and picks the exit code.
//!
//! Layout: `cli` (arguments), `command` (one module per command), `output` (what is printed, and how), `environment`
//! (every variable that is read), `exit` (what the exit codes mean), `logging`.

mod cli;
mod command;
mod environment;
mod exit;
mod logging;
mod output;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut output = Output::new(cli.quiet);
    let result = logging::start().and_then(|()| command::run(cli.command, &mut output));
    let exit = result.unwrap_or_else(|error| {
        if output::is_closed_pipe(&error) {
            return Exit::ClosedPipe;
        }
        output.failure(&error);
        Exit::Usage
    });
    exit.into()
}
