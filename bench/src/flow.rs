//! What the rules of flow keep out, what they let be done, and what they cost.
//!
//! The attacks and their benign twins are those of the tests, played in every mode. The cost is that of judging one call in
//! a long conversation, alone and as the difference between whole runs.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fullsend_flow::{
    Argument, Call, Deed, Destination, FlowMode, GrantLedger, Label, LabelTable, Policy, Source,
};
use fullsend_testkit::victims;
use jiff::Timestamp;

use crate::Setting;
use crate::turns::{LATE, middle, once};

/// How many turns a conversation has in which a call is judged.
const TURNS: usize = 500;
/// What judging may add to a call, in microseconds.
const BOUND_US: f64 = 50.0;
/// What judging and comparing may add to a command, in microseconds.
const COMPARING_US: f64 = 1000.0;
/// How many files a repository has.
const FILES: usize = 5000;
const MOST_RUNS: u32 = 3;

/// Plays, measures and prints.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    attacks(setting);
    alone(setting)?;
    in_runs(setting)
}

/// Successes of attacks and completed twins, by class of source and mode.
fn attacks(setting: &Setting) {
    let scenarios = victims::all();
    let modes = FlowMode::ALL.map(FlowMode::as_str);
    let mut counts: BTreeMap<(&str, usize), (usize, usize)> = BTreeMap::new();
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for scenario in &scenarios {
        for (column, mode) in modes.into_iter().enumerate() {
            let attacked = victims::run(&setting.fullsend, scenario, mode, true);
            let twin = victims::run(&setting.fullsend, scenario, mode, false);
            for class in [scenario.class, "~all"] {
                let count = counts.entry((class, column)).or_default();
                count.0 += usize::from(attacked.attack_succeeded());
                count.1 += usize::from(twin.task_completed());
            }
        }
        for class in [scenario.class, "~all"] {
            *sizes.entry(class).or_default() += 1;
        }
    }
    println!("attacks that succeed and benign twins that are completed, by where the text comes from");
    println!("{:<20} {:>5}  {}", "", "of", modes.map(|mode| format!("{mode:>18}")).concat());
    for (class, size) in sizes {
        let of = |column: usize| counts.get(&(class, column)).copied().unwrap_or_default();
        let cells: String =
            (0..modes.len()).map(|column| format!("{:>12} /{:>4}", of(column).0, of(column).1)).collect();
        println!("{:<20} {size:>5}  {cells}", class.trim_start_matches('~'));
    }
}

/// Judging one call: labels of a conversation of 500 turns joined, and the decision.
fn alone(setting: &Setting) -> Result<()> {
    let policy = Policy::default();
    let mut table = LabelTable::default();
    let mut rows = Vec::new();
    for turn in 0..TURNS {
        let path = format!("src/file_{turn}.rs");
        let source = match turn % 10 {
            0 => Source::Web("docs.example"),
            1 => Source::Prompt { commanded: true },
            2 => Source::File(".env"),
            _ => Source::File(&path),
        };
        rows.push(table.number(&policy.label_of(source)).0);
    }
    let mut context = table.number(&Label::bottom()).0;
    for row in rows.iter().copied() {
        context = table.join(context, row)?;
    }
    let (ledger, now) = (GrantLedger::default(), Timestamp::UNIX_EPOCH);
    let rounds = setting.runs.max(1) * 100;
    let start = Instant::now();
    for row in rows.iter().copied().cycle().take(usize::try_from(rounds)?) {
        let joined = table.join(context, row)?;
        let label = table.get(joined)?;
        let argument = |name, destination| Argument { name, value: Some("src/lib.rs"), label, destination };
        let arguments = [
            argument("path", Destination::Target { path: Some("src/lib.rs") }),
            argument("content", Destination::Content { path: Some("src/lib.rs") }),
        ];
        let inputs = Label::bottom();
        let call = Call {
            tool: "write_file",
            deed: Deed::Change,
            context: label,
            arguments: &arguments,
            inputs: &inputs,
        };
        black_box(fullsend_flow::decide(&call, &policy, FlowMode::EnforceExplicit, &ledger, now));
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(rounds);
    println!("judging one call at turn {TURNS}: {each:.2} µs (bound: {BOUND_US} µs)");
    Ok(())
}

/// The difference between whole runs, in their last hundred of 500 turns: in an empty workspace, and in a repository whose
/// protected paths are compared with what they were before each command.
fn in_runs(setting: &Setting) -> Result<()> {
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
             difference {:.0} µs (median of {}; journal and command included; bound: {COMPARING_US} µs)",
            middle(without.into_iter()),
            middle(with.into_iter()),
            middle(differences.iter().copied()),
            differences.len()
        );
    }
    Ok(())
}

/// A run of the built-in agent in a workspace, or in the empty directory that there is for it.
fn agent<'a>(
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
