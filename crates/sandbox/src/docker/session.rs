//! A session: its record, and its container while one runs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fullsend_sandbox_init::wire::{Blob, Event, Limit, Order, Plan, Source};
use uuid::Uuid;

use super::arguments::{self, Bind, INIT, LABEL_SESSION, LABEL_STATE, Limits};
use super::backend::{NAME, Shared};
use super::command::{Command, Streams};
use super::container::{self, Container, Report};
use super::layout::{Layout, Placed, Showing};
use super::limits;
use super::network::{WayOut, has_way_out, is_open};
use super::owners::Shown;
use super::record::{Owner, Place, Record};
use crate::error::SandboxError;
use crate::local::limits::OUTPUT_BYTES;
use crate::local::mounts::Pinned;
use crate::local::{environment, filter};
use crate::spec::{ExecRequest, FilesystemAccess, OUTPUTS_MOUNT, SandboxSession, SandboxState};

/// How long a command may take until it is known to run.
const SPAWN: Duration = Duration::from_secs(30);

/// A session of this process.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) record: Record,
    pub(super) place: Place,
    pub(super) container: Option<Arc<Container>>,
    pub(super) state: SandboxState,
    pub(super) last_used: Instant,
    /// Sources of the caller, held from the moment they were given.
    held: Vec<Arc<Pinned>>,
    /// Mounts that the container's are made of.
    shown: Vec<Shown>,
    seen: Arc<Mutex<Option<SandboxSession>>>,
}

impl Session {
    pub(super) fn new(record: Record, place: Place) -> Self {
        Self {
            record,
            place,
            container: None,
            state: SandboxState::Running,
            last_used: Instant::now(),
            held: Vec::new(),
            shown: Vec::new(),
            seen: Arc::default(),
        }
    }

    /// What others saw of the session last; can be read while it is being changed.
    pub(super) fn seen(&self) -> Arc<Mutex<Option<SandboxSession>>> {
        Arc::clone(&self.seen)
    }

    /// Shows the session as it is now.
    pub(super) fn publish(&self, shared: &Shared) -> SandboxSession {
        let described = self.describe(shared);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(described.clone());
        described
    }

    /// Checks all mounts, and holds on to their sources.
    pub(super) fn check_mounts(&mut self, shared: &Shared) -> Result<Layout, SandboxError> {
        let (files, user) = (self.place.files(), self.record.user);
        let root = rustix::process::geteuid().is_root() && shared.shares_kernel;
        let showing = root.then_some(Showing { init: &shared.init, state: &shared.state });
        let layout = Layout::check(&self.record.mounts, &self.held, &files, &shared.state, user, showing)?;
        self.held.clone_from(&layout.pinned);
        Ok(layout)
    }

    /// The container, started if there is none.
    pub(super) async fn ensure_running(&mut self, shared: &Shared) -> Result<Arc<Container>, SandboxError> {
        if let Some(container) = self.container.as_ref().filter(|container| !container.is_gone()) {
            let container = Arc::clone(container);
            if self.state == SandboxState::Suspended {
                container.unpause().await?;
                self.state = SandboxState::Running;
            }
            return Ok(container);
        }
        // A container that has ended by itself may not be removed yet.
        self.stop().await;
        let layout = self.check_mounts(shared)?;
        self.record.container = format!("fullsend-{}-{}", self.record.id, short(&Uuid::new_v4()));
        self.record.owner = Owner::this_process();
        self.place.write(&self.record)?;
        let described = self.container_for(shared, &layout);
        let plan = self.plan(shared, &layout);
        let way_out = WayOut::start(&self.record.spec, &shared.config, &self.record.id)?;
        let name = &self.record.container;
        let hook = shared.config.hook.as_ref();
        let started = Container::start(&shared.client, name, &described, hook, plan, way_out).await?;
        let container = Arc::new(started);
        self.shown = layout.into_shown();
        self.container = Some(Arc::clone(&container));
        self.state = SandboxState::Running;
        Ok(container)
    }

    /// Ends the container; files stay.
    pub(super) async fn stop(&mut self) {
        if let Some(container) = self.container.take() {
            if self.state == SandboxState::Suspended {
                // Processes that are stopped cannot end.
                let _ = container.unpause().await;
            }
            container.end().await;
        }
        self.shown.clear();
        self.state = SandboxState::Running;
    }

    pub(super) fn refuse_busy(&self) -> Result<(), SandboxError> {
        let busy =
            self.container.as_ref().is_some_and(|container| !container.is_gone() && container.is_busy());
        if busy {
            let id = &self.record.id;
            return Err(SandboxError::InvalidRequest(format!("a command is running in session `{id}`")));
        }
        Ok(())
    }

