//! The backend `local`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use fullsend_sandbox_init::kernel;
use fullsend_sandbox_init::wire::{Mapping, Order};
use rustls::pki_types::CertificateDer;
use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use super::launcher::Launcher;
use super::network::Wish;
use super::session::Session;
use super::state::{Kept, Record, State};
use super::view::Base;
use crate::cgroup::Cgroups;
use crate::contract::{Pending, Running, SandboxBackend};
use crate::egress::CompiledPolicy;
use crate::error::SandboxError;
use crate::spec::{
    ExecRequest, FilesystemAccess, FilesystemMount, NetworkPolicy, OUTPUTS_MOUNT, SandboxCapabilities,
    SandboxSession, SandboxSessionId, SandboxSnapshot, SandboxSpec, SandboxState, WriteMode, normal_target,
};

pub(crate) const NAME: &str = "local";

/// Names of control groups start with it; whose they are follows.
const GROUP_PREFIX: &str = "fullsend-";

/// Stacks of layers get slower to search as they grow; the kernel stops at 500.
const MOST_LAYERS: usize = 400;

/// However short the idle time is.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// How to run sandboxes on this machine.
#[derive(Clone, Debug, Default)]
pub struct LocalConfig {
    /// Where sessions keep their files. Private to the caller.
    pub state_dir: PathBuf,
    /// Where decisions about connections are written, one JSON object a line.
    pub egress_log: Option<PathBuf>,
    /// Certificate authorities that endpoints may have beside those of the system.
    pub endpoint_roots: Vec<CertificateDer<'static>>,
}

/// Runs sandboxes made of this machine's own kernel, without root and without a service.
#[derive(Debug)]
pub struct LocalBackend {
    shared: Arc<Shared>,
    sessions: Mutex<HashMap<SandboxSessionId, Arc<Entry>>>,
}

/// A session, and how it looked when it was last changed.
#[derive(Debug)]
struct Entry {
    session: AsyncMutex<Session>,
    shown: Mutex<SandboxSession>,
}

impl Entry {
    /// Remembers how the session looks now, for callers who only look.
    fn show(&self, session: &Session, shared: &Shared) -> SandboxSession {
        let described = session.describe(shared);
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = described.clone();
        described
    }
}

/// What all sessions use.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) state: State,
    pub(crate) launcher: Launcher,
    /// For callers who are root: who their sandboxes are on the host.
    pub(crate) identity: Mapping,
    pub(crate) egress_log: Option<PathBuf>,
    pub(crate) endpoint_roots: Vec<CertificateDer<'static>>,
    cgroups: OnceLock<Cgroups>,
    base: OnceLock<Base>,
}

impl Shared {
    /// The version of Landlock; without it there is no sandbox.
    pub(crate) fn landlock(&self) -> Result<u32, SandboxError> {
        kernel::landlock::version().map_err(|error| SandboxError::Unsupported {
            backend: NAME,
            operation: "this kernel",
            reason: format!("it has no Landlock ({error}); Linux 5.13 or newer with `landlock` among its security modules is needed"),
        })
    }

    pub(crate) fn cgroups(&self) -> &Cgroups {
        self.cgroups.get_or_init(Cgroups::detect)
    }

    /// What sessions see of this machine.
    pub(crate) fn base(&self) -> &Base {
        self.base.get_or_init(Base::of_this_machine)
    }

    pub(crate) fn group_name(&self, id: &SandboxSessionId) -> String {
        format!("{GROUP_PREFIX}{}-{id}", std::process::id())
    }
}

impl LocalBackend {
    /// Starts the backend. Needs a runtime of tokio to be entered.
    pub fn start(config: LocalConfig) -> Result<Self, SandboxError> {
        let state = State::open(&config.state_dir)?;
        // Above every range that distributions hand out, and never the same as a user of the machine.
        let user = 1_900_000_000 + std::process::id() % 65_536;
        let shared = Shared {
            state,
            launcher: Launcher::start()?,
            identity: Mapping { user, group: user },
            egress_log: config.egress_log,
            endpoint_roots: config.endpoint_roots,
            cgroups: OnceLock::new(),
            base: OnceLock::new(),
        };
        Ok(Self { shared: Arc::new(shared), sessions: Mutex::default() })
    }

    /// Removes what processes that were killed have left behind on disk and among control groups. Sessions with
    /// snapshots, and suspended ones, are kept: they are meant to be resumed. Says which sessions were removed.
    pub fn sweep(&self) -> Result<Vec<SandboxSessionId>, SandboxError> {
        self.shared.cgroups().sweep(GROUP_PREFIX);
        self.shared.state.sweep()
    }

