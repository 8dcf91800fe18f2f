//! A session: what is kept of it, and the process 1 that runs it now.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fullsend_sandbox_init::wire::{Blob, Event, Launch, Mapping, Order, Plan, Wire as _};

use super::backend::Shared;
use super::channel::{HostChannel, Partial};
use super::filter::{self, FilterOptions};
use super::live::{Live, Parts, Prepared};
use super::mounts::{HeldSource, Pinned};
use super::network::{LiveNetwork, Wish};
use super::notify::Refused;
use super::paths::PathRules;
use super::state::{Record, SessionLock};
use super::view::{GroundIdentity, Layered, NO_EXECUTE, Owners, Programs, View, Wanted};
use super::{environment, landlock, launcher, limits, mounts};
use crate::cgroup::{CgroupLimits, Leaf};
use crate::error::SandboxError;
use crate::spec::{
    ExecRequest, FilesystemAccess, FilesystemMount, MEMORY_MOUNT, OUTPUTS_MOUNT, ResolvedMount,
    SandboxSession, SandboxSessionId, SandboxSpec, SandboxState, WriteMode, normal_target,
};

/// The user and group of commands, inside.
const AGENT: u32 = 1000;

/// How long setting up may take. It takes milliseconds.
const SETUP_PATIENCE: Duration = Duration::from_secs(20);

/// A session and everything that runs it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SandboxSessionId,
    pub(crate) record: Record,
    /// All mounts in the order of their targets.
    mounts: Vec<Arc<Pinned>>,
    layers_root: Option<HeldSource>,
    pub(crate) live: Option<Arc<Live>>,
    pub(crate) state: SandboxState,
    environment: BTreeMap<String, String>,
    report: BTreeMap<String, String>,
    #[expect(dead_code, reason = "holds the right to run the session")]
    lock: SessionLock,
}

impl Session {
    /// Checks everything that the record says, without starting anything.
    pub(crate) fn new(
        shared: &Shared,
        id: SandboxSessionId,
        record: Record,
        lock: SessionLock,
    ) -> Result<Self, SandboxError> {
        let mut session = Self {
            id,
            record,
            mounts: Vec::new(),
            layers_root: None,
            live: None,
            state: SandboxState::Provisioned,
            environment: environment::base(),
            report: BTreeMap::new(),
            lock,
        };
        session.hold_mounts(shared)?;
        Ok(session)
    }

    /// Takes hold of every source; called again when a mount is added.
    pub(crate) fn hold_mounts(&mut self, shared: &Shared) -> Result<(), SandboxError> {
        let mut owned = Vec::new();
        let mut given = Vec::new();
        for (number, mount) in self.record.spec.mounts.iter().enumerate() {
            if mount.is_session_owned() {
                if mount.write_mode == WriteMode::Overlay {
                    let target = &mount.target;
                    return Err(SandboxError::InvalidRequest(format!(
                        "mount `{target}` has no source to overlay"
                    )));
                }
                let source = shared.state.make_owned(&self.id, number)?;
                owned.push(FilesystemMount { source, ..mount.clone() });
            } else {
                given.push(mount.clone());
            }
        }
        self.mounts = mounts::pin(&given, &owned, &self.mounts, shared.state.root())?;
        self.layers_root = match self.overlaid().is_empty() {
            true => None,
            false => Some(HeldSource::open(&shared.state.layers())?),
        };
        Ok(())
    }

    /// Positions in the spec of mounts with layers.
    pub(crate) fn overlaid(&self) -> Vec<usize> {
        let mounts = self.record.spec.mounts.iter().enumerate();
        mounts.filter(|(_, mount)| mount.write_mode == WriteMode::Overlay).map(|(number, _)| number).collect()
    }

    /// Positions in the spec of directories that belong to the session.
    pub(crate) fn owned(&self) -> Vec<usize> {
        let mounts = self.record.spec.mounts.iter().enumerate();
        mounts.filter(|(_, mount)| mount.is_session_owned()).map(|(number, _)| number).collect()
    }

    /// The mount, if there is one, that commands change at its source and that no snapshot could bring back.
    pub(crate) fn direct_mount(&self) -> Option<&FilesystemMount> {
        self.record.spec.mounts.iter().find(|mount| {
            mount.access == FilesystemAccess::ReadWrite
                && mount.write_mode == WriteMode::Direct
                && !mount.is_session_owned()
        })
    }

