//! Runs every test there is and closes with one line of sums.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::engine::Engine;
use crate::libtest_log::LibtestLog;
use crate::repo::Repo;
use crate::totals::Totals;
use crate::{deny, process, setup};

/// Tests that cannot run here append `name<TAB>reason` to the file that this variable names, and return.
const SKIPS_FILE: &str = "FULLSEND_TEST_SKIPS";

/// The full size of the test in which processes share a cache while others are killed; plain `cargo test` runs a small one.
const CACHE_SCALE: (&str, &str) = ("FULLSEND_TEST_CACHE_SCALE", "32x1000");

/// The full size of the tests in which processes that use sandboxes are killed, flooded and kept busy for long.
const FAULT_SCALE: (&str, &str) = ("FULLSEND_TEST_FAULT_SCALE", "full");

/// A part of the test run that counts on its own.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Repo) -> Result<Totals>,
}

/// Everything that `cargo xtask test` runs, in this order.
pub(crate) const SUITES: &[Suite] = &[
    Suite { name: "dependency policy", run: deny::suite },
    Suite { name: "workspace tests", run: workspace_tests },
];

/// The `test` command.
pub(crate) fn test(repo: &Repo) -> Result<ExitCode> {
    let mut totals = Totals { skips: setup::ensure_all(repo, setup::FOR_TESTS), ..Totals::default() };
    for suite in SUITES {
        println!("== {}", suite.name);
        totals.add(suite.count(repo));
    }
    Ok(totals.close())
}

impl Suite {
    /// Runs the suite; one that cannot even start counts as a failure.
    pub(crate) fn count(&self, repo: &Repo) -> Totals {
        (self.run)(repo).unwrap_or_else(|error| {
            println!("{}: {error:#}", self.name);
            Totals { failed: 1, ..Totals::default() }
        })
    }
}

/// Unit, integration and documentation tests of all crates.
fn workspace_tests(repo: &Repo) -> Result<Totals> {
    let skips_file = repo.target_dir()?.join(format!("test-skips-{}", std::process::id()));
    std::fs::write(&skips_file, "").with_context(|| format!("cannot write {}", skips_file.display()))?;
    let engine = Engine::ready(repo);
    let totals = run_cargo_test(repo, &skips_file, engine.as_ref().ok());
    let declared = std::fs::read_to_string(&skips_file)?;
    std::fs::remove_file(&skips_file)?;
    let mut totals = totals?;
    totals.move_declared_skips(&declared);
    totals.skips.extend(engine.err());
    Ok(totals)
}

fn run_cargo_test(repo: &Repo, skips_file: &Path, engine: Option<&Engine>) -> Result<Totals> {
    let mut log = LibtestLog::default();
    let mut cargo = repo.cargo();
    cargo.args(["test", "--workspace", "--no-fail-fast"]);
    cargo.env(SKIPS_FILE, skips_file).env(CACHE_SCALE.0, CACHE_SCALE.1).env(FAULT_SCALE.0, FAULT_SCALE.1);
    if let Some(engine) = engine {
        engine.announce(&mut cargo);
    }
    let status = process::stream_stdout(&mut cargo, |line| {
        println!("{line}");
        log.line(line);
    })?;
    Ok(log.totals(status.success()))
}
