//! Everything a change must pass, in one command with one exit code.
//!
//! Steps do not stop each other: one run shows all that is wrong.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::repo::Repo;
use crate::suites::SUITES;
use crate::totals::Totals;
use crate::version::Version;
use crate::{docs, fuzz, layers, lengths, process, setup};

/// A check without countable tests.
type Step = (&'static str, fn(&Repo) -> Result<()>);

/// Cheap checks first. The test suites follow, see [`SUITES`].
const STEPS: &[Step] = &[
    ("fmt", fmt),
    ("layers", layers::check),
    ("lengths", lengths::check),
    ("docs-check", docs::check),
    ("clippy", clippy),
    ("fuzz-check", fuzz::check),
    ("rustdoc", rustdoc),
];

/// The `ci` command.
pub(crate) fn run(repo: &Repo) -> Result<ExitCode> {
    require_compiler(repo)?;
    let mut failed_steps = Vec::new();
    for (name, check) in STEPS {
        if !timed(name, || report(check(repo))) {
            failed_steps.push(*name);
        }
    }
    let mut totals = Totals { skips: setup::ensure_all(repo, setup::FOR_TESTS), ..Totals::default() };
    for suite in SUITES {
        let counted = timed(suite.name, || suite.count(repo));
        if counted.failed > 0 {
            failed_steps.push(suite.name);
        }
        totals.add(counted);
    }
    if !failed_steps.is_empty() {
        println!("FAILED: {}", failed_steps.join(", "));
    }
    let tests = totals.close();
    Ok(if failed_steps.is_empty() { tests } else { ExitCode::FAILURE })
}

/// Cargo's own message about an old compiler depends on which crate it meets first; this one is always the same.
fn require_compiler(repo: &Repo) -> Result<()> {
    let manifest = std::fs::read_to_string(repo.join("Cargo.toml"))?;
    let wanted = rust_version(&manifest).context("no rust-version in Cargo.toml")?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let printed = process::capture(repo.command(rustc).arg("--version"))?;
    let found = Version::find(&printed).with_context(|| format!("no version in {printed:?}"))?;
    if found < wanted {
        bail!(
            "rustc {found} is too old: this workspace needs {wanted} or newer (rust-version in Cargo.toml)"
        );
    }
    Ok(())
}

/// The `rust-version = "1.95"` line of the workspace manifest.
fn rust_version(manifest: &str) -> Option<Version> {
    let value = manifest.lines().find_map(|line| line.strip_prefix("rust-version"))?;
    Version::parse(value.trim_start().strip_prefix('=')?.trim().trim_matches('"'))
}

fn fmt(repo: &Repo) -> Result<()> {
    process::run(repo.cargo().args(["fmt", "--all", "--check"]))?;
    // Outside the workspace, so `--all` does not reach it.
    process::run(repo.cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))
}

fn clippy(repo: &Repo) -> Result<()> {
    process::run(repo.cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn rustdoc(repo: &Repo) -> Result<()> {
    let mut cargo = repo.cargo();
    process::run(cargo.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn report(result: Result<()>) -> bool {
    if let Err(error) = &result {
        println!("{error:#}");
    }
    result.is_ok()
}

fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    println!("== {name}");
    let start = Instant::now();
    let result = work();
    println!("== {name} took {:.1} s", start.elapsed().as_secs_f64());
    result
}

#[cfg(test)]
mod tests {
    use super::rust_version;
    use crate::version::Version;

    #[test]
    fn the_wanted_compiler_is_read_from_the_workspace_manifest() {
        let manifest = include_str!("../../Cargo.toml");
        assert!(rust_version(manifest) >= Version::parse("1.95"));
        assert_eq!(rust_version("rust-version = \"1.95\"\n"), Version::parse("1.95"));
        assert_eq!(rust_version("[package]\n"), None);
    }
}