    /// A running process 1, started now if there is none.
    pub(crate) async fn ensure_live(&mut self, shared: &Shared) -> Result<Arc<Live>, SandboxError> {
        if let Some(live) = self.live.as_ref().filter(|live| live.is_running()) {
            return Ok(Arc::clone(live));
        }
        self.end_live().await;
        let live = Arc::new(self.start(shared).await?);
        self.live = Some(Arc::clone(&live));
        Ok(live)
    }

    /// Ends process 1; the next command starts a new one, with what has changed since.
    pub(crate) async fn end_live(&mut self) {
        if let Some(live) = self.live.take() {
            live.end().await;
        }
    }

    async fn start(&mut self, shared: &Shared) -> Result<Live, SandboxError> {
        let root = rustix::process::geteuid().is_root();
        if let Some(top) = self.record.layers.first() {
            shared.state.ready_layer(top, &self.overlaid())?;
        }
        let layers = self.layers(shared);
        let limits = &self.record.spec.limits;
        let group = self.group(shared)?;
        let spec = &self.record.spec;
        let wish = Wish::of(spec)?;
        wish.check(shared.landlock()?)?;
        let programs = spec.programs.clone().map_or(Programs::All, Programs::Only);
        let wanted = Wanted {
            mounts: &self.mounts,
            layers: &layers,
            layers_root: self.layers_root.as_ref(),
            owners: if root { Owners::Changed } else { Owners::AsTheyAre },
            programs: programs.clone(),
            names: wish.names(),
            has_memory: self.mounts.iter().any(|mount| mount.target == MEMORY_MOUNT),
        };
        let view = View::build(shared.base(), &wanted)?;
        let filter = FilterOptions {
            internet_sockets: wish.internet_sockets(),
            fixed_processors: group.is_none() && limits.cpu_count.is_some(),
            listed_programs: programs != Programs::All,
            memory_by_process: group.is_none() && limits.memory_mb.is_some(),
            notify: true,
            watch_paths: spec.watch_paths,
        };
        let plan = Plan {
            user: AGENT,
            group: AGENT,
            own_network: wish.own_network(),
            hostname: Blob::from("sandbox"),
            sources: view.sources,
            steps: view.steps,
            listeners: wish.listeners(spec.endpoints.len()),
            limits: limits::of_processes(limits, group.is_none()),
            processors: limits.cpu_count.filter(|_| group.is_none()).unwrap_or(0),
            landlock: Some(landlock::rules(shared.landlock()?, &self.mounts)),
            filter: Blob(filter::compile(filter)),
            notify: 1,
        };
        let identity = GroundIdentity { user: AGENT, group: AGENT, caller: (!root).then(caller) };
        let scratch_attributes = if programs == Programs::All { 0 } else { NO_EXECUTE };
        let ground = shared.base().ground(identity, limits::scratch_bytes(limits), scratch_attributes);
        let launch = Launch {
            ground: Blob(ground.to_bytes()),
            fresh: 0,
            plan: Blob(plan.to_bytes()),
            user: plan.user,
            group: plan.group,
            own_network: plan.own_network,
            identity: root.then(|| shared.identity.clone()),
            prepared: view.prepared,
        };
        let sources: Vec<BorrowedFd<'_>> = view.held.iter().map(|source| source.descriptor()).collect();
        let born = bring_up(shared, launch.clone(), &sources, group.as_ref()).await?;
        shared.state.note_first(&self.id, born.pid)?;
        self.report = report(&wish, shared.landlock()?, group.as_ref(), spec);
        let network = LiveNetwork::start(shared, &self.id, spec, wish, born.listeners)?;
        let rules = spec.watch_paths.then(|| PathRules::new(&self.mounts, born.pid));
        let refused = born.notifier.map(|notifier| Refused::start(notifier, rules)).transpose();
        let refused = refused.map_err(SandboxError::io("cannot watch refused calls"))?;
        let memory = limits.memory_mb.filter(|_| group.is_none());
        Live::new(Parts {
            control: born.control,
            pidfd: born.pidfd,
            pid: born.pid,
            refused,
            group,
            network,
            memory,
            identity: launch.identity,
        })
    }

