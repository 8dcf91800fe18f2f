//! Linting: a thousand harness files against merely reading and parsing them.
//!
//! Both sides work on the same files with warm caches and take turns. The baseline reads each file and parses its YAML
//! into nodes; linting adds typed reading, composition with a shared base, validation, and a look at every file that
//! the harnesses name.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fullsend_harness::{LintOptions, LintTarget, lint};
use fullsend_yaml::{Limits, SourceMap, parse};

use crate::Setting;
use crate::samples::{Samples, ratio};

const FILES: usize = 1000;
const MOST_RUNS: u32 = 50;

/// Measures both sides, and the whole command, and prints files per second and the ratio.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let root = directory.path().join(".fullsend");
    write_files(&root)?;
    let target = LintTarget::from_path(&root, None)?;
    let runs = setting.runs.min(MOST_RUNS);
    let (mut reading, mut linting, mut command) =
        (Samples::default(), Samples::default(), Samples::default());
    for round in 0..runs + 2 {
        let trio =
            (time_reading(&target.files)?, time_linting(&target)?, time_command(&setting.fullsend, &root)?);
        if round >= 2 {
            reading.push(trio.0);
            linting.push(trio.1);
            command.push(trio.2);
        }
    }
    println!("{FILES} files, {runs} runs    median       min    files/s");
    report("read and parse", &reading);
    report("lint (library)", &linting);
    report("fullsend harness lint", &command);
    let median = ratio(linting.median(), reading.median());
    let minimum = ratio(linting.minimum(), reading.minimum());
    println!("{:<22} {median:>8.2}x {minimum:>8.2}x  lint (library) to read and parse", "ratio");
    Ok(())
}

fn time_reading(files: &[PathBuf]) -> Result<Duration> {
    let start = Instant::now();
    for file in files {
        let mut sources = SourceMap::new();
        let id = sources.add(file, fs::read_to_string(file)?);
        let parsed = parse(&sources, id, Limits::default());
        ensure!(parsed.root.is_some(), "{} does not parse", file.display());
    }
    Ok(start.elapsed())
}

fn time_linting(target: &LintTarget) -> Result<Duration> {
    let start = Instant::now();
    let report = lint(target, &LintOptions::default());
    let elapsed = start.elapsed();
    ensure!(
        report.problems.is_empty(),
        "the generated harnesses have problems: {:?}",
        report.problems.first()
    );
    Ok(elapsed)
}

fn time_command(fullsend: &Path, root: &Path) -> Result<Duration> {
    let mut command = Command::new(fullsend);
    command.args(["--quiet", "harness", "lint"]).arg(root).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {}", fullsend.display()))?;
    ensure!(status.success(), "{} failed ({status})", fullsend.display());
    Ok(start.elapsed())
}

fn report(name: &str, samples: &Samples) {
    let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
    let per_second = FILES as f64 / samples.median().as_secs_f64().max(f64::EPSILON);
    let (median, minimum) = (millis(samples.median()), millis(samples.minimum()));
    println!("{name:<22} {median:>6.1} ms {minimum:>6.1} ms {per_second:>10.0}");
}

/// A directory in the shape that teams have: many harnesses on one base, sharing agents, skills and scripts.
fn write_files(root: &Path) -> Result<()> {
    let write = |name: &str, text: &str| -> Result<()> {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    write("config.yaml", "version: \"1\"\nallowed_remote_resources:\n  - https://github.com/example/\n")?;
    write("bases/common.yaml", BASE)?;
    write("policies/default.yaml", "version: 1\n")?;
    write("schemas/result.json", "{}\n")?;
    for script in ["pre", "post", "validate"] {
        write(&format!("scripts/{script}.sh"), "#!/bin/sh\n")?;
    }
    write("providers/github.yaml", "name: github\ntype: forge\ncredentials:\n  TOKEN: ${TOKEN}\n")?;
    for index in 0..20 {
        write(&format!("agents/agent-{index}.md"), "---\nname: agent\ndescription: An agent\n---\nDo it.\n")?;
        write(
            &format!("skills/skill-{index}/SKILL.md"),
            "---\nname: skill\ndescription: A skill\n---\nHow.\n",
        )?;
    }
    for index in 0..FILES {
        write(&format!("harness/agent-{index}.yaml"), &harness(index))?;
    }
    Ok(())
}

const BASE: &str =
    "role: coder\npolicy: policies/default.yaml\nproviders: [github]\nenv:\n  sandbox:\n    CI: true\n";

fn harness(index: usize) -> String {
    let mut text = format!(
        "# Harness number {index}\nbase: ../bases/common.yaml\nagent: agents/agent-{}.md\n\
         description: Works on issue class {index}\nslug: agent-{index}\nmodel: sonnet\neffort: high\nskills:\n",
        index % 20
    );
    for skill in 0..4 {
        let _infallible = writeln!(text, "  - skills/skill-{}", (index + skill) % 20);
    }
    text.push_str(
        "host_files:\n  - src: ${HOME}/.gitconfig\n    dest: /sandbox/workspace/.gitconfig\n    optional: true\n\
         pre_script: scripts/pre.sh\npost_script: scripts/post.sh\nvalidation_loop:\n  script: scripts/validate.sh\n  \
         schema: schemas/result.json\n  max_iterations: 3\nenv:\n  runner:\n    REPO: ${REPO}\n  sandbox:\n    \
         MODE: strict\n    LEVEL: 3\ntimeout_minutes: 45\nsecurity:\n  fail_mode: closed\n  sandbox_hooks:\n    \
         tirith:\n      fail_on: high\nforge:\n  github:\n    pre_script: scripts/pre.sh\n    env:\n      runner:\n        \
         HOST: github\n  gitlab:\n    post_script: scripts/post.sh\n",
    );
    text
}