    fn container_for<'a>(&'a self, shared: &'a Shared, layout: &'a Layout) -> arguments::Container<'a> {
        let spec = &self.record.spec;
        let limits = &spec.limits;
        let mut binds = vec![Bind { source: shared.init.as_path().into(), target: INIT, writable: false }];
        binds.push(Bind {
            source: shared.accounts.users.as_path().into(),
            target: "/etc/passwd",
            writable: false,
        });
        binds.push(Bind {
            source: shared.accounts.groups.as_path().into(),
            target: "/etc/group",
            writable: false,
        });
        binds.extend(layout.binds());
        arguments::Container {
            name: &self.record.container,
            labels: BTreeMap::from([
                (LABEL_STATE, shared.label.as_str()),
                (LABEL_SESSION, self.record.id.as_str()),
            ]),
            image: &shared.config.image,
            runtime: shared.config.runtime.as_deref(),
            network: if is_open(spec) { &shared.config.open_network } else { "none" },
            names_inside: has_way_out(spec) && !is_open(spec),
            user: self.record.user,
            keep_id: shared.identity.keep_id,
            limits: Limits {
                memory_mb: limits::memory_mb(limits),
                processes: limits::processes(limits),
                cpus: limits.cpu_count.unwrap_or(u32::MAX).min(shared.engine.cpus),
                scratch_mb: limits::scratch_mb(limits),
            },
            binds,
        }
    }

    /// What process 1 does itself; the engine has done the rest.
    fn plan(&self, shared: &Shared, layout: &Layout) -> Plan {
        let spec = &self.record.spec;
        let file_size = u64::from(limits::file_size_mb(&spec.limits)) << 20;
        let limit = |resource, value| Limit { resource, value };
        let options = filter::FilterOptions {
            listed_programs: false,
            memory_by_process: false,
            internet_sockets: is_open(spec) || has_way_out(spec),
            fixed_processors: false,
            notify: false,
            watch_paths: false,
        };
        Plan {
            user: self.record.user.uid,
            group: self.record.user.gid,
            own_network: u32::from(!is_open(spec)),
            hostname: Blob::default(),
            sources: expected(shared, layout),
            steps: Vec::new(),
            listeners: Vec::new(),
            limits: vec![limit(libc::RLIMIT_CORE, 0), limit(libc::RLIMIT_FSIZE, file_size)],
            processors: 0,
            landlock: None,
            filter: Blob(filter::compile(options)),
            notify: 0,
        }
    }

    /// Starts a command.
    pub(super) async fn spawn(
        &mut self,
        shared: &Shared,
        request: ExecRequest,
    ) -> Result<Command, SandboxError> {
        check(&request)?;
        // Refused before a container is started or woken up for it.
        environment::lines(&BTreeMap::new(), &request.env)?;
        let container = self.ensure_running(shared).await?;
        let mut variables = environment::base();
        variables.extend(container.environment());
        if request.terminal.is_some() {
            variables.insert("TERM".to_owned(), "xterm-256color".to_owned());
        }
        let environment = environment::lines(&variables, &request.env)?;
        let directory = self.directory(request.cwd.as_deref())?;
        self.last_used = Instant::now();
        let timeout = request.timeout.or(self.record.spec.limits.wall_time);
        let (rows, columns) =
            request.terminal.map_or((0, 0), |size| (size.rows.max(1).into(), size.columns.max(1).into()));
        let order = |id| Order::Exec {
            id,
            command: Blob::from(&request.command),
            arguments: request.args.iter().map(Blob::from).collect(),
            environment,
            directory: Blob::from(&directory),
            terminal: (rows, columns),
            keep_background: u32::from(request.keep_background),
        };
        let streams = if request.terminal.is_some() { Streams::default() } else { pipes(&container)? };
        let named: Vec<_> = [&streams.input, &streams.output, &streams.error].into_iter().flatten().collect();
        let alone = (!container.is_busy()).then(|| container.overlaps());
        if let Some(way_out) = container.way_out().filter(|_| alone.is_some()) {
            way_out.attribute(request.command.clone());
        }
        let (id, reports) = container.exec(order, &named)?;
        let mut command = Command {
            container,
            id,
            reports,
            streams,
            queue: VecDeque::new(),
            input_ends: false,
            started: Instant::now(),
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            timed_out: false,
            ended: None,
            output_limit: self.record.spec.limits.output_bytes.unwrap_or(OUTPUT_BYTES),
            alone,
            hit: Vec::new(),
        };
        wait_until_it_runs(&mut command, &request, &directory).await?;
        command.give_input(request);
        Ok(command)
    }

    /// Where a command starts: the first writable mount of the caller's, or the home directory.
    fn directory(&self, asked: Option<&str>) -> Result<String, SandboxError> {
        let first = self.record.spec.mounts.iter().find(|mount| {
            mount.access == FilesystemAccess::ReadWrite
                && mount.target != OUTPUTS_MOUNT
                && !mount.is_session_owned()
                && mount.source.is_dir()
        });
        let placed = |target: &str| crate::spec::normal_target(target).ok();
        let default =
            first.and_then(|mount| placed(&mount.target)).unwrap_or_else(|| environment::HOME.to_owned());
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
    pub(super) fn describe(&self, shared: &Shared) -> SandboxSession {
        let spec = &self.record.spec;
        let files = self.place.files();
        let enforced = |name: &str| (name.to_owned(), "enforced".to_owned());
        let runtime = shared.config.runtime.as_deref().unwrap_or(&shared.engine.default_runtime);
        let network = match (is_open(spec), has_way_out(spec)) {
            (true, _) => "open",
            (false, true) => "proxy",
            (false, false) => "none",
        };
        let report = [
            ("engine".to_owned(), format!("{} {}", shared.client.name(), shared.engine.version)),
            ("image".to_owned(), shared.config.image.clone()),
            ("runtime".to_owned(), runtime.to_owned()),
            ("network".to_owned(), network.to_owned()),
            ("user".to_owned(), self.record.user.uid.to_string()),
            ("landlock".to_owned(), "absent".to_owned()),
        ];
        let layers = ["mounts", "capabilities", "seccomp", "pids", "cgroup"].map(enforced);
        let labels = spec.labels.iter().map(|(name, value)| (format!("label.{name}"), value.clone()));
        SandboxSession {
            id: self.record.id.clone(),
            backend: NAME.to_owned(),
            state: self.state,
            mounts: self.record.mounts.iter().map(|placed| placed.resolved(&files)).collect(),
            metadata: report.into_iter().chain(layers).chain(labels).collect(),
        }
    }

    /// Removes the container of an earlier process, if it is still there.
    pub(super) async fn remove_earlier(&self, shared: &Shared) {
        if !self.record.container.is_empty() {
            container::remove(&shared.client, &self.record.container).await;
        }
    }

    /// A mount that commands change directly.
    pub(super) fn direct_mount(&self) -> Option<&Placed> {
        self.record.mounts.iter().find(|placed| placed.writes_through())
    }
}