    /// A control group where a limit asks for one and the machine has one.
    fn group(&self, shared: &Shared) -> Result<Option<Leaf>, SandboxError> {
        let limits = &self.record.spec.limits;
        // Only a control group counts how often the limit of processes was hit.
        if limits.memory_mb.is_none() && limits.cpu_count.is_none() && limits.processes.is_none() {
            return Ok(None);
        }
        let wanted = CgroupLimits {
            memory_bytes: limits.memory_mb.map(|megabytes| u64::from(megabytes) << 20),
            cpu_count: limits.cpu_count,
            processes: Some(limits.processes.unwrap_or(limits::PROCESSES)),
        };
        match shared.cgroups().create(&shared.group_name(&self.id), &wanted) {
            Ok(leaf) => Ok(Some(leaf)),
            // Limits of each process, and a watch over all of them, take its place.
            Err(SandboxError::Unsupported { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn layers(&self, shared: &Shared) -> Vec<Layered> {
        let overlaid = self.overlaid();
        let layered = overlaid.iter().filter_map(|number| {
            let (top, sealed) = self.record.layers.split_first()?;
            let target = normal_target(&self.record.spec.mounts.get(*number)?.target).ok()?;
            let sealed = shared.state.with_mount(sealed, *number);
            Some(Layered {
                target,
                sealed: sealed.into_iter().map(|layer| format!("{layer}/{number}")).collect(),
                top: format!("{top}/{number}"),
            })
        });
        layered.collect()
    }

    /// Starts a command in the running process 1.
    pub(crate) fn prepare(&self, live: &Live, request: &ExecRequest) -> Result<Prepared, SandboxError> {
        if request.command.trim().is_empty() {
            return Err(SandboxError::InvalidRequest("the command is empty".to_owned()));
        }
        if std::iter::once(&request.command).chain(&request.args).any(|word| word.contains('\0')) {
            return Err(SandboxError::InvalidRequest("the command contains a NUL character".to_owned()));
        }
        let limits = &self.record.spec.limits;
        let timeout = request.timeout.or(limits.wall_time);
        let mut session = self.environment.clone();
        session.extend(live.environment().clone());
        if request.terminal.is_some() {
            session.insert("TERM".to_owned(), "xterm-256color".to_owned());
        }
        Ok(Prepared {
            environment: environment::lines(&session, &request.env)?,
            directory: self.directory(request.cwd.as_deref())?,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            output_limit: limits.output_bytes.unwrap_or(limits::OUTPUT_BYTES),
        })
    }

    /// Where a command starts: the first writable mount of the caller's, or the home directory.
    fn directory(&self, asked: Option<&str>) -> Result<String, SandboxError> {
        let given = self.record.spec.mounts.iter().filter(|mount| {
            mount.access == FilesystemAccess::ReadWrite
                && mount.target != OUTPUTS_MOUNT
                && !mount.is_session_owned()
        });
        let is_directory = |target: &String| {
            self.mounts.iter().any(|mount| mount.target == *target && mount.source.is_directory)
        };
        let first = given.filter_map(|mount| normal_target(&mount.target).ok()).find(is_directory);
        let default = first.unwrap_or_else(|| environment::HOME.to_owned());
        match asked.map(str::trim).filter(|asked| !asked.is_empty()) {
            None => Ok(default),
            Some(asked) if asked.contains('\0') => {
                Err(SandboxError::InvalidRequest("the working directory contains a NUL character".to_owned()))
            }
            Some(asked) if asked.starts_with('/') => Ok(asked.to_owned()),
            Some(asked) => Ok(format!("{default}/{asked}")),
        }
    }

    /// The session as others see it.
    pub(crate) fn describe(&self, shared: &Shared) -> SandboxSession {
        let mounts = self.record.spec.mounts.iter().enumerate().map(|(number, mount)| ResolvedMount {
            target: normal_target(&mount.target).unwrap_or_else(|_| mount.target.clone()),
            access: mount.access,
            host_path: match (mount.is_session_owned(), mount.write_mode) {
                (true, _) => Some(shared.state.owned(&self.id, number)),
                (false, WriteMode::Direct) => Some(mount.source.clone()),
                (false, WriteMode::Overlay) => None,
            },
        });
        let mut mounts: Vec<ResolvedMount> = mounts.collect();
        if !mounts.iter().any(|mount| mount.target == MEMORY_MOUNT) {
            let access = FilesystemAccess::ReadOnly;
            mounts.push(ResolvedMount { target: MEMORY_MOUNT.to_owned(), access, host_path: None });
        }
        let labels =
            self.record.spec.labels.iter().map(|(name, value)| (format!("label.{name}"), value.clone()));
        SandboxSession {
            id: self.id.clone(),
            backend: super::backend::NAME.to_owned(),
            state: self.state,
            mounts,
            metadata: self.report.clone().into_iter().chain(labels).collect(),
        }
    }
}

/// Each layer, and whether it holds.
fn report(wish: &Wish, landlock: u32, group: Option<&Leaf>, spec: &SandboxSpec) -> BTreeMap<String, String> {
    let enforced = || "enforced".to_owned();
    let limit = |asked: bool, otherwise: &str| match (asked, group) {
        (false, _) => "absent".to_owned(),
        (true, Some(_)) => "enforced: control group".to_owned(),
        (true, None) => otherwise.to_owned(),
    };
    let memory =
        limit(spec.limits.memory_mb.is_some(), "degraded: each process is limited, their sum is watched");
    let processors = limit(spec.limits.cpu_count.is_some(), "enforced: processor affinity");
    let tier = if group.is_some() { "3" } else { "2" };
    [
        ("tier", tier.to_owned()),
        ("user_namespace", enforced()),
        ("mount_namespace", enforced()),
        ("pid_namespace", enforced()),
        ("ipc_namespace", enforced()),
        ("network", wish.report().to_owned()),
        ("landlock", format!("enforced: version {landlock}")),
        ("seccomp", enforced()),
        ("memory", memory),
        ("processors", processors),
        ("processes", enforced()),
    ]
    .into_iter()
    .map(|(layer, status)| (layer.to_owned(), status))
    .collect()
}

fn caller() -> Mapping {
    Mapping { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
}

/// A process 1 that is locked in.
struct Born {
    control: Arc<HostChannel>,
    pidfd: OwnedFd,
    pid: u32,
    notifier: Option<OwnedFd>,
    listeners: Vec<(u32, OwnedFd)>,
}

async fn bring_up(
    shared: &Shared,
    launch: Launch,
    sources: &[BorrowedFd<'_>],
    group: Option<&Leaf>,
) -> Result<Born, SandboxError> {
    match try_to_bring_up(shared, &launch, sources, group).await? {
        Ok(born) => Ok(born),
        // A source that is not where it was when the process was made: mounts of the host have changed since.
        Err(failure) if failure.doing.starts_with(OPENING) => {
            let again = Launch { fresh: 1, ..launch };
            try_to_bring_up(shared, &again, sources, group).await?.map_err(|failure| failure.into_error())
        }
        Err(failure) => Err(failure.into_error()),
    }
}

/// How the program inside says that a source could not be opened.
const OPENING: &str = "opening ";

/// What the program inside reports.
struct SetupFailure {
    doing: String,
    errno: u32,
}

impl SetupFailure {
    fn into_error(self) -> SandboxError {
        launcher::failure(&self.doing, self.errno)
    }
}

async fn try_to_bring_up(
    shared: &Shared,
    launch: &Launch,
    sources: &[BorrowedFd<'_>],
    group: Option<&Leaf>,
) -> Result<Result<Born, SetupFailure>, SandboxError> {
    let (ours, theirs) =
        launcher::control_pair().map_err(SandboxError::io("cannot make a control channel"))?;
    let control = HostChannel::new(ours).map_err(SandboxError::io("cannot watch the control channel"))?;
    let go = async || {
        let sent = control.send(&Order::Go {}, &[]).await;
        sent.map_err(SandboxError::io("cannot talk to the sandbox"))
    };
    // Said in advance where nothing has to be done to the new process first.
    if group.is_none() {
        go().await?;
    }
    let newborn = shared.launcher.launch(launch, theirs.as_fd(), sources).await?;
    drop(theirs);
    if let Some(group) = group {
        group.attach(newborn.pid)?;
        go().await?;
    }
    let mut partial = Partial::default();
    let ready = control.receive::<Event>(&mut partial);
    let answer = tokio::time::timeout(SETUP_PATIENCE, ready)
        .await
        .map_err(|_| SandboxError::Lifecycle("setting the sandbox up took too long".to_owned()))?;
    match answer.map_err(SandboxError::io("cannot talk to the sandbox"))? {
        Some((Event::Ready { ports, notifies }, descriptors)) => {
            let mut descriptors = descriptors.into_iter();
            let notifier = if notifies == 1 { descriptors.next() } else { None };
            let listeners = ports.into_iter().zip(descriptors).collect();
            Ok(Ok(Born {
                control: Arc::new(control),
                pidfd: newborn.pidfd,
                pid: newborn.pid,
                notifier,
                listeners,
            }))
        }
        Some((Event::Failed { doing, errno }, _)) => {
            Ok(Err(SetupFailure { doing: doing.to_string(), errno }))
        }
        Some(_) | None => {
            Err(SandboxError::Lifecycle("the sandbox ended while it was being set up".to_owned()))
        }
    }
}
