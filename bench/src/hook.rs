//! Hooks: one process for all checks, against one Python interpreter for each of the eight checks.
//!
//! The interpreter reads the same call from standard input, parses it and ends: less than any of its checks would do. Both
//! sides take turns, so that a busy machine slows them alike.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::Setting;
use crate::samples::{Samples, ratio};

/// As many as there are checks around a tool call, each of which would start an interpreter of its own.
const CHECKS: u32 = 8;
const MOST_RUNS: u32 = 200;
const WARM_UP: u32 = 5;

const BEFORE: &str = r#"{"tool_name":"Bash","tool_input":{"command":"cd src && cargo test --workspace 2>&1 | tail -n 20","description":"Run the tests"}}"#;

/// Measures both phases and the interpreters, and prints the ratio.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let config = directory.path().join("hook.json");
    let made = Command::new(&setting.fullsend).args(["hook", "config"]).output()?;
    ensure!(made.status.success(), "`hook config` failed: {}", String::from_utf8_lossy(&made.stderr));
    std::fs::write(&config, made.stdout)?;
    let after = after_call();
    let python = interpreter()?;
    let hook = |phase: &str, input: &str| {
        let mut command = Command::new(&setting.fullsend);
        time(command.args(["hook", phase, "--config"]).arg(&config), input)
    };
    let (mut pre, mut post, mut eight) = (Samples::default(), Samples::default(), Samples::default());
    let runs = setting.runs.min(MOST_RUNS);
    for round in 0..WARM_UP + runs {
        let trio = (hook("pre-tool", BEFORE)?, hook("post-tool", &after)?, interpreters(&python, BEFORE)?);
        if round >= WARM_UP {
            pre.push(trio.0);
            post.push(trio.1);
            eight.push(trio.2);
        }
    }
    let (mut alone_pre, mut alone_post) = (Samples::default(), Samples::default());
    for _ in 0..runs {
        alone_pre.push(hook("pre-tool", BEFORE)?);
        alone_post.push(hook("post-tool", &after)?);
    }
    println!("{runs} runs one after the other       median       min");
    report("hook pre-tool", &alone_pre);
    report("hook post-tool (16 KB)", &alone_post);
    println!("{runs} runs between interpreters      median       min");
    report("hook pre-tool", &pre);
    report("hook post-tool (16 KB)", &post);
    report("8 Python interpreters", &eight);
    println!(
        "{:<30} 1/{:<6.0} 1/{:<6.0} pre-tool to interpreters",
        "ratio",
        ratio(eight.median(), pre.median()),
        ratio(eight.minimum(), pre.minimum())
    );
    println!(
        "{:<30} 1/{:<6.0} 1/{:<6.0} post-tool to interpreters",
        "",
        ratio(eight.median(), post.median()),
        ratio(eight.minimum(), post.minimum())
    );
    Ok(())
}

/// A call whose output is a page of compiler messages.
fn after_call() -> String {
    let line = "   Compiling example v0.1.0 (/workspace/example)\\n";
    format!(
        r#"{{"tool_name":"Bash","tool_input":{{"command":"cargo build"}},"tool_response":{{"stdout":"{}","stderr":"","interrupted":false,"isImage":false}}}}"#,
        line.repeat(16_384 / line.len())
    )
}

/// The interpreter itself: what is first on the search path may be a script that looks for it.
fn interpreter() -> Result<String> {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let asked = asked.context("this comparison needs `python3`")?;
    Ok(String::from_utf8(asked.stdout)?.trim().to_owned())
}

fn interpreters(python: &str, input: &str) -> Result<Duration> {
    let mut total = Duration::ZERO;
    for _ in 0..CHECKS {
        let mut python = Command::new(python);
        total += time(python.args(["-c", "import json, sys; json.load(sys.stdin)"]), input)?;
    }
    Ok(total)
}

/// From start to exit of one process that is fed `input`.
fn time(command: &mut Command, input: &str) -> Result<Duration> {
    let program = Path::new(command.get_program()).display().to_string();
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    child.stdin.take().context("no standard input")?.write_all(input.as_bytes())?;
    let status = child.wait()?;
    let elapsed = start.elapsed();
    ensure!(status.success(), "{program} failed ({status})");
    Ok(elapsed)
}

fn report(name: &str, samples: &Samples) {
    let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
    println!("{name:<30} {:>6.3} ms {:>6.3} ms", millis(samples.median()), millis(samples.minimum()));
}
