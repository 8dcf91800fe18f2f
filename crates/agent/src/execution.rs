//! The one sandbox session of a run, in which everything that a model asks for is executed.
//!
//! The session is made once, at the latest for the first command, and stays warm: a command costs a fork and an exec.
//! Whatever waits for a command may be dropped at any time; the command then ends with everything it has started.

mod capabilities;
mod capture;
mod covers;
mod directory;
mod making;
mod plan;
mod suiting;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fullsend_sandbox::{
    ExecEvent, ExecRequest, Running, SandboxBackend, SandboxError, SandboxSession, SandboxSessionId,
};
use tokio::sync::{Mutex, RwLock};

pub use capabilities::{Capabilities, Command, PROGRAMS};
pub use capture::{Capture, CaptureLimits, Captured, CapturedStream, Listener, Nowhere, Spill, Stream};
pub use directory::Whereabouts;
pub use plan::{GivenSession, Ground, MountPoint, SCRATCH, SHELL_MOUNT, SessionPlan, WORKSPACE, shell_mount};

use crate::gate::FlowMode;
use crate::protect::{Compared, Protection, ReadOnly, Turn};
use crate::sidecar::{Invocation, Sidecars};
use crate::sources::Sources;
use crate::tool::ToolFault;
use capture::StreamCapture;
use covers::Covers;

/// One warm session of a sandbox.
#[derive(Clone, Debug)]
pub struct Execution {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    backend: Arc<dyn SandboxBackend>,
    ground: Ground,
    covers: Option<Covers>,
    protection: Option<Arc<Protection>>,
    state: Mutex<State>,
    /// Held by commands, so that the session is not replaced under them.
    using: RwLock<()>,
    /// Held while programs are looked for, beside which some runtimes of containers run nothing else.
    probing: Mutex<()>,
    mediation: Option<Mediation>,
}

/// What else commands of a session are held to.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    /// Files beside the container, for a runtime that follows labels itself.
    pub sidecars: Option<Arc<Sidecars>>,
    /// What commands may not change, by what they are made of.
    pub protection: Option<Arc<Protection>>,
}

/// The files beside the container. They are of the container and not of a command, so that commands take turns.
#[derive(Debug)]
struct Mediation {
    sidecars: Arc<Sidecars>,
    turn: Mutex<()>,
}

#[derive(Debug)]
enum State {
    /// Nothing has been asked for yet.
    Planned,
    /// Commands can run.
    Ready(Arc<Ready>),
    /// It is over.
    Ended,
}

/// A session that exists.
#[derive(Debug)]
struct Ready {
    id: SandboxSessionId,
    session: SandboxSession,
    /// Whether it was made here, and so ends here.
    own: bool,
    /// What commands cannot change in it.
    read_only: Vec<ReadOnly>,
    /// Whether commands have left something in it that would be lost with it.
    is_used: AtomicBool,
}

impl Execution {
    /// A session that is made by the first command, or by [`Execution::warm_up`].
    pub fn lazy(backend: Arc<dyn SandboxBackend>, ground: impl Into<Ground>) -> Self {
        Self::build(backend, ground.into(), None, Guards::default())
    }

    /// The same, in which commands cannot read what is `covered`. With what is covered comes a directory that commands
    /// cannot reach; the file that covers others is made there.
    pub fn covering(
        backend: Arc<dyn SandboxBackend>,
        ground: impl Into<Ground>,
        covered: Option<(Arc<Sources>, PathBuf)>,
        guards: Guards,
    ) -> Self {
        let covers = covered.map(|(sources, directory)| Covers::new(sources, directory));
        Self::build(backend, ground.into(), covers, guards)
    }

    fn build(
        backend: Arc<dyn SandboxBackend>,
        ground: Ground,
        covers: Option<Covers>,
        guards: Guards,
    ) -> Self {
        let Guards { sidecars, protection } = guards;
        let mediation = sidecars.map(|sidecars| Mediation { sidecars, turn: Mutex::default() });
        let (state, probing, using) = (Mutex::new(State::Planned), Mutex::default(), RwLock::default());
        let shared = Shared { backend, ground, covers, protection, state, using, probing, mediation };
        Self { shared: Arc::new(shared) }
    }

    /// A session that is there when this returns.
    pub async fn start(
        backend: Arc<dyn SandboxBackend>,
        ground: impl Into<Ground>,
    ) -> Result<Self, SandboxError> {
        let execution = Self::lazy(backend, ground);
        execution.warm_up().await?;
        Ok(execution)
    }