    fn find(&self, id: &SandboxSessionId) -> Result<Arc<Entry>, SandboxError> {
        self.table().get(id).cloned().ok_or_else(|| SandboxError::SessionNotFound(id.clone()))
    }

    fn table(&self) -> std::sync::MutexGuard<'_, HashMap<SandboxSessionId, Arc<Entry>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn make(&self, mut spec: SandboxSpec) -> Result<SandboxSession, SandboxError> {
        let id = match spec.session_id.take() {
            Some(id) => id,
            None => SandboxSessionId::new(format!("local-{}", Uuid::now_v7().simple()))?,
        };
        spec.session_id = Some(id.clone());
        add_outputs(&mut spec)?;
        let lock = self.shared.state.create(&id)?;
        let record = Record { spec, layers: vec![format!("{id}.0")], snapshots: Vec::new(), durable: false };
        match self.begin(&id, record, lock).await {
            Ok(session) => Ok(session),
            Err(error) => {
                // The first error is the one to tell.
                drop(self.shared.state.remove(&id));
                Err(error)
            }
        }
    }

    async fn begin(
        &self,
        id: &SandboxSessionId,
        record: Record,
        lock: super::state::SessionLock,
    ) -> Result<SandboxSession, SandboxError> {
        let mut session = Session::new(&self.shared, id.clone(), record, lock)?;
        self.make_top(&session)?;
        let record = session.record.clone();
        // Written while the launcher works. A session that has no record yet is one that nobody will ask for.
        let written = async { self.shared.state.write(id, &record) };
        let (live, written) = tokio::join!(session.ensure_live(&self.shared), written);
        live?;
        if let Err(error) = written {
            session.end_live().await;
            return Err(error);
        }
        session.state = SandboxState::Running;
        let described = session.describe(&self.shared);
        self.add(session);
        Ok(described)
    }

    fn add(&self, session: Session) -> Arc<Entry> {
        let id = session.id.clone();
        let idle_timeout = session.record.spec.limits.idle_timeout;
        let shown = Mutex::new(session.describe(&self.shared));
        let entry = Arc::new(Entry { session: AsyncMutex::new(session), shown });
        if let Some(timeout) = idle_timeout {
            tokio::spawn(suspend_when_idle(Arc::downgrade(&entry), Arc::clone(&self.shared), timeout));
        }
        self.table().insert(id, Arc::clone(&entry));
        entry
    }

    fn make_top(&self, session: &Session) -> Result<(), SandboxError> {
        match session.record.layers.first() {
            Some(top) => self.shared.state.make_layer(top, &session.overlaid()),
            None => Ok(()),
        }
    }

    async fn start_command(
        &self,
        id: &SandboxSessionId,
        request: ExecRequest,
    ) -> Result<Running, SandboxError> {
        let entry = self.find(id)?;
        let (live, prepared) = {
            let mut session = entry.session.lock().await;
            let live = session.ensure_live(&self.shared).await?;
            let prepared = session.prepare(&live, &request)?;
            if wake(&mut session).await? {
                entry.show(&session, &self.shared);
            }
            (live, prepared)
        };
        let process = live.spawn(request, prepared).await?;
        Ok(Running::new(Box::new(process)))
    }

    async fn attach(
        &self,
        id: &SandboxSessionId,
        mount: FilesystemMount,
    ) -> Result<SandboxSession, SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        session.record.spec.mounts.push(mount);
        let attached = session.hold_mounts(&self.shared).and_then(|()| self.make_top(&session));
        if let Err(error) = attached {
            session.record.spec.mounts.pop();
            session.hold_mounts(&self.shared)?;
            return Err(error);
        }
        session.end_live().await;
        if let Err(error) = session.ensure_live(&self.shared).await {
            session.record.spec.mounts.pop();
            session.hold_mounts(&self.shared)?;
            return Err(error);
        }
        session.state = SandboxState::Running;
        self.shared.state.write(id, &session.record)?;
        Ok(entry.show(&session, &self.shared))
    }

    /// A list of hosts changes at once; between none, a list and the host's network a new process 1 is needed.
    async fn change_network(&self, id: &SandboxSessionId, policy: NetworkPolicy) -> Result<(), SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        let spec = SandboxSpec { network_policy: policy, ..session.record.spec.clone() };
        let wish = Wish::of(&spec)?;
        let live = session.live.clone().filter(|live| live.is_running());
        let network = live.as_ref().and_then(|live| live.network());
        let now = match (&wish, network) {
            (Wish::Proxy { policy, .. }, Some(network))
                if network.covers(policy) || refuse_busy(&session).is_err() =>
            {
                network.egress.apply(policy.clone());
                true
            }
            (Wish::None, Some(network)) => {
                network.egress.apply(CompiledPolicy::default());
                true
            }
            (Wish::None, None) => Wish::of(&session.record.spec).is_ok_and(|wish| matches!(wish, Wish::None)),
            (Wish::Proxy { .. } | Wish::Host, _) => false,
        };
        if !now {
            refuse_busy(&session)?;
            session.end_live().await;
        }
        session.record.spec = spec;
        self.shared.state.write(id, &session.record)?;
        session.ensure_live(&self.shared).await?;
        entry.show(&session, &self.shared);
        Ok(())
    }

    async fn keep(&self, id: &SandboxSessionId) -> Result<SandboxSnapshot, SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        if let Some(mount) = session.direct_mount() {
            return Err(SandboxError::Unsupported {
                backend: NAME,
                operation: "snapshots of directories that commands change directly",
                reason: format!("`{}` is mounted read-write; mount it as an overlay", mount.target),
            });
        }
        if session.record.layers.len() > MOST_LAYERS {
            return Err(SandboxError::InvalidRequest(format!("session `{id}` has too many snapshots")));
        }
        session.end_live().await;
        let snapshot_id = format!("{id}.{}", session.record.snapshots.len() + 1);
        self.shared.state.keep_owned(id, &snapshot_id, &session.owned())?;
        let layers = session.record.layers.clone();
        let kept = Kept { id: snapshot_id.clone(), layers };
        let mut record = session.record.clone();
        record.snapshots.push(kept);
        record.durable = true;
        self.restack(&mut session, record)?;
        Ok(SandboxSnapshot {
            session_id: id.clone(),
            backend: NAME.to_owned(),
            snapshot_id,
            metadata: [(
                "keeps".to_owned(),
                "files of overlaid and session-owned mounts; no processes, no scratch space".to_owned(),
            )]
            .into(),
        })
    }

    /// Starts a fresh top layer over what the last snapshot of the record has sealed.
    fn restack(&self, session: &mut Session, mut record: Record) -> Result<(), SandboxError> {
        let sealed = record.snapshots.last().map(|kept| kept.layers.clone()).unwrap_or_default();
        let top = format!("{}.{}", session.id, Uuid::now_v7().simple());
        record.layers = std::iter::once(top).chain(sealed).collect();
        std::mem::swap(&mut session.record, &mut record);
        let made = self
            .make_top(session)
            .and_then(|()| session.hold_mounts(&self.shared))
            .and_then(|()| self.shared.state.write(&session.id, &session.record));
        if made.is_err() {
            session.record = record;
        }
        made
    }

    async fn bring_back(&self, id: &SandboxSessionId) -> Result<SandboxSession, SandboxError> {
        let entry = match self.find(id) {
            Ok(entry) => entry,
            Err(_) => self.load(id)?,
        };
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        if let Some(last) = session.record.snapshots.last().cloned() {
            session.end_live().await;
            self.shared.state.restore_owned(id, &last.id, id, &session.owned())?;
            let record = session.record.clone();
            self.restack(&mut session, record)?;
        }
        session.ensure_live(&self.shared).await?;
        wake(&mut session).await?;
        session.state = SandboxState::Running;
        Ok(entry.show(&session, &self.shared))
    }

    fn load(&self, id: &SandboxSessionId) -> Result<Arc<Entry>, SandboxError> {
        let lock = self.shared.state.lock(id)?;
        let record = self.shared.state.read(id)?;
        Ok(self.add(Session::new(&self.shared, id.clone(), record, lock)?))
    }

    async fn branch(&self, snapshot: &SandboxSnapshot) -> Result<SandboxSession, SandboxError> {
        let from = &snapshot.session_id;
        if snapshot.backend != NAME {
            let backend = snapshot.backend.escape_debug();
            return Err(SandboxError::InvalidRequest(format!(
                "a snapshot of the {backend} sandbox cannot be forked here"
            )));
        }
        let record = match self.find(from) {
            Ok(entry) => entry.session.lock().await.record.clone(),
            Err(_) => self.shared.state.read(from)?,
        };
        let kept = record.snapshots.iter().find(|kept| kept.id == snapshot.snapshot_id).ok_or_else(|| {
            SandboxError::InvalidRequest(format!(
                "session `{from}` has no snapshot `{}`",
                snapshot.snapshot_id
            ))
        })?;
        let id = SandboxSessionId::new(format!("local-{}", Uuid::now_v7().simple()))?;
        let lock = self.shared.state.create(&id)?;
        let layers = std::iter::once(format!("{id}.0")).chain(kept.layers.iter().cloned()).collect();
        let spec = SandboxSpec { session_id: Some(id.clone()), ..record.spec.clone() };
        let owned: Vec<usize> = (0..spec.mounts.len())
            .filter(|number| spec.mounts.get(*number).is_some_and(FilesystemMount::is_session_owned))
            .collect();
        let new = Record { spec, layers, snapshots: Vec::new(), durable: false };
        let restored = self.shared.state.restore_owned(from, &kept.id, &id, &owned);
        let begun = match restored {
            Ok(()) => self.begin(&id, new, lock).await,
            Err(error) => Err(error),
        };
        if begun.is_err() {
            drop(self.shared.state.remove(&id));
        }
        begun
    }

    async fn pause(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        let entry = self.find(id)?;
        let mut session = entry.session.lock().await;
        refuse_busy(&session)?;
        if let Some(live) = session.live.as_ref().filter(|live| live.is_running()) {
            live.everyone(&Order::Stop {}).await?;
        }
        session.state = SandboxState::Suspended;
        session.record.durable = true;
        entry.show(&session, &self.shared);
        self.shared.state.write(id, &session.record)
    }

    async fn end(&self, id: &SandboxSessionId) -> Result<(), SandboxError> {
        let entry = self.table().remove(id);
        let Some(entry) = entry else {
            return match self.shared.state.lock(id) {
                Ok(_lock) => self.shared.state.remove(id),
                Err(error) => Err(error),
            };
        };
        let mut session = entry.session.lock().await;
        session.end_live().await;
        session.state = SandboxState::Terminated;
        self.shared.state.remove(id)
    }
}

