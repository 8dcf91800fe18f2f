//! What it costs to keep commands from protected paths: the workspace is compared with what it was before each of them.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::Setting;
use crate::turns::{LATE, middle, once};

/// What judging and comparing may add to a command, in microseconds.
const BOUND_US: f64 = 1000.0;
/// How many files a repository has.
const FILES: usize = 5000;
const MOST_RUNS: u32 = 3;

/// The difference between whole runs, in their last hundred of 500 turns: in an empty workspace, and in a repository whose
/// protected paths are compared with what they were before each command.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let repository = tempfile::tempdir()?;
    fill(repository.path())?;
    for (name, workspace) in
        [("an empty workspace", None), ("a repository of 5,000 files", Some(repository.path()))]
    {
        let (mut without, mut with, mut differences) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..setting.runs.min(MOST_RUNS) {
            let disabled = once(&agent(setting, "disabled", workspace))?.turn(LATE);
            let enforced = once(&agent(setting, "enforce-explicit", workspace))?.turn(LATE);
            without.push(disabled);
            with.push(enforced);
            differences.push((enforced - disabled) * 1000.0);
        }
        ensure!(!differences.is_empty(), "nothing was measured");
        println!(
            "CPU of a turn with a command in {name}, turns 400 to 500: disabled {:.3} ms, enforce-explicit {:.3} ms; \
             difference {:.0} µs (median of {}; journal and command included; bound: {BOUND_US} µs)",
            middle(without.into_iter()),
            middle(with.into_iter()),
            middle(differences.iter().copied()),
            differences.len()
        );
    }
    Ok(())
}

/// A run of the built-in agent in a workspace, or in the empty directory that there is for it.
pub(crate) fn agent<'a>(
    setting: &'a Setting,
    mode: &'static str,
    workspace: Option<&'a Path>,
) -> impl Fn(&str, &Path) -> Command + 'a {
    move |url: &str, empty: &Path| {
        let mut command = Command::new(&setting.fullsend);
        command.args(["exec", "--prompt", "count", "--output-mode", "batch", "--model", "mock"]);
        command.args(["--gateway-auth-mode", "none", "--gateway-base-url", url]);
        command.args(["--cfc-enforcement-mode", mode, "--max-model-turns", "1000", "--workspace"]);
        command.arg(workspace.unwrap_or(empty));
        command
    }
}

/// Makes a repository: sources in directories, and what runs or is believed by itself here and there.
fn fill(directory: &Path) -> io::Result<()> {
    for number in 0..FILES {
        let place = directory.join(format!("part_{}/module_{}", number / 200, number / 20));
        fs::create_dir_all(&place)?;
        fs::write(place.join(format!("file_{number}.rs")), "fn main() {}\n")?;
        if number % 200 == 0 {
            fs::write(place.join("AGENTS.md"), "Be careful.\n")?;
        }
    }
    for (name, text) in [(".github/workflows/ci.yml", "on: push\n"), (".git/config", "[core]\n")] {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        fs::write(path, text)?;
    }
    // What was changed a moment ago is looked at again each time, and a repository is older than that.
    thread::sleep(Duration::from_secs(4));
    Ok(())
}
