//! Checks dependencies against `deny.toml`: no duplicates, known licences, known sources, one owner for each
//! dangerous dependency.

use anyhow::{Result, bail};

use crate::process;
use crate::repo::Repo;
use crate::setup;
use crate::totals::{Skip, Totals};

/// The `deny` command: a tool that cannot be installed is an error here.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let missing = setup::ensure_all(repo, &[setup::CARGO_DENY]);
    if let Some(Skip { name, reason }) = missing.first() {
        bail!("{name}: {reason}");
    }
    run_tool(repo)
}

/// The same check as a test suite; when the tool is missing, setup has already recorded the skip.
pub(crate) fn suite(repo: &Repo) -> Result<Totals> {
    if setup::CARGO_DENY.locate(repo).is_none() {
        return Ok(Totals::default());
    }
    match run_tool(repo) {
        Ok(()) => Ok(Totals { passed: 1, ..Totals::default() }),
        Err(error) => {
            println!("{error:#}");
            Ok(Totals { failed: 1, ..Totals::default() })
        }
    }
}

/// Advisories are left out: they need a database from the network, and a test run must not depend on that.
fn run_tool(repo: &Repo) -> Result<()> {
    let Some(tool) = setup::CARGO_DENY.locate(repo) else { bail!("cargo-deny is not installed") };
    process::run(repo.command(tool).args([
        "--workspace",
        "--all-features",
        "check",
        "bans",
        "licenses",
        "sources",
    ]))
}