/// Lets the processes of a suspended session go on; says whether it was suspended.
async fn wake(session: &mut Session) -> Result<bool, SandboxError> {
    if session.state != SandboxState::Suspended {
        return Ok(false);
    }
    if let Some(live) = session.live.as_ref().filter(|live| live.is_running()) {
        live.everyone(&Order::Continue {}).await?;
    }
    session.state = SandboxState::Running;
    Ok(true)
}

/// Looks after a session until it is gone.
async fn suspend_when_idle(entry: Weak<Entry>, shared: Arc<Shared>, timeout: Duration) {
    let mut pause = timeout;
    loop {
        tokio::time::sleep(pause.max(SHORTEST_PAUSE)).await;
        let Some(entry) = entry.upgrade() else { return };
        let mut session = entry.session.lock().await;
        if session.state == SandboxState::Terminated {
            return;
        }
        let Some(live) = session.live.clone().filter(|live| live.is_running()) else { continue };
        let idle = live.idle().unwrap_or_default();
        pause = timeout.saturating_sub(idle);
        if pause.is_zero() && session.state == SandboxState::Running {
            if live.everyone(&Order::Stop {}).await.is_ok() {
                session.state = SandboxState::Suspended;
                entry.show(&session, &shared);
            }
            pause = timeout;
        }
    }
}

