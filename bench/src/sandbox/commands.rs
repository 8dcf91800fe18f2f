//! Starting commands: in a session that is there, in a new one, and by other means.

use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use fullsend_sandbox::{FilesystemMount, NetworkPolicy, SandboxBackend as _, SandboxSessionId, SandboxSpec};

use super::baseline::{self, Docker};
use super::rounds::{Round, Rounds};
use super::table::Table;
use super::{Bench, WARM_UP};
use crate::Setting;

const FORK_EXEC: &str = "fork/exec";
const POSIX_SPAWN: &str = "posix_spawn";
const BUBBLEWRAP: &str = "bubblewrap";
/// Engines take a hundred times as long as the rest, so they do not get a turn in every round.
const DOCKER_EVERY: u32 = 20;

/// Everything that takes a turn.
struct Contest<'a> {
    bench: &'a Bench,
    warm: SandboxSessionId,
    warm_listed: SandboxSessionId,
    bubblewrap: Option<Command>,
    program: Option<Command>,
    docker: Option<Docker>,
}

pub(super) fn measure(bench: &Bench, setting: &Setting, count: u32, table: &mut Table) -> Result<()> {
    let mut contest = Contest {
        bench,
        warm: bench.session(closed(bench))?,
        warm_listed: bench.session(listed(bench))?,
        bubblewrap: works(baseline::bubblewrap(&bench.workspace), "bubblewrap", table),
        program: works(program(setting), "fullsend sandbox exec", table),
        docker: Docker::find()
            .map_err(|error| table.skip("docker run, docker exec", &format!("{error:#}")))
            .ok(),
    };
    let mut rounds = Rounds::default();
    for number in 0..WARM_UP + count {
        let round = bench.runtime.block_on(contest.round(number))?;
        if number >= WARM_UP {
            rounds.push(round);
        }
    }
    bench.end(&contest.warm)?;
    bench.end(&contest.warm_listed)?;
    report(&rounds, table);
    Ok(())
}

fn report(rounds: &Rounds, table: &mut Table) {
    table.compare("exec, warm", rounds, ("warm", FORK_EXEC), "<= 1.10x");
    table.compare("exec, warm", rounds, ("warm", POSIX_SPAWN), "<= 1.25x");
    table.compare("exec, warm, allow-list", rounds, ("warm, list", FORK_EXEC), "<= 1.10x");
    table.compare("provision alone", rounds, ("provision", FORK_EXEC), "");
    table.compare("provision + first exec", rounds, ("first", FORK_EXEC), "<= 2.6x");
    table.compare("cold one-shot, library", rounds, ("cold", FORK_EXEC), "<= 2.7x");
    table.compare("cold one-shot, library", rounds, ("cold", BUBBLEWRAP), "<= 0.65x");
    table.compare("cold, allow-list", rounds, ("cold, list", FORK_EXEC), "");
    let added = |round: &Round| {
        let difference = round.get("provision, list")? - round.get("provision")?;
        Some(difference / round.get(FORK_EXEC)?)
    };
    if let Some(added) = rounds.median(added) {
        table.alone("allow-list, added at provision", format!("{added:+.2}x fork/exec"), "<= +0.5x");
    }
    table.compare("bubblewrap", rounds, (BUBBLEWRAP, FORK_EXEC), "");
    table.compare("fullsend sandbox exec", rounds, ("program", FORK_EXEC), "<= 4.5x");
    table.compare("docker exec", rounds, ("docker exec", FORK_EXEC), "");
    table.compare("docker run", rounds, ("docker run", FORK_EXEC), "");
}

impl Contest<'_> {
    async fn round(&mut self, number: u32) -> Result<Round> {
        let bench = self.bench;
        let mut round = Round::default();
        round.set(FORK_EXEC, baseline::fork_exec()?);
        round.set("warm", super::timed(bench.exec_true(&self.warm)).await?);
        round.set(POSIX_SPAWN, baseline::posix_spawn()?);
        round.set("warm, list", super::timed(bench.exec_true(&self.warm_listed)).await?);
        self.cold(&mut round, closed(bench), ["provision", "first", "cold"]).await?;
        self.cold(&mut round, listed(bench), ["provision, list", "first, list", "cold, list"]).await?;
        if let Some(bubblewrap) = &mut self.bubblewrap {
            round.set(BUBBLEWRAP, baseline::time(bubblewrap)?);
        }
        if let Some(program) = &mut self.program {
            round.set("program", baseline::time(program)?);
        }
        if let Some(docker) = self.docker.as_ref().filter(|_| number.is_multiple_of(DOCKER_EVERY)) {
            round.set("docker exec", baseline::time(&mut docker.exec())?);
            round.set("docker run", baseline::time(&mut docker.run())?);
        }
        Ok(round)
    }

    /// A session from its beginning to its end.
    async fn cold(
        &self,
        round: &mut Round,
        spec: SandboxSpec,
        [provision, first, cold]: [&'static str; 3],
    ) -> Result<()> {
        let start = Instant::now();
        let session = self.bench.backend.provision(spec).await?;
        round.set(provision, start.elapsed());
        self.bench.exec_true(&session.id).await?;
        round.set(first, start.elapsed());
        self.bench.backend.terminate(&session.id).await?;
        round.set(cold, start.elapsed());
        Ok(())
    }
}

/// A session without network.
fn closed(bench: &Bench) -> SandboxSpec {
    let mounts = vec![FilesystemMount::read_write(&bench.workspace, "/workspace")];
    SandboxSpec { mounts, ..SandboxSpec::default() }
}

/// A session that may reach two hosts.
fn listed(bench: &Bench) -> SandboxSpec {
    let hosts = ["example.com:443", "*.example.org:443"];
    SandboxSpec { network_policy: NetworkPolicy::limited(hosts), ..closed(bench) }
}

/// The whole program, with everything that it starts and reads.
fn program(setting: &Setting) -> Command {
    let mut command = Command::new(&setting.fullsend);
    command.args(["sandbox", "exec", "--", super::TRUE]);
    command
}

/// The command, if it works here at all.
fn works(mut command: Command, name: &str, table: &mut Table) -> Option<Command> {
    match baseline::time(&mut command) {
        Ok(_) => Some(command),
        Err(error) => {
            table.skip(name, &format!("{error:#}"));
            None
        }
    }
}