fn short(uuid: &Uuid) -> String {
    uuid.simple().to_string().chars().take(8).collect()
}

/// What must be mounted where, checked from inside: a source that was swapped after it was looked at is noticed.
/// A runtime with a kernel of its own numbers files its own way, so there is nothing to compare.
fn expected(shared: &Shared, layout: &Layout) -> Vec<Source> {
    if !shared.shares_kernel {
        return Vec::new();
    }
    let source = |(target, identity): (&str, _)| Source {
        path: Blob::from(target),
        identity,
        prepared: u32::MAX,
        attributes: 0,
        optional: 0,
    };
    layout.identities().map(source).collect()
}

fn check(request: &ExecRequest) -> Result<(), SandboxError> {
    if request.command.trim().is_empty() {
        return Err(SandboxError::InvalidRequest("the command is empty".to_owned()));
    }
    if std::iter::once(&request.command).chain(&request.args).any(|word| word.contains('\0')) {
        return Err(SandboxError::InvalidRequest("the command contains a NUL character".to_owned()));
    }
    Ok(())
}

fn pipes(container: &Container) -> Result<Streams, SandboxError> {
    let streams = Streams {
        input: Some(container.open()?),
        output: Some(container.open()?),
        error: Some(container.open()?),
        terminal: None,
    };
    for output in [&streams.output, &streams.error].into_iter().flatten() {
        output.finish();
    }
    Ok(streams)
}

async fn wait_until_it_runs(
    command: &mut Command,
    request: &ExecRequest,
    place: &str,
) -> Result<(), SandboxError> {
    let report = tokio::time::timeout(SPAWN, command.reports.recv()).await;
    match report {
        Ok(Some(Report { event: Event::Started { .. }, streams, .. })) => {
            command.streams.terminal = streams.into_iter().next();
            Ok(())
        }
        Ok(Some(Report { event: Event::NotStarted { errno, directory, .. }, .. })) => {
            let source = std::io::Error::from_raw_os_error(errno.cast_signed());
            if directory == 1 {
                return Err(SandboxError::InvalidRequest(format!(
                    "the working directory `{place}` cannot be entered in the sandbox: {source}"
                )));
            }
            Err(SandboxError::NotStarted { command: request.command.clone(), source })
        }
        // What looks after a command beside others did not survive its first step.
        Ok(Some(Report { event: Event::Exited { .. }, .. })) => Err(SandboxError::Unsupported {
            backend: NAME,
            operation: "a command beside others or beside background processes",
            reason: "the kernel of this runtime has no subreapers; wait for the others to end".to_owned(),
        }),
        Ok(Some(_)) => Err(SandboxError::Exec("the container reports something unexpected".to_owned())),
        Ok(None) => Err(SandboxError::Exec("the sandbox ended before the command was started".to_owned())),
        Err(_) => Err(SandboxError::Exec("the container does not start commands any more".to_owned())),
    }
}
