//! A workspace in which the built-in agent follows a script, and the record of its runs.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

use crate::suite::running::Ran;

/// Far longer than anything takes: it only ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// A workspace, a script beside it, and a directory for the state of sandboxes.
pub(crate) struct AgentPlace {
    directory: TempDir,
}

impl AgentPlace {
    pub(crate) fn new(script: &Value) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.workspace()).unwrap();
        place.write_script(script);
        place
    }

    pub(crate) fn write_script(&self, script: &Value) {
        fs::write(self.directory.path().join("model.yaml"), script.to_string()).unwrap();
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The command, in the workspace and in a process group of its own.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fullsend"));
        command.args(arguments).current_dir(self.workspace()).process_group(0);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("XDG_STATE_HOME", self.beside("state"));
        command.stdin(Stdio::null());
        command
    }

    /// Starts a run.
    pub(crate) fn exec(&self, arguments: &[&str]) -> Command {
        self.command(&[&["exec", "--prompt", "Go.", "--replay", "../model.yaml"], arguments].concat())
    }

    /// Goes on with a run.
    pub(crate) fn resume(&self, run: &Path, arguments: &[&str]) -> Command {
        self.command(&[&["resume", run.to_str().unwrap()], arguments].concat())
    }

    /// Goes on with a run by the longer command, which has all options.
    pub(crate) fn exec_again(&self, run: &Path, arguments: &[&str]) -> Ran {
        finish(self.command(&[&["exec", "--resume-run", run.to_str().unwrap()], arguments].concat()))
    }

    /// The directories of runs, the oldest first.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.workspace().join(".fullsend-artifacts")).into_iter().flatten();
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        runs.retain(|run| run.is_dir());
        runs.sort();
        runs
    }

    /// The one run.
    pub(crate) fn run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Every file of the workspace with its content, the record of runs left out.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut open = vec![self.workspace()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.extend((!path.ends_with(".fullsend-artifacts")).then_some(path));
                } else {
                    let name = path.strip_prefix(self.workspace()).unwrap().to_owned();
                    found.push((name, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }
}

/// Runs to the end.
pub(crate) fn finish(mut command: Command) -> Ran {
    Ran::from(command.output().unwrap())
}

/// A document of a run.
pub(crate) fn document(run: &Path, name: &str) -> Value {
    let text =
        fs::read_to_string(run.join(name)).unwrap_or_else(|error| panic!("{name} of {run:?}: {error}"));
    serde_json::from_str(&text).unwrap()
}

/// The rows of a journal, without a last one that is not whole.
pub(crate) fn rows(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default();
    text.split_inclusive('\n').filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Waits until something is true of a process that runs; false when the process ended before.
pub(crate) fn wait_for(child: &mut Child, mut is_true: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_true() {
        if child.try_wait().unwrap().is_some() {
            return is_true();
        }
        assert!(start.elapsed() < PATIENCE, "it does not happen");
        std::thread::sleep(Duration::from_micros(300));
    }
    true
}

pub(crate) fn send(child: &Child, signal: Signal) {
    rustix::process::kill_process(pid(child), signal).unwrap();
}

pub(crate) fn kill_group(child: &Child) {
    rustix::process::kill_process_group(pid(child), Signal::KILL).unwrap();
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Whether any process of this machine has a word among its arguments.
pub(crate) fn runs_with(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line.split(|byte| *byte == 0).any(|argument| String::from_utf8_lossy(argument) == word))
}
