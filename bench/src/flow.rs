//! What the rules of flow keep out, what they let be done, and what they cost.
//!
//! The attacks and their benign twins are those of the tests, played in every mode. The cost is that of judging one call in
//! a long conversation, alone and as the difference between whole runs.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use fullsend_flow::{
    Argument, Call, Deed, Destination, FlowMode, GrantLedger, Label, LabelTable, Policy, Source,
};
use fullsend_testkit::victims;
use jiff::Timestamp;

use crate::Setting;
use crate::protect::agent;
use crate::turns::{LATE, middle, once};

/// How many turns a conversation has in which a call is judged.
const TURNS: usize = 500;
/// What judging may add to a call, in microseconds.
const BOUND_US: f64 = 50.0;
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

/// The difference between whole runs, in their last hundred of 500 turns.
fn in_runs(setting: &Setting) -> Result<()> {
    let mut differences = Vec::new();
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..setting.runs.min(MOST_RUNS) {
        let disabled = once(&agent(setting, "disabled", None))?.turn(LATE);
        let enforced = once(&agent(setting, "enforce-explicit", None))?.turn(LATE);
        without.push(disabled);
        with.push(enforced);
        differences.push((enforced - disabled) * 1000.0);
    }
    ensure!(!differences.is_empty(), "nothing was measured");
    println!(
        "CPU of a turn with a command, turns 400 to 500: disabled {:.3} ms, enforce-explicit {:.3} ms; difference {:.0} µs \
         (median of {}; journal and command included)",
        middle(without.into_iter()),
        middle(with.into_iter()),
        middle(differences.iter().copied()),
        differences.len()
    );
    Ok(())
}
