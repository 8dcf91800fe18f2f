//! What stays behind after many commands and sessions, and how exactly time limits are kept.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fullsend_sandbox::{ExecRequest, FilesystemMount, NetworkPolicy, SandboxBackend as _, SandboxSpec};

use super::Bench;
use super::rounds::{Round, Rounds};
use super::table::{Table, time};

const EXECS: usize = 1000;
const SESSIONS: usize = 100;
const TIMEOUTS: usize = 10;
const TIME_LIMIT: Duration = Duration::from_millis(200);

pub(super) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    timeouts(bench, table)?;
    let id = bench.session(SandboxSpec::default())?;
    bench.runtime.block_on(bench.exec_true(&id))?;
    let before = Held::now();
    for _ in 0..EXECS {
        bench.runtime.block_on(bench.exec_true(&id))?;
    }
    before.compare(&Held::now(), "after 1,000 execs", table);
    bench.end(&id)?;

    sessions(bench, SESSIONS / 10)?;
    let before = Held::now();
    sessions(bench, SESSIONS)?;
    before.compare(&Held::now(), "after 100 sessions", table);
    Ok(())
}

/// Sessions of every kind: with a proxy, with layers, with limits.
fn sessions(bench: &Bench, count: usize) -> Result<()> {
    for number in 0..count {
        let spec = SandboxSpec {
            mounts: vec![FilesystemMount::overlay(&bench.workspace, "/workspace")],
            network_policy: match number % 2 {
                0 => NetworkPolicy::none(),
                _ => NetworkPolicy::limited(["example.com:443"]),
            },
            ..SandboxSpec::default()
        };
        let id = bench.session(spec)?;
        bench.runtime.block_on(bench.exec_true(&id))?;
        bench.end(&id)?;
    }
    Ok(())
}

fn timeouts(bench: &Bench, table: &mut Table) -> Result<()> {
    let id = bench.session(SandboxSpec::default())?;
    let mut rounds = Rounds::default();
    for _ in 0..TIMEOUTS {
        // Descendants that ignore polite requests and have left their process group.
        let line = "trap '' TERM; for i in 1 2 3 4 5; do setsid sleep 60 & done; sleep 60";
        let request = ExecRequest { timeout: Some(TIME_LIMIT), ..ExecRequest::shell(line) };
        let start = Instant::now();
        let result = bench.runtime.block_on(bench.backend.exec(&id, request))?;
        ensure!(result.timed_out, "a command with a time limit was not stopped");
        let mut round = Round::default();
        round.set("late", start.elapsed().saturating_sub(TIME_LIMIT));
        rounds.push(round);
    }
    bench.end(&id)?;
    if let Some(late) = rounds.seconds("late") {
        table.alone("time limit, late by", time(late), "0 to 50 ms");
    }
    Ok(())
}

/// What this process and those below it hold.
#[derive(Debug)]
struct Held {
    descriptors: usize,
    mounts: usize,
    processes: usize,
    namespaces: usize,
    groups: usize,
    memory_kb: usize,
}

impl Held {
    fn now() -> Self {
        let processes = descendants(std::process::id());
        let namespaces: BTreeSet<_> = processes
            .iter()
            .filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/ns")).ok())
            .flat_map(|entries| entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()))
            .collect();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let of_all = |pid: &u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        Self {
            descriptors: of_all(&std::process::id()) + processes.iter().map(of_all).sum::<usize>(),
            mounts: mounts.lines().count(),
            processes: processes.len(),
            namespaces: namespaces.len(),
            groups: groups(Path::new("/sys/fs/cgroup"), &format!("fullsend-{}-", std::process::id())),
            memory_kb: resident.trim().trim_end_matches(" kB").parse().unwrap_or(0),
        }
    }

    fn compare(&self, later: &Self, when: &str, table: &mut Table) {
        for (name, before, after) in [
            ("descriptors", self.descriptors, later.descriptors),
            ("mounts", self.mounts, later.mounts),
            ("processes", self.processes, later.processes),
            ("namespaces", self.namespaces, later.namespaces),
            ("control groups", self.groups, later.groups),
            ("KiB resident", self.memory_kb, later.memory_kb),
        ] {
            table.alone(&format!("{when}: {name}"), format!("{before} -> {after}"), "no growth");
        }
    }
}

fn descendants(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let children = tasks.flat_map(|task| {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
    });
    children.flat_map(|child| std::iter::once(child).chain(descendants(child)).collect::<Vec<_>>()).collect()
}

fn groups(directory: &Path, prefix: &str) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories
        .map(|entry| {
            let own = usize::from(entry.file_name().to_string_lossy().starts_with(prefix));
            own + groups(&entry.path(), prefix)
        })
        .sum()
}
