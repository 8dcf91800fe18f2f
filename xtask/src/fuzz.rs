//! Builds the fuzz targets with coverage feedback on stable Rust and runs them for a while.
//!
//! The usual driver needs a nightly compiler for its sanitizers. Our crates contain no unsafe code outside one
//! module, so panics, hangs and memory growth are what there is to find, and for these LLVM's coverage pass,
//! which stable Rust can switch on, is enough.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::fuzz_log::FuzzLog;
use crate::repo::Repo;
use crate::{process, setup};

/// What `-Zsanitizer` would set up, except for the sanitizer itself.
const RUSTFLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    // Lets libFuzzer see what the input is compared with, so that it finds keywords.
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Clink-dead-code",
    "-Cforce-frame-pointers=yes",
    "--cfg=fuzzing",
];

/// Flags of the `fuzz` command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A binary of the fuzz crate; all of them when left out
    target: Option<String>,
    /// How long to run each target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// The `fuzz` command.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    if let Some(skip) = setup::ensure_all(repo, setup::FOR_FUZZING).first() {
        bail!("{}: {}", skip.name, skip.reason);
    }
    let known = targets(repo)?;
    let chosen = match &args.target {
        None => known,
        Some(name) if known.contains(name) => vec![name.clone()],
        Some(name) => bail!("no fuzz target {name}; there are: {}", known.join(", ")),
    };
    let binaries = build(repo)?;
    let results: Vec<Result<String>> =
        chosen.iter().map(|target| run_target(repo, &binaries, target, args.seconds)).collect();
    let mut failed = Vec::new();
    for (target, result) in chosen.iter().zip(results) {
        match result {
            Ok(summary) => println!("{target}: {summary}"),
            Err(error) => failed.push(format!("{target}: {error:#}")),
        }
    }
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    Ok(())
}

/// Lints the targets without compiling libFuzzer, so that they cannot fall behind the crates they test.
pub(crate) fn check(repo: &Repo) -> Result<()> {
    let mut cargo = fuzz_cargo(repo, "clippy");
    cargo.arg("--target-dir").arg(repo.target_dir()?.join("fuzz-check")).args(["--", "-D", "warnings"]);
    // Nothing is linked, so the library named here does not have to exist.
    process::run(cargo.env("CUSTOM_LIBFUZZER_PATH", "/nonexistent/libfuzzer.a"))
}

fn targets(repo: &Repo) -> Result<Vec<String>> {
    let mut cargo = fuzz_cargo(repo, "metadata");
    let json = process::capture(cargo.args(["--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&json)?;
    let targets = metadata.pointer("/packages/0/targets").and_then(Value::as_array);
    let targets = targets.context("the fuzz crate has no targets")?;
    Ok(targets.iter().filter_map(|target| target["name"].as_str()).map(str::to_owned).collect())
}

/// Builds all targets and returns the directory of the binaries.
fn build(repo: &Repo) -> Result<PathBuf> {
    let host = host_triple(repo)?;
    let target_dir = repo.target_dir()?.join("fuzz");
    let mut cargo = fuzz_cargo(repo, "build");
    // Naming the target, even the host itself, keeps the flags away from build scripts.
    cargo.args(["--release", "--bins", "--target", &host]).arg("--target-dir").arg(&target_dir);
    process::run(cargo.env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\u{1f}")))?;
    Ok(target_dir.join(host).join("release"))
}

fn run_target(repo: &Repo, binaries: &Path, target: &str, seconds: u32) -> Result<String> {
    println!("== fuzz {target} for {seconds} s");
    let corpus = repo.join("fuzz/corpus").join(target);
    let artifacts = repo.join("fuzz/artifacts").join(target);
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let mut fuzzer = Command::new(binaries.join(target));
    fuzzer.current_dir(repo.root());
    // New inputs go to the first directory; the seeds are only read.
    fuzzer.arg(&corpus).arg(repo.join("fuzz/seeds").join(target));
    fuzzer.arg(format!("-max_total_time={seconds}"));
    fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display()));
    fuzzer.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]);
    let mut log = FuzzLog::default();
    let status = process::stream_stderr(&mut fuzzer, |line| {
        if log.line(line) {
            println!("{line}");
        }
    })?;
    log.finish(status.success())
}

fn fuzz_cargo(repo: &Repo, subcommand: &str) -> Command {
    let mut cargo = repo.cargo();
    cargo.arg(subcommand).arg("--manifest-path").arg(repo.join("fuzz/Cargo.toml"));
    cargo
}

fn host_triple(repo: &Repo) -> Result<String> {
    let printed = process::capture(repo.command("rustc").arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}
