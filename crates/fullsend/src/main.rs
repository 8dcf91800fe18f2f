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

/// Whether the version is all that is asked for. Tools ask for it often, and describing every command to answer costs more
/// than the answer.
fn asks_for_version() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    arguments.next().is_none() && first.is_some_and(|argument| argument == "--version" || argument == "-V")
}

fn version() -> ExitCode {
    match Output::new(true).text(concat!("fullsend ", env!("CARGO_PKG_VERSION"), "\n")) {
        Ok(()) => Exit::Done.into(),
        Err(error) if output::is_closed_pipe(&error) => Exit::ClosedPipe.into(),
        Err(_) => Exit::Usage.into(),
    }
}

fn main() -> ExitCode {
    if asks_for_version() {
        return version();
    }
    if let Some(exit) = command::hook::run_quickly(std::env::args_os().skip(1)) {
        return exit.into();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && command::fetch_skill::is_meant(std::env::args_os().skip(1)) => {
            return command::fetch_skill::misused(&error).into();
        }
        Err(error) => error.exit(),
    };
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