fn refuse_busy(session: &Session) -> Result<(), SandboxError> {
    if session.live.as_ref().is_some_and(|live| live.is_running() && live.is_busy()) {
        return Err(SandboxError::InvalidRequest(format!(
            "a command is running in session `{}`",
            session.id
        )));
    }
    Ok(())
}

/// Every session has a place for its results.
fn add_outputs(spec: &mut SandboxSpec) -> Result<(), SandboxError> {
    for mount in &spec.mounts {
        if normal_target(&mount.target)? == OUTPUTS_MOUNT {
            return Ok(());
        }
    }
    spec.mounts.push(FilesystemMount {
        source: PathBuf::new(),
        target: OUTPUTS_MOUNT.to_owned(),
        access: FilesystemAccess::ReadWrite,
        write_mode: WriteMode::Direct,
    });
    Ok(())
}

impl SandboxBackend for LocalBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> SandboxCapabilities {
        let there = self.shared.landlock().is_ok();
        SandboxCapabilities {
            local_process_sandbox: there,
            network_policy: there,
            snapshot: there,
            resume: there,
            suspend_on_idle: there,
        }
    }

    fn provision(&self, spec: SandboxSpec) -> Pending<'_, SandboxSession> {
        Box::pin(self.make(spec))
    }

    fn session(&self, id: &SandboxSessionId) -> Result<SandboxSession, SandboxError> {
        let entry = self.find(id)?;
        let shown = entry.shown.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(shown.clone())
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
