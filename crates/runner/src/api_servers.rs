//! Servers beside the sandbox: programs of the harness on the host, which the agent reaches as services.
//!
//! The agent never sees a server's token or port; the proxy adds the token. A server lives in a process group of its own,
//! which ends with the run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use fullsend_runtimes::Cancel;
use fullsend_sandbox::Endpoint;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::grants::bearer;
use crate::strays::Mark;

/// How long a server may take until it says that it is well.
const START_PATIENCE: Duration = Duration::from_secs(30);
/// How long one question may take.
const ASK_PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait between questions.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a server may take to end by itself.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// A server to start.
#[derive(Clone, Debug)]
pub struct ServerWanted {
    /// Its name, under which the agent reaches it.
    pub name: String,
    /// The program.
    pub script: PathBuf,
    /// The port; without one, any that is free.
    pub port: Option<u16>,
    /// Its variables, the caller's included.
    pub env: BTreeMap<String, String>,
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiServerError {
    /// It cannot be started.
    #[error("cannot start the API server `{name}`")]
    Start {
        /// Which.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// It ended before it was well.
    #[error("the API server `{name}` ended with {status} before it answered; see `{}`", log.display())]
    Ended {
        /// Which.
        name: String,
        /// How.
        status: ExitStatus,
        /// What it said.
        log: PathBuf,
    },
    /// It does not say that it is well.
    #[error("the API server `{name}` does not answer `GET /healthz` with 200 within {} seconds; see `{}`", START_PATIENCE.as_secs(), log.display())]
    NotWell {
        /// Which.
        name: String,
        /// What it said.
        log: PathBuf,
    },
    /// Somebody ended the run.
    #[error("the run was cancelled")]
    Cancelled,
}

/// Servers that run. Dropping them kills them; [`ApiServers::stop`] gives them time to end.
#[derive(Debug, Default)]
pub struct ApiServers {
    running: Vec<Server>,
}

#[derive(Debug)]
struct Server {
    child: Child,
    group: Option<Pid>,
    /// By which those are known that have left the group.
    mark: Mark,
    endpoint: Endpoint,
}

impl ApiServers {
    /// Starts all servers in `directory`, and waits until each is well. What they print goes into files in `logs`.
    pub async fn start(
        wanted: &[ServerWanted],
        directory: &Path,
        logs: &Path,
        cancel: &Cancel,
    ) -> Result<Self, ApiServerError> {
        let mut servers = Self::default();
        let mut waiting = Vec::new();
        for server in wanted {
            let (running, waits) = Server::spawn(server, directory, logs)
                .map_err(|source| ApiServerError::Start { name: server.name.clone(), source })?;
            servers.running.push(running);
            waiting.push(waits);
        }
        for (server, waits) in servers.running.iter_mut().zip(&waiting) {
            tokio::select! {
                well = server.wait_until_well(waits) => well?,
                _signal = cancel.cancelled() => return Err(ApiServerError::Cancelled),
            }
        }
        Ok(servers)
    }

    /// The servers as services of a sandbox.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.running.iter().map(|server| server.endpoint.clone()).collect()
    }

    /// Asks all servers to end, and ends those that do not, with everything they have started; at once where somebody is in a
    /// hurry.
    pub async fn stop(mut self, cancel: &Cancel) {
        for server in &self.running {
            server.signal(Signal::TERM);
        }
        let deadline = Instant::now() + STOP_PATIENCE;
        for server in &mut self.running {
            let left = deadline.saturating_duration_since(Instant::now());
            tokio::select! {
                _late = timeout(left, server.child.wait()) => {}
                () = cancel.hurried() => return,
            }
        }
    }
}

/// What is needed to ask a server how it is.
struct Waits {
    name: String,
    port: u16,
    token: String,
    log: PathBuf,
}

impl Server {
    fn spawn(wanted: &ServerWanted, directory: &Path, logs: &Path) -> io::Result<(Self, Waits)> {
        let port = match wanted.port {
            Some(port) => port,
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port(),
        };
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let log = logs.join(format!("api-{}.log", wanted.name));
        let output = File::options().create_new(true).append(true).mode(0o600).open(&log)?;
        let mark = Mark::new(&wanted.env);
        let child = Command::new(&wanted.script)
            .args(["--port", &port.to_string(), "--token", &token, "--bind-address", "127.0.0.1"])
            .current_dir(directory)
            .env_clear()
            .envs(&wanted.env)
            .env(Mark::VARIABLE, mark.value())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let endpoint = Endpoint {
            name: wanted.name.clone(),
            upstream: format!("http://127.0.0.1:{port}"),
            headers: vec![bearer(&token)],
            rules: Vec::new(),
        };
        Ok((Self { child, group, mark, endpoint }, Waits { name: wanted.name.clone(), port, token, log }))
    }

    async fn wait_until_well(&mut self, waits: &Waits) -> Result<(), ApiServerError> {
        let deadline = Instant::now() + START_PATIENCE;
        let failed = |source| ApiServerError::Start { name: waits.name.clone(), source };
        loop {
            let is_well = matches!(timeout(ASK_PATIENCE, is_well(waits)).await, Ok(Ok(true)));
            // Looked at after the answer: another program may have the port, and then this one has ended.
            if let Some(status) = self.child.try_wait().map_err(failed)? {
                let (name, log) = (waits.name.clone(), waits.log.clone());
                return Err(ApiServerError::Ended { name, status, log });
            }
            if is_well {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(ApiServerError::NotWell { name: waits.name.clone(), log: waits.log.clone() });
            }
            sleep(PAUSE).await;
        }
    }

    /// The whole group: a server may be a script that started the real one.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _gone = kill_process_group(group, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.mark.end_all();
    }
}

async fn is_well(waits: &Waits) -> io::Result<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, waits.port)).await?;
    let request = format!(
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        waits.port, waits.token
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(64).read_to_end(&mut answer).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200"))
}
