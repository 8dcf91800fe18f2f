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

/// A running launcher. It ends when this is dropped; sessions do not depend on it.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// One request at a time.
    channel: Mutex<Option<HostChannel>>,
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
            .spawn()
            .map_err(SandboxError::io("cannot start the sandbox launcher"))?;
        let channel = HostChannel::new(ours).map_err(SandboxError::io("cannot watch the control channel"))?;
        Ok(Self { channel: Mutex::new(Some(channel)), child })
    }

    /// Has a process 1 made. `control` is its end of its own channel, `sources` are what the launch prepares.
    pub(crate) async fn launch(
        &self,
        launch: &Launch,
        control: BorrowedFd<'_>,
        sources: &[BorrowedFd<'_>],
    ) -> Result<Newborn, SandboxError> {
        let mut guard = self.channel.lock().await;
        // Taken out meanwhile: a request that is given up half-way leaves a channel that cannot be used again.
        let channel =
            guard.take().ok_or_else(|| SandboxError::Lifecycle("the sandbox launcher is gone".to_owned()))?;
        let descriptors: Vec<BorrowedFd<'_>> =
            std::iter::once(control).chain(sources.iter().copied()).collect();
        let exchange = async {
            channel.send(launch, &descriptors).await?;
            channel.receive::<Launched>(&mut Partial::default()).await
        };
        let answer = exchange.await.map_err(SandboxError::io("cannot talk to the sandbox launcher"))?;
        let Some((answer, descriptors)) = answer else {
            return Err(SandboxError::Lifecycle("the sandbox launcher has ended unexpectedly".to_owned()));
        };
        *guard = Some(channel);
        match (answer, descriptors.into_iter().next()) {
            (Launched::Started { pid }, Some(pidfd)) => Ok(Newborn { pid, pidfd }),
            (Launched::Started { .. }, None) => {
                Err(SandboxError::Lifecycle("the sandbox launcher sent no process descriptor".to_owned()))
            }
            (Launched::Failed { doing, errno }, _) => Err(failure(&doing.to_string(), errno)),
        }
    }
}

/// What a program inside reports as an error number, in words.
pub(crate) fn failure(doing: &str, errno: u32) -> SandboxError {
    let error = io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(libc::EIO));
    SandboxError::Lifecycle(format!("the sandbox could not be set up: {doing}: {error}"))
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // The end of the channel is the launcher's sign to end.
        drop(self.channel.get_mut().take());
        drop(self.child.wait());
    }
}
