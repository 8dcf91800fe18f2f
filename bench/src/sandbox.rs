//! Sandboxes beside plain processes: what enforcement costs where users wait for it.
//!
//! Everything that is compared takes turns in one run, and what is printed is the median of the ratios of each turn, so
//! that a busy machine slows both sides alike. Running the program under `chrt -f 1` as root takes out most of what is
//! left. What is not there to compare with (bubblewrap, an engine for containers, a compiler) is skipped, and said.

mod baseline;
mod commands;
mod growth;
mod kernel;
mod probe;
mod proxy;
mod rounds;
mod snapshots;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fullsend_sandbox::{
    ExecRequest, ExecResult, LocalBackend, LocalConfig, SandboxBackend as _, SandboxSessionId, SandboxSpec,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::Setting;
use table::Table;

/// More do not change a median of ratios.
const MOST_ROUNDS: u32 = 300;
/// Everything started once, to fill caches.
const WARM_UP: u32 = 5;
/// The program that costs nothing.
const TRUE: &str = "/bin/true";

/// Measures and prints the table.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let bench = Bench::new()?;
    let mut table = Table::default();
    let rounds = setting.runs.min(MOST_ROUNDS);
    commands::measure(&bench, setting, rounds, &mut table)?;
    snapshots::measure(&bench, &mut table)?;
    match probe::build(bench.directory.path()) {
        Ok(probe) => {
            kernel::measure(&bench, &probe, &mut table)?;
            proxy::measure(&bench, &probe, &mut table)?;
        }
        Err(reason) => table.skip("system calls, files, proxy", &format!("{reason:#}")),
    }
    growth::measure(&bench, &mut table)?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{rounds} rounds, load {}", load.trim());
    table.print();
    Ok(())
}

/// A backend with its launcher running, as it is in a program that uses sandboxes.
struct Bench {
    backend: LocalBackend,
    runtime: Runtime,
    directory: TempDir,
    /// A directory that sessions may change.
    workspace: PathBuf,
}

impl Bench {
    fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let config = LocalConfig { state_dir: directory.path().join("state"), ..LocalConfig::default() };
        let backend = {
            let _entered = runtime.enter();
            LocalBackend::start(config).context("the local backend does not start here")?
        };
        let workspace = directory.path().join("workspace");
        std::fs::create_dir(&workspace)?;
        Ok(Self { backend, runtime, directory, workspace })
    }

    /// A session that stays.
    fn session(&self, spec: SandboxSpec) -> Result<SandboxSessionId> {
        Ok(self.runtime.block_on(self.backend.provision(spec))?.id)
    }

    fn end(&self, id: &SandboxSessionId) -> Result<()> {
        Ok(self.runtime.block_on(self.backend.terminate(id))?)
    }

    async fn exec(&self, id: &SandboxSessionId, request: ExecRequest) -> Result<ExecResult> {
        let shown = request.command.clone();
        let result = self.backend.exec(id, request).await?;
        ensure!(
            result.success(),
            "{shown} failed in the sandbox ({}): {}",
            result.exit_code,
            String::from_utf8_lossy(&result.stderr.0)
        );
        Ok(result)
    }

    async fn exec_true(&self, id: &SandboxSessionId) -> Result<()> {
        self.exec(id, ExecRequest::new(TRUE, [""; 0])).await.map(drop)
    }
}

/// How long something takes.
async fn timed(work: impl Future<Output = Result<()>>) -> Result<Duration> {
    let start = std::time::Instant::now();
    work.await?;
    Ok(start.elapsed())
}
