//! The backend `docker`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use super::arguments::ContainerUser;
use super::client::Client;
use super::config::DockerConfig;
use super::engine::{Engine, Identity};
use super::layout;
use super::network::{compile, has_way_out, is_open};
use super::record::{Place, Record};
use super::session::Session;
use super::{examine, init, sweep};
use crate::contract::{Pending, Running, SandboxBackend};
use crate::error::SandboxError;
use crate::layer::Layer;
use crate::local::network::Wish;
use crate::spec::{
    ExecRequest, FilesystemMount, NetworkPolicy, SandboxCapabilities, SandboxSession, SandboxSessionId,
    SandboxSnapshot, SandboxSpec, SandboxState,
};
use crate::tree::{self, Owner};

pub(super) const NAME: &str = "docker";

/// Runs sandboxes in containers of an engine.
#[derive(Debug)]
pub struct DockerBackend {
    shared: Arc<Shared>,
    sessions: Mutex<HashMap<SandboxSessionId, Known>>,
}

/// A session, and what others see of it while it is being changed.
#[derive(Clone, Debug)]
struct Known {
    session: Arc<AsyncMutex<Session>>,
    seen: Arc<Mutex<Option<SandboxSession>>>,
}

/// What all sessions use.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: DockerConfig,
    pub(super) client: Client,
    pub(super) engine: Engine,
    pub(super) identity: Identity,
    /// The state directory, without symbolic links.
    pub(super) state: PathBuf,
    /// The same as a label of containers.
    pub(super) label: String,
    /// The program that is process 1.
    pub(super) init: PathBuf,
    /// Names of users, as commands see them.
    pub(super) accounts: init::Accounts,
    /// Whether containers run on this machine's kernel, where files and owners are the same inside as outside.
    pub(super) shares_kernel: bool,
}

impl DockerBackend {
    /// Finds the engine and the image, and ends containers that earlier processes left behind when they were killed.
    pub async fn connect(config: DockerConfig) -> Result<Self, SandboxError> {
        let client = Client::new(&config);
        let engine = Engine::detect(&client).await?;
        if let Some(runtime) = config.runtime.as_ref().filter(|runtime| !engine.runtimes.contains(runtime)) {
            return Err(unsupported(
                "this runtime",
                format!("the engine has no runtime `{runtime}`, only {}", engine.runtimes.join(", ")),
            ));
        }
        client.ask(&["image", "inspect", &config.image]).await.map_err(|error| {
            SandboxError::Lifecycle(format!(
                "the image `{}` is not there, and images are not fetched: {error}",
                config.image
            ))
        })?;
        let state = init::make_private(&config.state_dir)?;
        let found = engine.user(ContainerUser::of_caller());
        let identity = Identity { user: config.user.unwrap_or(found.user), ..found };
        if identity.user.uid == 0 && !engine.rootless {
            return Err(SandboxError::InvalidRequest("commands never run as root of the host".to_owned()));
        }
        let runtime = config.runtime.as_deref().unwrap_or(&engine.default_runtime);
        let shared = Shared {
            label: state.display().to_string(),
            init: init::install(&state)?,
            accounts: init::Accounts::write(&state, identity.user)?,
            shares_kernel: matches!(runtime, "runc" | "crun"),
            config,
            client,
            engine,
            identity,
            state,
        };
        sweep::containers(&shared).await?;
        Ok(Self { shared: Arc::new(shared), sessions: Mutex::default() })
    }

    /// What the engine of a client has to offer, each with what would help if it is missing. Takes no image, and changes
    /// nothing.
    pub async fn examine(program: &Path) -> Vec<Layer> {
        examine::examine(program).await
    }

    /// Removes containers of processes that are gone, and files of their sessions except those with a snapshot.
    pub async fn sweep(&self) -> Result<(), SandboxError> {
        sweep::containers(&self.shared).await?;
        sweep::sessions_without_snapshots(&self.shared)
    }

