//! A small program that measures where it runs: in a session, and outside.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fullsend_sandbox::{ExecRequest, FilesystemMount, SandboxSessionId};

use super::Bench;

const SOURCE: &str = include_str!("probe.c");
/// Where sessions see it.
const INSIDE: &str = "/probe";

/// The program, compiled for this machine.
#[derive(Debug)]
pub(super) struct Probe {
    directory: PathBuf,
}

/// Compiles it. It is linked statically, so that it is the same inside and outside.
pub(super) fn build(directory: &Path) -> Result<Probe> {
    let directory = directory.join("probe");
    std::fs::create_dir(&directory)?;
    let source = directory.join("probe.c");
    std::fs::write(&source, SOURCE)?;
    let output = Command::new("cc")
        .args(["-O2", "-static", "-o"])
        .arg(directory.join("probe"))
        .arg(source)
        .output()
        .context("no C compiler")?;
    ensure!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(Probe { directory })
}

impl Probe {
    /// Brings it into a session.
    pub(super) fn mount(&self) -> FilesystemMount {
        FilesystemMount::read_only(&self.directory, INSIDE)
    }

    /// What it measures outside.
    pub(super) fn outside(&self, arguments: &[&str]) -> Result<Duration> {
        let mut command = Command::new(self.directory.join("probe"));
        let output = command.args(arguments).env_clear().output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        parse(&output.stdout)
    }

    /// What it measures in a session.
    pub(super) fn inside(
        &self,
        bench: &Bench,
        id: &SandboxSessionId,
        arguments: &[&str],
    ) -> Result<Duration> {
        let request = ExecRequest::new(format!("{INSIDE}/probe"), arguments.iter().copied());
        parse(&bench.runtime.block_on(bench.exec(id, request))?.stdout.0)
    }
}

fn parse(output: &[u8]) -> Result<Duration> {
    let text = str::from_utf8(output)?.trim();
    Ok(Duration::from_nanos(text.parse().with_context(|| format!("`{text}` is not a number"))?))
}
