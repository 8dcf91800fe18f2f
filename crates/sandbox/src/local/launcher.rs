//! The process that makes sandboxes: one for each backend, started from memory.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use fullsend_sandbox_init::wire::{Launch, Launched};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::sync::Mutex;

use super::channel::{HostChannel, Partial};
use super::image;
use crate::error::SandboxError;

/// The launcher of a backend, started again should it have ended. Sessions do not depend on it.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// One request at a time; none after a request that was given up half-way.
    running: Mutex<Option<RunningLauncher>>,
}

/// A process; it ends when this is dropped.
#[derive(Debug)]
struct RunningLauncher {
    channel: Option<HostChannel>,
    child: Child,
}

/// A process 1 that waits for the go-ahead.
#[derive(Debug)]
pub(crate) struct Newborn {
    pub(crate) pid: u32,
    pub(crate) pidfd: OwnedFd,
}

/// A connected pair: ours does not block, theirs does.
pub(crate) fn control_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

impl Launcher {
    pub(crate) fn start() -> Result<Self, SandboxError> {
        Ok(Self { running: Mutex::new(Some(RunningLauncher::start()?)) })
    }

    /// Has a process 1 made. `control` is its end of its own channel, `sources` are what the launch prepares.
    pub(crate) async fn launch(
        &self,
        launch: &Launch,
        control: BorrowedFd<'_>,
        sources: &[BorrowedFd<'_>],
    ) -> Result<Newborn, SandboxError> {
        let mut guard = self.running.lock().await;
        let running = match guard.take() {
            Some(running) => running,
            None => RunningLauncher::start()?,
        };
        let descriptors: Vec<BorrowedFd<'_>> =
            std::iter::once(control).chain(sources.iter().copied()).collect();
        let (answer, descriptors) = running.ask(launch, &descriptors).await?;
        *guard = Some(running);
        match (answer, descriptors.into_iter().next()) {
            (Launched::Started { pid }, Some(pidfd)) => Ok(Newborn { pid, pidfd }),
            (Launched::Started { .. }, None) => {
                Err(SandboxError::Lifecycle("the sandbox launcher sent no process descriptor".to_owned()))
            }
            (Launched::Failed { doing, errno }, _) => Err(failure(&doing.to_string(), errno)),
        }
    }
}

impl RunningLauncher {
    fn start() -> Result<Self, SandboxError> {
        let program = image::sealed().map_err(SandboxError::io(
            "cannot keep the sandbox program in memory (a sysctl `vm.memfd_noexec` above 1 forbids it)",
        ))?;
        let (ours, theirs) = control_pair().map_err(SandboxError::io("cannot make a control channel"))?;
        let child = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
            .arg0("fullsend-sandbox")
            .env_clear()
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A terminal sends its signals to everybody in its group. How a session ends is for the host to say.
            .process_group(0)
            .spawn()
            .map_err(SandboxError::io("cannot start the sandbox launcher"))?;
        let channel = HostChannel::new(ours).map_err(SandboxError::io("cannot watch the control channel"))?;
        Ok(Self { channel: Some(channel), child })
    }

    async fn ask(
        &self,
        launch: &Launch,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(Launched, Vec<OwnedFd>), SandboxError> {
        let gone = || {
            SandboxError::Lifecycle(
                "the sandbox launcher has ended; the next session starts it again".to_owned(),
            )
        };
        let channel = self.channel.as_ref().ok_or_else(gone)?;
        let exchange = async {
            channel.send(launch, descriptors).await?;
            channel.receive::<Launched>(&mut Partial::default()).await
        };
        let answer = exchange.await.map_err(SandboxError::io("cannot talk to the sandbox launcher"))?;
        answer.ok_or_else(gone)
    }
}

/// What a program inside reports as an error number, in words.
pub(crate) fn failure(doing: &str, errno: u32) -> SandboxError {
    let error = io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(libc::EIO));
    SandboxError::Lifecycle(format!("the sandbox could not be set up: {doing}: {error}"))
}

impl Drop for RunningLauncher {
    fn drop(&mut self) {
        // The end of the channel is the launcher's sign to end.
        drop(self.channel.take());
        drop(self.child.wait());
    }
}