    fn table(&self) -> MutexGuard<'_, HashMap<SandboxSessionId, Known>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &SandboxSessionId) -> Result<Arc<AsyncMutex<Session>>, SandboxError> {
        let known = self.table().get(id).map(|known| Arc::clone(&known.session));
        known.ok_or_else(|| SandboxError::SessionNotFound(id.clone()))
    }

    fn place(&self, id: &SandboxSessionId) -> Place {
        Place::of(&self.shared.state, id)
    }

    async fn make(&self, mut spec: SandboxSpec) -> Result<SandboxSession, SandboxError> {
        refuse_unsupported(&spec)?;
        let id = spec.session_id.take().map_or_else(new_id, Ok)?;
        spec.session_id = Some(id.clone());
        let mounts = layout::place(&spec.mounts)?;
        let record = Record::new(id, self.shared.identity.user, spec, mounts);
        let shared = &self.shared;
        self.begin(record, |record, place| {
            let files = place.files();
            let prepare =
                |placed: &layout::Placed| placed.prepare(&files, record.user, shared.engine.remaps_users);
            record.mounts.iter().try_for_each(prepare)
        })
        .await
    }

    /// Makes a session on disk, fills it, and starts it; what fails leaves nothing.
    async fn begin(
        &self,
        record: Record,
        fill: impl FnOnce(&Record, &Place) -> Result<(), SandboxError>,
    ) -> Result<SandboxSession, SandboxError> {
        let place = self.place(&record.id);
        place.create().map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                return SandboxError::InvalidRequest(format!(
                    "there is a sandbox session `{}` already",
                    record.id
                ));
            }
            SandboxError::io(format!("cannot make `{}`", place.root().display()))(error)
        })?;
        let id = record.id.clone();
        let mut session = Session::new(record, place.clone());
        let started = match place.write(&session.record).and_then(|()| fill(&session.record, &place)) {
            Ok(()) => session.ensure_running(&self.shared).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = started {
            // The first error is the one to tell.
            drop(tree::remove(place.root()));
            return Err(error);
        }
        let described = session.describe(&self.shared);
        self.enter(id, session);
        Ok(described)
    }

    /// Makes the session known, and has it suspended when it is idle.
    fn enter(&self, id: SandboxSessionId, session: Session) -> Arc<AsyncMutex<Session>> {
        let idle = session.record.spec.limits.idle_timeout;
        session.publish(&self.shared);
        let seen = session.seen();
        let session = Arc::new(AsyncMutex::new(session));
        self.table().insert(id, Known { session: Arc::clone(&session), seen });
        if let Some(idle) = idle {
            tokio::spawn(watch_idleness(Arc::clone(&self.shared), Arc::downgrade(&session), idle));
        }
        session
    }

    async fn attach(
        &self,
        id: &SandboxSessionId,
        mount: FilesystemMount,
    ) -> Result<SandboxSession, SandboxError> {
        let session = self.find(id)?;
        let mut session = session.lock().await;
        session.refuse_busy()?;
        let before = session.record.clone();
        layout::add(&mut session.record.mounts, &mount)?;
        session.record.spec.mounts.push(mount);
        let files = session.place.files();
        let added = session.record.mounts.last().cloned();
        let foreign = self.shared.engine.remaps_users;
        let prepared = added.iter().try_for_each(|placed| placed.prepare(&files, before.user, foreign));
        if let Err(error) = prepared.and_then(|()| session.check_mounts(&self.shared).map(drop)) {
            session.record = before;
            drop(
                added
                    .filter(|placed| placed.own.is_some())
                    .map(|placed| tree::remove(&placed.host_path(&files))),
            );
            return Err(error);
        }
        session.stop().await;
        if let Err(error) = session.ensure_running(&self.shared).await {
            session.record = before;
            return Err(error);
        }
        Ok(session.publish(&self.shared))
    }

    async fn change_network(&self, id: &SandboxSessionId, policy: NetworkPolicy) -> Result<(), SandboxError> {
        let session = self.find(id)?;
        let mut session = session.lock().await;
        let mut spec = session.record.spec.clone();
        spec.network_policy = policy;
        refuse_unsupported(&spec)?;
        let policy = compile(&spec)?;
        let way_out = session.container.as_ref().and_then(|container| container.way_out());
        match way_out.filter(|_| !is_open(&spec)) {
            Some(way_out) => {
                let covered = way_out.has_entrances_for(&policy);
                way_out.apply(policy);
                // The proxy reaches new ports at once; programs that know no proxy do after the next start.
                if !covered && session.refuse_busy().is_ok() {
                    session.stop().await;
                }
            }
            None if is_open(&spec) == is_open(&session.record.spec) && !has_way_out(&spec) => {}
            // Another network takes another container.
            None => {
                session.refuse_busy()?;
                session.stop().await;
            }
        }
        session.record.spec = spec;
        session.place.write(&session.record)
    }

    async fn start_command(
        &self,
        id: &SandboxSessionId,
        request: ExecRequest,
    ) -> Result<Running, SandboxError> {
        let session = self.find(id)?;
        let mut session = session.lock().await;
        let command = session.spawn(&self.shared, request).await;
        session.publish(&self.shared);
        let command = command?;
        Ok(Running::new(Box::new(command)))
    }

    async fn keep(&self, id: &SandboxSessionId) -> Result<SandboxSnapshot, SandboxError> {
        let session = self.find(id)?;
        let mut session = session.lock().await;
        session.refuse_busy()?;
        if let Some(placed) = session.direct_mount() {
            return Err(unsupported(
                "snapshots of directories that commands change directly",
                format!("`{}` is mounted read-write; mount it as an overlay", placed.mount.target),
            ));
        }
        session.stop().await;
        let name = format!("{id}.{}", session.record.snapshots.len() + 1);
        let (from, to) = (session.place.files(), session.place.snapshot(&name));
        let copied = on_another_thread(move || tree::copy(&from, &to, Owner::Same)).await;
        if let Err(error) = copied {
            drop(tree::remove(&session.place.snapshot(&name)));
            return Err(SandboxError::io(format!("cannot keep the files of session `{id}`"))(error));
        }
        session.record.snapshots.push(name.clone());
        session.place.write(&session.record)?;
        let keeps = "files of overlaid and session-owned mounts; no processes, no scratch space";
        Ok(SandboxSnapshot {
            session_id: id.clone(),
            backend: NAME.to_owned(),
            snapshot_id: name,
            metadata: [("keeps".to_owned(), keeps.to_owned())].into(),
        })
    }

    async fn bring_back(&self, id: &SandboxSessionId) -> Result<SandboxSession, SandboxError> {
        let session = match self.find(id) {
            Ok(session) => session,
            Err(_) => self.load(id).await?,
        };
        let mut session = session.lock().await;
        if let Some(last) = session.record.snapshots.last().cloned() {
            session.refuse_busy()?;
            session.stop().await;
            let (from, to) = (session.place.snapshot(&last), session.place.files());
            on_another_thread(move || replace(&from, &to))
                .await
                .map_err(SandboxError::io(format!("cannot restore the files of session `{id}`")))?;
        }
        session.ensure_running(&self.shared).await?;
        Ok(session.publish(&self.shared))
    }

    /// Takes over a session of an earlier process.
    async fn load(&self, id: &SandboxSessionId) -> Result<Arc<AsyncMutex<Session>>, SandboxError> {
        let place = self.place(id);
        let record = place.read()?.ok_or_else(|| SandboxError::SessionNotFound(id.clone()))?;
        if record.owner.is_alive() {
            return Err(SandboxError::InvalidRequest(format!(
                "sandbox session `{id}` is in use by another process"
            )));
        }
        refuse_unsupported(&record.spec)?;
        let session = Session::new(record, place);
        session.remove_earlier(&self.shared).await;
        Ok(self.enter(id.clone(), session))
    }

    async fn branch(&self, snapshot: &SandboxSnapshot) -> Result<SandboxSession, SandboxError> {
        let place = self.place(&snapshot.session_id);
        let record =
            place.read()?.ok_or_else(|| SandboxError::SessionNotFound(snapshot.session_id.clone()))?;
        if snapshot.backend != NAME || !record.snapshots.contains(&snapshot.snapshot_id) {
            return Err(SandboxError::InvalidRequest(format!(
                "session `{}` has no snapshot `{}`",
                snapshot.session_id, snapshot.snapshot_id
            )));
        }
        let id = new_id()?;
        let spec = SandboxSpec { session_id: Some(id.clone()), ..record.spec };
        let from = place.snapshot(&snapshot.snapshot_id);
        self.begin(Record::new(id, record.user, spec, record.mounts), |_, place| {
            replace(&from, &place.files()).map_err(SandboxError::io("cannot copy the files of a snapshot"))
        })
        .await
    }

    async fn pause(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        let session = self.find(id)?;
        let mut session = session.lock().await;
        session.refuse_busy()?;
        suspend(&mut session).await?;
        session.publish(&self.shared);
        Ok(())
    }

    async fn end(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        let session = self.table().remove(id);
        let place = self.place(id);
        match session {
            Some(known) => {
                let mut session = known.session.lock().await;
                session.stop().await;
                session.state = SandboxState::Terminated;
            }
            None => {
                let record = place.read()?.ok_or_else(|| SandboxError::SessionNotFound(id.clone()))?;
                if record.owner.is_alive() {
                    return Err(SandboxError::SessionNotFound(id.clone()));
                }
                Session::new(record, place.clone()).remove_earlier(&self.shared).await;
            }
        }
        on_another_thread(move || tree::remove(place.root()))
            .await
            .map_err(SandboxError::io(format!("cannot remove the files of session `{id}`")))
    }
}

