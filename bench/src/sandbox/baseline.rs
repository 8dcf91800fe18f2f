//! Other ways to run `/bin/true`, from none to a container.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::TRUE;

/// Runs it to its end, and says how long that took.
pub(super) fn time(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let elapsed = start.elapsed();
    ensure!(status.success(), "{command:?} failed ({status})");
    Ok(elapsed)
}

/// Fork, exec, wait. Naming a group, even the one it has, keeps the standard library from another way.
pub(super) fn fork_exec() -> Result<Duration> {
    time(Command::new(TRUE).gid(rustix::process::getgid().as_raw()))
}

/// The way of the standard library, which copies no page tables.
pub(super) fn posix_spawn() -> Result<Duration> {
    time(&mut Command::new(TRUE))
}

/// Bubblewrap with a policy like ours: the system read-only, a fresh everything else, one writable directory.
pub(super) fn bubblewrap(workspace: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
    command.args(["--hostname", "sandbox", "--setenv", "PATH", "/usr/bin:/bin"]);
    command.args(["--ro-bind", "/usr", "/usr"]);
    for path in ["/bin", "/sbin", "/lib", "/lib32", "/lib64"] {
        match std::fs::read_link(path) {
            Ok(target) => command.arg("--symlink").arg(target).arg(path),
            Err(_) => command.args(["--ro-bind-try", path, path]),
        };
    }
    for path in ["/etc/alternatives", "/etc/ssl", "/etc/ld.so.cache", "/etc/ld.so.conf.d", "/etc/terminfo"] {
        command.args(["--ro-bind-try", path, path]);
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/home"]);
    command.arg("--bind").arg(workspace).args(["/workspace", "--chdir", "/workspace"]);
    command.arg(TRUE);
    command
}

/// An engine for containers that answers, with an image that is there.
#[derive(Debug)]
pub(super) struct Docker {
    image: String,
    container: String,
}

impl Docker {
    /// Looks for an engine and keeps one container running for `docker exec`.
    pub(super) fn find() -> Result<Self> {
        docker(&["info", "--format", "{{.ServerVersion}}"]).context("no engine answers")?;
        let images = docker(&["image", "ls", "--format", "{{.ID}}"])?;
        for image in images.lines() {
            let run = ["run", "--detach", "--rm", "--init", "--network", "none", "--pull", "never"];
            let sleep = ["--entrypoint", "/bin/sleep", image, "3600"];
            if let Ok(container) = docker(&[run.as_slice(), &sleep].concat()) {
                return Ok(Self { image: image.to_owned(), container: container.trim().to_owned() });
            }
        }
        anyhow::bail!("the engine has no image with /bin/sleep");
    }

    pub(super) fn run(&self) -> Command {
        let mut command = Command::new("docker");
        command.args(["run", "--rm", "--network", "none", "--pull", "never", "--entrypoint", TRUE]);
        command.arg(&self.image);
        command
    }

    pub(super) fn exec(&self) -> Command {
        let mut command = Command::new("docker");
        command.args(["exec", &self.container, TRUE]);
        command
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        // It ends by itself later if this fails.
        drop(docker(&["rm", "--force", &self.container]));
    }
}

fn docker(arguments: &[&str]) -> Result<String> {
    let output = Command::new("docker").args(arguments).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}
