//! Start-up: `fullsend --version` against `/bin/true`, the cheapest process there is.
//!
//! Hooks start one process per tool call, so this cost is paid hundreds of times in a run. The two programs take
//! turns, so that a busy machine slows both alike and the ratio stays meaningful.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::Setting;
use crate::samples::{Samples, ratio};

/// Fewer runs than this say little about a median.
const FEWEST_RUNS: u32 = 300;
/// Runs that only fill the caches.
const WARM_UP: u32 = 20;

/// Measures and prints both programs and their ratio.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let runs = setting.runs.max(FEWEST_RUNS);
    let mut fullsend = Samples::default();
    let mut baseline = Samples::default();
    for round in 0..WARM_UP + runs {
        let pair = (time(&setting.fullsend, &["--version"])?, time(Path::new("/bin/true"), &[])?);
        if round >= WARM_UP {
            fullsend.push(pair.0);
            baseline.push(pair.1);
        }
    }
    println!("{runs} interleaved runs     median       min");
    report("fullsend --version", &fullsend);
    report("/bin/true", &baseline);
    let median = ratio(fullsend.median(), baseline.median());
    let minimum = ratio(fullsend.minimum(), baseline.minimum());
    println!("{:<22} {median:>8.2}x {minimum:>8.2}x", "ratio");
    Ok(())
}

fn time(program: &Path, arguments: &[&str]) -> Result<Duration> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    let elapsed = start.elapsed();
    if !status.success() {
        bail!("{} failed ({status})", program.display());
    }
    Ok(elapsed)
}

fn report(name: &str, samples: &Samples) {
    let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
    println!("{name:<22} {:>6.3} ms {:>6.3} ms", millis(samples.median()), millis(samples.minimum()));
}
