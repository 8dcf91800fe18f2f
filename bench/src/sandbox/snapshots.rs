//! Keeping the files of a session, forking it, and stopping it for a while.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use fullsend_sandbox::{ExecRequest, FilesystemMount, SandboxBackend as _, SandboxSessionId, SandboxSpec};

use super::rounds::{Round, Rounds};
use super::table::{Table, time};
use super::{Bench, timed};

const DIRECTORIES: usize = 20;
const FILES: usize = 100;
const FILE_BYTES: usize = 100 << 10;
const ROUNDS: usize = 15;
const COPY: &str = "full copy";

pub(super) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let tree = bench.directory.path().join("tree");
    fill(&tree)?;
    let spec = || SandboxSpec {
        mounts: vec![FilesystemMount::overlay(&tree, "/workspace")],
        ..SandboxSpec::default()
    };
    let id = bench.session(spec())?;
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let round = bench.runtime.block_on(round(bench, &id, &spec, &tree));
        rounds.push(round?);
    }
    bench.end(&id)?;
    table.compare("snapshot, 200 MB in 2,000 files", &rounds, ("snapshot", COPY), "<= 1 ms, <= 0.01x");
    table.compare("fork of a snapshot", &rounds, ("fork", "provision"), "");
    if let Some(added) = rounds.median(|round| Some(round.get("fork")? - round.get("provision")?)) {
        table.alone("fork of a snapshot, beyond provision", time(added), "<= 1 ms");
    }
    for (metric, name, target) in
        [("suspend", "suspend", "<= 1 ms"), ("wake", "wake", "<= 0.1 ms"), ("exec that wakes", "exec", "")]
    {
        if let Some(seconds) = rounds.seconds(name) {
            table.alone(metric, time(seconds), target);
        }
    }
    Ok(())
}

async fn round(
    bench: &Bench,
    id: &SandboxSessionId,
    spec: &impl Fn() -> SandboxSpec,
    tree: &Path,
) -> Result<Round> {
    let mut round = Round::default();
    let change = ExecRequest::shell("echo more >> d1/f1 && rm -f d2/f2 && mkdir -p d3/new");
    bench.exec(id, change).await?;
    let start = Instant::now();
    let snapshot = bench.backend.snapshot(id).await?;
    round.set("snapshot", start.elapsed());
    round.set(COPY, copy(tree, &bench.directory.path().join("copy"))?);

    let start = Instant::now();
    let fresh = bench.backend.provision(spec()).await?.id;
    round.set("provision", start.elapsed());
    let start = Instant::now();
    let forked = bench.backend.fork(&snapshot).await?.id;
    round.set("fork", start.elapsed());

    let suspend = async || Ok(bench.backend.suspend(&fresh).await?);
    round.set("suspend", timed(suspend()).await?);
    round.set("wake", timed(async { Ok(bench.backend.resume(&fresh).await.map(drop)?) }).await?);
    suspend().await?;
    round.set("exec", timed(bench.exec_true(&fresh)).await?);
    bench.backend.terminate(&fresh).await?;
    bench.backend.terminate(&forked).await?;
    Ok(round)
}

fn fill(tree: &Path) -> Result<()> {
    let content = vec![b'x'; FILE_BYTES];
    for directory in 0..DIRECTORIES {
        let directory = tree.join(format!("d{directory}"));
        std::fs::create_dir_all(&directory)?;
        for file in 0..FILES {
            std::fs::write(directory.join(format!("f{file}")), &content)?;
        }
    }
    Ok(())
}

/// Copies every file, and takes the copy away again outside the time.
fn copy(tree: &Path, to: &Path) -> Result<Duration> {
    let start = Instant::now();
    for directory in std::fs::read_dir(tree)? {
        let directory = directory?;
        let copied = to.join(directory.file_name());
        std::fs::create_dir_all(&copied)?;
        for file in std::fs::read_dir(directory.path())? {
            let file = file?;
            std::fs::copy(file.path(), copied.join(file.file_name()))?;
        }
    }
    let elapsed = start.elapsed();
    std::fs::remove_dir_all(to)?;
    Ok(elapsed)
}