async fn suspend(session: &mut Session) -> Result<(), SandboxError> {
    if session.state == SandboxState::Suspended {
        return Ok(());
    }
    if let Some(container) = session.container.as_ref().filter(|container| !container.is_gone()) {
        container.pause().await?;
    }
    session.state = SandboxState::Suspended;
    Ok(())
}

/// Suspends a session whenever nothing has happened in it for a while; ends with it.
async fn watch_idleness(shared: Arc<Shared>, session: std::sync::Weak<AsyncMutex<Session>>, idle: Duration) {
    let mut wait = idle;
    loop {
        tokio::time::sleep(wait.max(Duration::from_millis(10))).await;
        let Some(session) = session.upgrade() else { return };
        let mut session = session.lock().await;
        if session.state == SandboxState::Terminated {
            return;
        }
        if session.refuse_busy().is_err() {
            session.last_used = std::time::Instant::now();
        }
        let unused = session.last_used.elapsed();
        wait = idle.saturating_sub(unused);
        if wait.is_zero() {
            wait = idle;
            // An engine that cannot do it now is asked again later.
            let _ = suspend(&mut session).await;
            session.publish(&shared);
        }
    }
}

/// Puts a copy of one tree in the place of another.
fn replace(from: &Path, to: &Path) -> std::io::Result<()> {
    let fresh = to.with_extension("new");
    tree::remove(&fresh)?;
    tree::copy(from, &fresh, Owner::Same)?;
    tree::remove(to)?;
    std::fs::rename(&fresh, to)
}