    /// How the backend is called: `local`, `docker`.
    pub fn backend_name(&self) -> &'static str {
        self.shared.backend.name()
    }

    /// How strictly commands are kept from what they may not change.
    pub(crate) fn protection_mode(&self) -> FlowMode {
        self.shared.protection.as_ref().map_or(FlowMode::Disabled, |protection| protection.mode())
    }

    /// Makes the session, unless it is there. Any number of callers may wait; it is made once.
    pub async fn warm_up(&self) -> Result<(), SandboxError> {
        self.ready().await.map(drop)
    }

    /// The session as the backend describes it: what is enforced, and by which layer.
    pub async fn describe(&self) -> Result<SandboxSession, SandboxError> {
        Ok(self.ready().await?.session.clone())
    }

    /// Runs a command that was made of something: it is kept from what it may not change, a runtime is told of it, and
    /// afterwards it is asked what the command has become.
    pub async fn run_labelled(
        &self,
        request: ExecRequest,
        capture: Capture<'_>,
        invocation: &Invocation<'_>,
    ) -> Result<Captured, ToolFault> {
        let Some(protection) = &self.shared.protection else {
            return self.run_mediated(request, capture, invocation).await;
        };
        let turn = Arc::clone(protection).begin(invocation.label).await?;
        let wanted = match &turn {
            Turn::Free { .. } => Vec::new(),
            Turn::Watched(watch) => protection.read_only(watch.have()),
        };
        self.suit(wanted).await?;
        let captured = self.run_mediated(request, capture, invocation).await?;
        let compared = match turn {
            Turn::Free { .. } => Compared::default(),
            Turn::Watched(watch) => watch.end(invocation.tool_output_id.unwrap_or_default().to_owned()).await,
        };
        Ok(Captured { compared, ..captured })
    }

    async fn run_mediated(
        &self,
        request: ExecRequest,
        capture: Capture<'_>,
        invocation: &Invocation<'_>,
    ) -> Result<Captured, ToolFault> {
        let Some(Mediation { sidecars, turn }) = &self.shared.mediation else {
            return self.run(request, capture).await;
        };
        let _mine = turn.lock().await;
        sidecars.begin(invocation).map_err(|error| SandboxError::NotPrepared(error.to_string()))?;
        let captured = self.run(request, capture).await?;
        Ok(Captured { labels: sidecars.finish(), ..captured })
    }

    /// Runs a command to its end. Its output is read as it comes, and kept within the limits of `capture`.
    pub async fn run(&self, mut request: ExecRequest, capture: Capture<'_>) -> Result<Captured, ToolFault> {
        self.shared.give_variables(&mut request);
        let _using = self.shared.using.read().await;
        let ready = self.ready().await?;
        let running = match self.shared.backend.spawn(&ready.id, request.clone()).await {
            Err(SandboxError::Unsupported { .. }) => {
                drop(self.shared.probing.lock().await);
                self.shared.backend.spawn(&ready.id, request).await?
            }
            started => started?,
        };
        follow(running, capture).await
    }

    /// The same for a command of ours that nothing waits for: it may find that another is under way.
    async fn run_aside(&self, mut request: ExecRequest, capture: Capture<'_>) -> Result<Captured, ToolFault> {
        self.shared.give_variables(&mut request);
        let _alone = self.shared.probing.lock().await;
        let ready = self.ready().await?;
        follow(self.shared.backend.spawn(&ready.id, request).await?, capture).await
    }

    /// Ends the session with everything in it. Commands are refused from now on.
    pub async fn end(&self) -> Result<(), SandboxError> {
        // Waits for a session that is being made: nothing would end it later.
        let before = std::mem::replace(&mut *self.shared.state.lock().await, State::Ended);
        let ended = match before {
            State::Planned | State::Ended => Ok(()),
            State::Ready(ready) => self.shared.put_away(&ready).await,
        };
        if let Some(protection) = self.shared.protection.clone() {
            // A command that nobody waited for has ended with the session.
            drop(tokio::task::spawn_blocking(move || protection.finish()).await);
        }
        ended
    }

    /// The place on the host of the directory in which shells leave word; none where there is no single place.
    pub(crate) async fn shell_directory(&self) -> Result<Option<PathBuf>, SandboxError> {
        let ready = self.ready().await?;
        let mount = ready.session.mounts.iter().find(|mount| mount.target == SHELL_MOUNT);
        Ok(mount.and_then(|mount| mount.host_path.clone()))
    }

    async fn ready(&self) -> Result<Arc<Ready>, SandboxError> {
        if let State::Ready(ready) = &*self.shared.state.lock().await {
            return Ok(Arc::clone(ready));
        }
        let shared = Arc::clone(&self.shared);
        // In a task of its own: a caller that is dropped now must not leave half a session that nobody knows of.
        let made = tokio::spawn(async move { shared.make().await }).await;
        made.unwrap_or_else(|error| {
            Err(SandboxError::Lifecycle(format!("the sandbox was not made: {error}")))
        })
    }
}

/// Reads the output of a command as it comes, to the end.
async fn follow(mut running: Running, mut capture: Capture<'_>) -> Result<Captured, ToolFault> {
    let mut stdout = StreamCapture::new(Stream::Stdout, capture.limits);
    let mut stderr = StreamCapture::new(Stream::Stderr, capture.limits);
    loop {
        match running.next().await? {
            ExecEvent::Stdout(bytes) => {
                capture.tell(Stream::Stdout, &bytes);
                stdout.add(&bytes, &capture)?;
            }
            ExecEvent::Stderr(bytes) => {
                capture.tell(Stream::Stderr, &bytes);
                stderr.add(&bytes, &capture)?;
            }
            ExecEvent::Exited(exit) => {
                let (stdout, stderr) = (stdout.finish(&capture)?, stderr.finish(&capture)?);
                return Ok(Captured { stdout, stderr, exit, labels: None, compared: Compared::default() });
            }
        }
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a session of the {} sandbox", self.backend_name())
    }
}
