//! The engine's command line client, never waited for without end.

use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::config::DockerConfig;
use crate::error::SandboxError;

/// Removing, pausing and asking are quick unless the engine is stuck.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Starts client commands.
#[derive(Clone, Debug)]
pub(super) struct Client {
    program: std::path::PathBuf,
    host: Option<String>,
}

impl Client {
    pub(super) fn new(config: &DockerConfig) -> Self {
        Self { program: config.program.clone(), host: config.host.clone() }
    }

    /// The client with the engine that it is configured for.
    pub(super) fn of(program: &std::path::Path) -> Self {
        Self { program: program.to_owned(), host: None }
    }

    /// How the client is called in messages.
    pub(super) fn name(&self) -> String {
        self.program.display().to_string()
    }

    /// Whether this is podman, whose answers have another form.
    pub(super) fn is_podman(&self) -> bool {
        self.program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("podman"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(host) = &self.host {
            command.arg(if self.is_podman() { "--url" } else { "--host" }).arg(host);
        }
        command.args(arguments);
        // A terminal's Ctrl-C is for us to handle: the container is ended in order.
        command.process_group(0).kill_on_drop(true);
        command
    }

    /// Runs a client command and returns what it printed.
    pub(super) async fn ask(&self, arguments: &[&str]) -> Result<String, SandboxError> {
        let failed = |why: String| {
            let what = arguments.first().copied().unwrap_or_default();
            SandboxError::Lifecycle(format!("`{} {what}` {why}", self.name()))
        };
        let mut command = self.command(arguments);
        command.stdin(Stdio::null());
        let output = timeout(PATIENCE, command.output())
            .await
            .map_err(|_| failed(format!("did not answer within {} seconds", PATIENCE.as_secs())))?
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        let Output { status, stdout, stderr } = output;
        if !status.success() {
            return Err(failed(format!("failed: {}", one_line(&stderr))));
        }
        String::from_utf8(stdout).map_err(|_| failed("printed something that is not text".to_owned()))
    }

    /// Starts a client command that stays, with pipes to it.
    pub(super) fn start(&self, arguments: &[String]) -> Result<Child, SandboxError> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = self.command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
            .spawn()
            .map_err(|error| SandboxError::Lifecycle(format!("`{}` cannot be started: {error}", self.name())))
    }
}

/// What a program said, on one line.
pub(super) fn one_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}
