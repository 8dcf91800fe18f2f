//! Makes the session of a run, or takes the one that is given, and puts it away.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fullsend_sandbox::{ExecRequest, FilesystemMount, SandboxError};

use super::plan::Ground;
use super::{Ready, Shared, State, suiting};
use crate::protect::ReadOnly;

impl Shared {
    pub(super) async fn make(&self) -> Result<Arc<Ready>, SandboxError> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Ready(ready) => return Ok(Arc::clone(ready)),
            State::Ended => {
                return Err(SandboxError::Lifecycle("the sandbox of this run has been ended".to_owned()));
            }
            State::Planned => {}
        }
        let ready = Arc::new(self.provision(self.usually_read_only().await).await?);
        *state = State::Ready(Arc::clone(&ready));
        Ok(ready)
    }

    /// A session in which commands can change none of these. One that is given does where nothing has to be mounted over
    /// what it has; otherwise one is made.
    pub(super) async fn provision(&self, read_only: Vec<ReadOnly>) -> Result<Ready, SandboxError> {
        let mut spec = match &self.ground {
            Ground::Given(given) => given.spec(),
            Ground::Planned(plan) => plan.spec().map_err(not_by_the_model)?,
        };
        let bare = spec.mounts.len();
        spec.mounts.extend(self.covers().await?);
        suiting::add(&mut spec.mounts, &read_only);
        let (session, own) = match &self.ground {
            Ground::Given(given) if spec.mounts.len() == bare => (self.backend.session(&given.id)?, false),
            Ground::Given(_) | Ground::Planned(_) => {
                (self.backend.provision(spec).await.map_err(not_by_the_model)?, true)
            }
        };
        Ok(Ready { id: session.id.clone(), session, own, read_only, is_used: AtomicBool::new(false) })
    }

    /// What has to be covered. Looks at every file of the workspace.
    async fn covers(&self) -> Result<Vec<FilesystemMount>, SandboxError> {
        let Some(covers) = self.covers.clone() else { return Ok(Vec::new()) };
        let mounts = tokio::task::spawn_blocking(move || covers.mounts()).await;
        mounts.map_err(|error| {
            SandboxError::Lifecycle(format!("the files of the workspace were not looked at: {error}"))
        })?
    }

    /// Ends a session that was made here. One that was given is somebody else's to end.
    pub(super) async fn put_away(&self, ready: &Ready) -> Result<(), SandboxError> {
        if ready.own { self.backend.terminate(&ready.id).await } else { Ok(()) }
    }

    /// Adds the variables of every command; what a command has of its own stays.
    pub(super) fn give_variables(&self, request: &mut ExecRequest) {
        let Ground::Given(given) = &self.ground else { return };
        for (name, value) in &given.env {
            request.env.entry(name.clone()).or_insert_with(|| value.clone());
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
