//! Scanning: megabytes a second of the pipelines on clean text, and how time grows with size on hostile text.
//!
//! The baseline is checking the same bytes for valid UTF-8, which every reader of text does anyway. Hostile texts are
//! measured at two sizes; a scanner that is linear takes ten times as long for ten times as much. All times are of the
//! processor, so that other programs on the machine do not count.

mod hostile;
mod prose;

use std::time::Duration;

use anyhow::{Result, ensure};
use fullsend_guard::{Checks, Pipeline};
use rustix::time::{ClockId, clock_gettime};

use crate::Setting;
use crate::samples::{Samples, ratio};

const MEGABYTE: usize = 1_000_000;
const CLEAN_SIZE: usize = 16 * MEGABYTE;
const HOSTILE_SIZE: usize = 10 * MEGABYTE;
const MOST_RUNS: u32 = 7;

/// Measures both pipelines on clean text, then each on hostile text.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let checks = Checks::default();
    let pipelines = [("input", checks.input()), ("output", checks.output())];
    let runs = setting.runs.min(MOST_RUNS);
    println!("clean text, {} MB, median of {runs}        MB/s   to UTF-8 check", CLEAN_SIZE / MEGABYTE);
    for (kind, text) in prose::texts(CLEAN_SIZE) {
        for (name, pipeline) in &pipelines {
            measure_clean(kind, name, pipeline, &text, runs)?;
        }
    }
    println!("hostile text                       input pipeline           output pipeline");
    println!(
        "                                {0} MB/s  growth        {0} MB/s  growth",
        HOSTILE_SIZE / MEGABYTE
    );
    for (kind, unit) in hostile::units() {
        let small = unit.repeat(HOSTILE_SIZE / 10 / unit.len());
        let large = unit.repeat(HOSTILE_SIZE / unit.len());
        print!("{kind:<30}");
        for (_, pipeline) in &pipelines {
            let (short, long) = (time(pipeline, &small), time(pipeline, &large));
            let growth = ratio(long, short) / 10.0;
            print!("  {:>8.0}  {growth:>6.2}x      ", rate(large.len(), long));
        }
        println!();
    }
    println!(
        "growth is the time for ten times as much text divided by ten times the time: about 1 is linear"
    );
    Ok(())
}

fn measure_clean(kind: &str, name: &str, pipeline: &Pipeline, text: &str, runs: u32) -> Result<()> {
    let (mut scanning, mut checking) = (Samples::default(), Samples::default());
    for _ in 0..runs {
        let start = processor_time();
        let report = pipeline.run(text);
        scanning.push(processor_time().saturating_sub(start));
        ensure!(report.findings.is_empty(), "clean text has findings: {:?}", report.findings.first());
        let start = processor_time();
        ensure!(std::str::from_utf8(std::hint::black_box(text.as_bytes())).is_ok(), "text is UTF-8");
        checking.push(processor_time().saturating_sub(start));
    }
    let median = scanning.median();
    println!(
        "{kind:<24} {name:<8} {:>8.0}   {:>6.1}x",
        rate(text.len(), median),
        ratio(median, checking.median())
    );
    Ok(())
}

/// The shorter of two runs.
fn time(pipeline: &Pipeline, text: &str) -> Duration {
    let once = || {
        let start = processor_time();
        std::hint::black_box(pipeline.run(text));
        processor_time().saturating_sub(start)
    };
    once().min(once())
}

/// How long this thread has been running so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / MEGABYTE as f64 / time.as_secs_f64().max(f64::EPSILON)
}
