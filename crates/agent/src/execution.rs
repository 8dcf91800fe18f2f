//! The one sandbox session of a run, in which everything that a model asks for is executed.
//!
//! The session is made once, at the latest for the first command, and stays warm: a command costs a fork and an exec.
//! Whatever waits for a command may be dropped at any time; the command then ends with everything it has started.

mod capabilities;
mod capture;
mod covers;
mod directory;
mod plan;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use fullsend_sandbox::{
    ExecEvent, ExecRequest, FilesystemMount, Running, SandboxBackend, SandboxError, SandboxSession,
    SandboxSessionId, SandboxSpec,
};
use tokio::sync::Mutex;

pub use capabilities::{Capabilities, Command, PROGRAMS};
pub use capture::{Capture, CaptureLimits, Captured, CapturedStream, Listener, Nowhere, Spill, Stream};
pub use directory::Whereabouts;
pub use plan::{GivenSession, Ground, MountPoint, SCRATCH, SHELL_MOUNT, SessionPlan, WORKSPACE, shell_mount};

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
    state: Mutex<State>,
    /// Held while programs are looked for, beside which some runtimes of containers run nothing else.
    probing: Mutex<()>,
    mediation: Option<Mediation>,
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
}

impl Execution {
    /// A session that is made by the first command, or by [`Execution::warm_up`].
    pub fn lazy(backend: Arc<dyn SandboxBackend>, ground: impl Into<Ground>) -> Self {
        Self::build(backend, ground.into(), None, None)
    }

    /// The same, in which commands cannot read what is `covered`, with a runtime that follows labels itself where
    /// there are `sidecars`. With what is covered comes a directory that commands cannot reach; the file that covers
    /// others is made there.
    pub fn covering(
        backend: Arc<dyn SandboxBackend>,
        ground: impl Into<Ground>,
        covered: Option<(Arc<Sources>, PathBuf)>,
        sidecars: Option<Arc<Sidecars>>,
    ) -> Self {
        let mediation = sidecars.map(|sidecars| Mediation { sidecars, turn: Mutex::default() });
        let covers = covered.map(|(sources, directory)| Covers::new(sources, directory));
        Self::build(backend, ground.into(), covers, mediation)
    }

    fn build(
        backend: Arc<dyn SandboxBackend>,
        ground: Ground,
        covers: Option<Covers>,
        mediation: Option<Mediation>,
    ) -> Self {
        let (state, probing) = (Mutex::new(State::Planned), Mutex::new(()));
        Self { shared: Arc::new(Shared { backend, ground, covers, state, probing, mediation }) }
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

    /// Makes the session, unless it is there. Any number of callers may wait; it is made once.
    pub async fn warm_up(&self) -> Result<(), SandboxError> {
        self.ready().await.map(drop)
    }

    /// The session as the backend describes it: what is enforced, and by which layer.
    pub async fn describe(&self) -> Result<SandboxSession, SandboxError> {
        Ok(self.ready().await?.session.clone())
    }

    /// Runs a command that a runtime is told of, and asks it what the command has become.
    pub async fn run_labelled(
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
        let ready = self.ready().await?;
        let _alone = self.shared.probing.lock().await;
        follow(self.shared.backend.spawn(&ready.id, request).await?, capture).await
    }

    /// Ends the session with everything in it. Commands are refused from now on.
    pub async fn end(&self) -> Result<(), SandboxError> {
        // Waits for a session that is being made: nothing would end it later.
        let before = std::mem::replace(&mut *self.shared.state.lock().await, State::Ended);
        match before {
            State::Planned | State::Ended => Ok(()),
            State::Ready(ready) if ready.own => self.shared.backend.terminate(&ready.id).await,
            State::Ready(_) => Ok(()),
        }
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

impl Shared {
    async fn make(&self) -> Result<Arc<Ready>, SandboxError> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Ready(ready) => return Ok(Arc::clone(ready)),
            State::Ended => {
                return Err(SandboxError::Lifecycle("the sandbox of this run has been ended".to_owned()));
            }
            State::Planned => {}
        }
        let covers = self.covers().await?;
        let (session, own) = match &self.ground {
            Ground::Given(given) if covers.is_empty() => (self.backend.session(&given.id)?, false),
            Ground::Given(given) => (self.provision(given.spec(), covers).await?, true),
            Ground::Planned(plan) => {
                (self.provision(plan.spec().map_err(not_by_the_model)?, covers).await?, true)
            }
        };
        let ready = Arc::new(Ready { id: session.id.clone(), session, own });
        *state = State::Ready(Arc::clone(&ready));
        Ok(ready)
    }

    async fn provision(
        &self,
        mut spec: SandboxSpec,
        covers: Vec<FilesystemMount>,
    ) -> Result<SandboxSession, SandboxError> {
        spec.mounts.extend(covers);
        self.backend.provision(spec).await.map_err(not_by_the_model)
    }

    /// What has to be covered. Looks at every file of the workspace.
    async fn covers(&self) -> Result<Vec<FilesystemMount>, SandboxError> {
        let Some(covers) = self.covers.clone() else { return Ok(Vec::new()) };
        let mounts = tokio::task::spawn_blocking(move || covers.mounts()).await;
        mounts.map_err(|error| {
            SandboxError::Lifecycle(format!("the files of the workspace were not looked at: {error}"))
        })?
    }

    /// Adds the variables of every command; what a command has of its own stays.
    fn give_variables(&self, request: &mut ExecRequest) {
        let Ground::Given(given) = &self.ground else { return };
        for (name, value) in &given.env {
            request.env.entry(name.clone()).or_insert_with(|| value.clone());
        }
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
                return Ok(Captured { stdout, stderr, exit, labels: None });
            }
        }
    }
}

/// A session that is refused is nothing that a model asked for and could ask for in another way.
fn not_by_the_model(error: SandboxError) -> SandboxError {
    if let SandboxError::InvalidRequest(detail) = error {
        return SandboxError::Lifecycle(format!("the sandbox cannot be made: {detail}"));
    }
    error
}

impl fmt::Display for Execution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a session of the {} sandbox", self.backend_name())
    }
}
