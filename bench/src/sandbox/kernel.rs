//! What a command pays for the rules while it runs: for system calls, and for opening files.

use anyhow::Result;
use fullsend_sandbox::SandboxSpec;

use super::Bench;
use super::probe::Probe;
use super::rounds::{Round, Rounds};
use super::table::Table;

const ROUNDS: usize = 25;
const CALLS: &str = "1000000";
const OPENS: &str = "50000";
/// The same file at the same depth inside and outside.
const FILE: &str = "/usr/bin/true";

pub(super) fn measure(bench: &Bench, probe: &Probe, table: &mut Table) -> Result<()> {
    let id = bench.session(SandboxSpec { mounts: vec![probe.mount()], ..SandboxSpec::default() })?;
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let mut round = Round::default();
        let (calls, opens) = (["calls", CALLS].as_slice(), ["opens", OPENS, FILE].as_slice());
        for (outside, inside, arguments) in [("outside", "calls", calls), ("open outside", "opens", opens)] {
            round.set(outside, probe.outside(arguments)?);
            round.set(inside, probe.inside(bench, &id, arguments)?);
        }
        rounds.push(round);
    }
    bench.end(&id)?;
    table.compare("1,000,000 system calls", &rounds, ("calls", "outside"), "<= 1.05x");
    table.compare("50,000 x open + close", &rounds, ("opens", "open outside"), "<= 1.35x");
    Ok(())
}