async fn on_another_thread(
    work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> std::io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(std::io::Error::other)?
}

fn new_id() -> Result<SandboxSessionId, SandboxError> {
    SandboxSessionId::new(format!("docker-{}", Uuid::now_v7().simple()))
}

fn unsupported(operation: &'static str, reason: String) -> SandboxError {
    SandboxError::Unsupported { backend: NAME, operation, reason }
}

/// What containers cannot enforce is not accepted.
fn refuse_unsupported(spec: &SandboxSpec) -> Result<(), SandboxError> {
    if spec.programs.is_some() {
        return Err(unsupported("lists of programs", "images decide which programs there are".to_owned()));
    }
    if spec.watch_paths {
        return Err(unsupported("naming refused paths", String::new()));
    }
    Wish::of(spec).map(drop)
}

impl SandboxBackend for DockerBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> SandboxCapabilities {
        SandboxCapabilities {
            local_process_sandbox: true,
            network_policy: true,
            snapshot: true,
            resume: true,
            suspend_on_idle: true,
        }
    }

    fn provision(&self, spec: SandboxSpec) -> Pending<'_, SandboxSession> {
        Box::pin(self.make(spec))
    }

    fn session(&self, id: &SandboxSessionId) -> Result<SandboxSession, SandboxError> {
        let seen = self.table().get(id).map(|known| Arc::clone(&known.seen));
        let seen = seen.and_then(|seen| seen.lock().unwrap_or_else(PoisonError::into_inner).clone());
        seen.ok_or_else(|| SandboxError::SessionNotFound(id.clone()))
    }

    fn attach_filesystem<'a>(
        &'a self,
        id: &'a SandboxSessionId,
        mount: FilesystemMount,
    ) -> Pending<'a, SandboxSession> {
        Box::pin(self.attach(id, mount))
    }

    fn apply_network_policy<'a>(
        &'a self,
        id: &'a SandboxSessionId,
        policy: NetworkPolicy,
    ) -> Pending<'a, ()> {
        Box::pin(self.change_network(id, policy))
    }

    fn spawn<'a>(&'a self, id: &'a SandboxSessionId, request: ExecRequest) -> Pending<'a, Running> {
        Box::pin(self.start_command(id, request))
    }

    fn snapshot<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, SandboxSnapshot> {
        Box::pin(self.keep(id))
    }

    fn resume<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, SandboxSession> {
        Box::pin(self.bring_back(id))
    }

    fn fork<'a>(&'a self, snapshot: &'a SandboxSnapshot) -> Pending<'a, SandboxSession> {
        Box::pin(self.branch(snapshot))
    }

    fn suspend<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, ()> {
        Box::pin(self.pause(id))
    }

    fn terminate<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, ()> {
        Box::pin(self.end(id))
    }
}
