//! What is printed, and how: results to standard output, everything else to standard error.
//!
//! Colour and width depend on the terminal; text that comes from files is made harmless before it reaches one.

pub(crate) mod diagnostics;
pub(crate) mod findings;
pub(crate) mod harness_text;
pub(crate) mod problems_json;
pub(crate) mod progress;
pub(crate) mod sarif;

use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::{Error, Result};
use fullsend_yaml::printable;

use crate::environment;

/// Columns assumed where there is no terminal to ask.
const DEFAULT_WIDTH: usize = 120;

/// The two streams of the process and what they can show.
#[derive(Debug)]
pub(crate) struct Output {
    quiet: bool,
}

impl Output {
    /// The process's own streams.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether only results are printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether standard output shows colour.
    pub(crate) fn colour(&self) -> bool {
        environment::allows_colour() && io::stdout().is_terminal()
    }

    /// The width of the terminal behind standard output.
    pub(crate) fn width(&self) -> usize {
        let columns = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        columns.filter(|columns| *columns >= 40).unwrap_or(DEFAULT_WIDTH)
    }

    /// Prints a result.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    }

    /// Prints a result as indented JSON: programs do not mind, and people read it too.
    pub(crate) fn json(&mut self, value: &serde_json::Value) -> Result<()> {
        let mut stdout = io::stdout().lock();
        serde_json::to_writer_pretty(&mut stdout, value)?;
        stdout.write_all(b"\n")?;
        Ok(stdout.flush()?)
    }

    /// Prints one event as a line of JSON, at once.
    pub(crate) fn line(&mut self, value: &serde_json::Value) -> Result<()> {
        self.text(&format!("{value}\n"))
    }

    /// Prints a remark, unless asked not to.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.stderr(&format!("{text}\n"));
        }
    }

    /// Prints what was asked for besides the result, on standard error.
    pub(crate) fn aside(&mut self, text: &str) {
        self.stderr(text);
    }

    /// Prints why the command failed: what, the causes below it, and what to do.
    pub(crate) fn failure(&mut self, error: &Error) {
        let mut text = format!("error: {}\n", printable(error.to_string()));
        for cause in error.chain().skip(1) {
            text.push_str(&format!("  cause: {}\n", printable(cause.to_string())));
        }
        if let Some(advice) = error.downcast_ref::<Advice>() {
            text.push_str(&format!("  help: {}\n", printable(advice.help.clone())));
        }
        self.stderr(&text);
    }

    /// Nothing can be done about a standard error that cannot be written to.
    fn stderr(&mut self, text: &str) {
        let _nowhere_to_tell = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// A failure with its next step.
#[derive(Debug)]
pub(crate) struct Advice {
    message: String,
    help: String,
}

impl Advice {
    /// A failure and what to do about it.
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

impl std::fmt::Display for Advice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Advice {}

/// An error with its causes and its next step, for whoever takes one line.
pub(crate) fn in_one_line(error: &Error) -> String {
    let mut text = format!("{error:#}");
    if let Some(advice) = error.downcast_ref::<Advice>() {
        text.push_str(&format!("; {}", advice.help));
    }
    text
}

/// Whether an error only says that nobody reads the output any more.
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    let of_io = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    };
    let of_json = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind)
            == Some(ErrorKind::BrokenPipe)
    };
    error.chain().any(|cause| of_io(cause) || of_json(cause))
}
