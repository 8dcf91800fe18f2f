//! Cache verification: every byte against its digest, compared with `sha256sum` on the same files.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fullsend_fetch::Cache;
use fullsend_fetch::cache::{Listing, Parallel, TreeFile};
use fullsend_origin::{RemoteUrl, TreePath};

use crate::Setting;
use crate::samples::{Samples, ratio};

const TREES: usize = 20;
const FILES: usize = 32;
const FILE_BYTES: usize = 256 * 1024;
const MOST_RUNS: u32 = 10;

/// Measures and prints throughput and ratios.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let cache = Cache::open(directory.path())?;
    fill(&cache)?;
    let files = content_files(cache.root())?;
    let runs = setting.runs.min(MOST_RUNS);
    let (mut single, mut parallel, mut peer) = (Samples::default(), Samples::default(), Samples::default());
    for round in 0..=runs {
        let trio =
            (verify(&cache, Parallel::Single)?, verify(&cache, Parallel::Available)?, sha256sum(&files)?);
        if round > 0 {
            single.push(trio.0);
            parallel.push(trio.1);
            peer.push(trio.2);
        }
    }
    println!("{} MiB in {} files, {runs} runs", (TREES * FILES * FILE_BYTES) >> 20, files.len());
    report("verify, one thread", &single);
    report("verify, all cores", &parallel);
    report("sha256sum", &peer);
    println!("throughput of one thread to sha256sum: {:.2}x", ratio(peer.median(), single.median()));
    println!("throughput of all cores to one thread: {:.2}x", ratio(single.median(), parallel.median()));
    Ok(())
}

fn fill(cache: &Cache) -> Result<()> {
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    for tree in 0..TREES {
        let mut files = Vec::with_capacity(FILES);
        for file in 0..FILES {
            let bytes: Vec<u8> = (0..FILE_BYTES / 8).flat_map(|_| next(&mut state).to_le_bytes()).collect();
            files.push(TreeFile::new(TreePath::parse(&format!("d{}/f{file}", file % 4))?, bytes));
        }
        let url = RemoteUrl::parse(&format!("https://github.com/o/r/tree/main/t{tree}"))?;
        cache.put_tree(&url, &files, Listing::Full)?;
    }
    Ok(())
}

/// Bytes that no file system or hash finds easy (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn content_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![root.join("resources/sha256")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => directories.push(entry.path()),
                kind if kind.is_file() && entry.file_name() != "metadata.json" => files.push(entry.path()),
                _ => {}
            }
        }
    }
    Ok(files)
}

fn verify(cache: &Cache, parallel: Parallel) -> Result<Duration> {
    let start = Instant::now();
    let report = cache.verify_all(parallel)?;
    let elapsed = start.elapsed();
    ensure!(report.is_sound(), "the cache is damaged");
    Ok(elapsed)
}

fn sha256sum(files: &[PathBuf]) -> Result<Duration> {
    let mut command = Command::new("sha256sum");
    command.args(files).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().context("cannot start sha256sum")?;
    ensure!(status.success(), "sha256sum failed ({status})");
    Ok(start.elapsed())
}

fn report(name: &str, samples: &Samples) {
    let megabytes = (TREES * FILES * FILE_BYTES) as f64 / 1e6;
    let rate = |duration: Duration| megabytes / duration.as_secs_f64().max(f64::EPSILON);
    println!(
        "{name:<20} {:>7.0} MB/s median {:>7.0} MB/s best",
        rate(samples.median()),
        rate(samples.minimum())
    );
}
