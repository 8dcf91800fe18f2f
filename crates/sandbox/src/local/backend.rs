//! The backend `local`.

mod changes;
mod idle;
mod snapshots;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fullsend_sandbox_init::kernel;
use fullsend_sandbox_init::wire::Mapping;
use rustls::pki_types::CertificateDer;
use tokio::sync::Mutex as AsyncMutex;
use uuid::Uuid;

use idle::{suspend_when_idle, wake};

use super::launcher::Launcher;
use super::probe::Probe;
use super::session::Session;
use super::state::{Record, State};
use super::view::Base;
use crate::cgroup::Cgroups;
use crate::contract::{Pending, Running, SandboxBackend};
use crate::error::SandboxError;
use crate::layer::Layer;
use crate::spec::{
    ExecRequest, FilesystemAccess, FilesystemMount, NetworkPolicy, OUTPUTS_MOUNT, SandboxCapabilities,
    SandboxSession, SandboxSessionId, SandboxSnapshot, SandboxSpec, SandboxState, WriteMode, normal_target,
};

pub(crate) const NAME: &str = "local";

/// Names of control groups start with it; whose they are follows.
const GROUP_PREFIX: &str = "fullsend-";

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
    probe: OnceLock<Probe>,
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

    fn probe(&self) -> &Probe {
        self.probe.get_or_init(|| Probe::run(self.state.root()))
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
            probe: OnceLock::new(),
            base: OnceLock::new(),
        };
        Ok(Self { shared: Arc::new(shared), sessions: Mutex::default() })
    }

    /// Each layer of enforcement, found out by trying: what works on this machine, and what to do about what does not.
    pub fn layers(&self) -> Vec<Layer> {
        self.shared.probe().layers(self.shared.cgroups())
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
        let record = session.record.clone();
        // Written while the launcher works. A session that has no record yet is one that nobody will ask for.
        let written = async { self.shared.state.write(id, &record) };
        let (live, written) = tokio::join!(session.ensure_live(&self.shared), written);
        live?;
        written?;
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

    fn makes_quickly(&self) -> bool {
        true
    }

    fn capabilities(&self) -> SandboxCapabilities {
        self.shared.probe().capabilities()
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
