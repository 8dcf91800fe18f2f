//! Logging to standard error, off unless asked for.

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;

use crate::environment;

/// Starts logging when `FULLSEND_LOG` says so.
pub(crate) fn start() -> Result<()> {
    let Some(filter) = environment::log_filter() else { return Ok(()) };
    let parsed: EnvFilter = filter
        .parse()
        .with_context(|| format!("`{}` is not a log filter: `{filter}`", environment::FULLSEND_LOG))?;
    tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(std::io::stderr)
        .with_ansi(environment::allows_colour() && std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .init();
    Ok(())
}
