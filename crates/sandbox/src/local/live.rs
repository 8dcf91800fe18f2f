//! A running process 1 and the commands under it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fullsend_sandbox_init::wire::{Blob, Event, Mapping, Order};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::channel::{HostChannel, Partial};
use super::memory::MemoryWatch;
use super::network::LiveNetwork;
use super::notify::Refused;
use super::process::{LocalProcess, Rest, Streams};
use super::terminal::Terminal;
use super::watched::watch as watch_descriptor;
use crate::cgroup::Leaf;
use crate::error::SandboxError;
use crate::spec::{Denial, ExecRequest, LimitHit, TerminalSize};

type Passed = (Event, Vec<OwnedFd>);

/// A process 1 that is locked in, and what is answered for it on the host.
#[derive(Debug)]
pub(crate) struct Live {
    control: Arc<HostChannel>,
    pidfd: OwnedFd,
    commands: Arc<Mutex<HashMap<u32, UnboundedSender<Passed>>>>,
    next: AtomicU32,
    refused: Option<Refused>,
    network: Option<LiveNetwork>,
    group: Mutex<Option<Leaf>>,
    counted: Mutex<Counted>,
    /// Commands ran side by side, so what was refused cannot be told apart.
    overlapped: AtomicBool,
    ended: watch::Receiver<bool>,
    memory: Option<MemoryWatch>,
    /// For callers who are root: who the session is on the host.
    identity: Option<Mapping>,
    /// When the last command ended.
    idle_since: Mutex<Instant>,
    null: OwnedFd,
}

/// What a [`Live`] is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) control: Arc<HostChannel>,
    pub(crate) pidfd: OwnedFd,
    /// Process 1, as numbered on the host.
    pub(crate) pid: u32,
    pub(crate) refused: Option<Refused>,
    pub(crate) group: Option<Leaf>,
    pub(crate) network: Option<LiveNetwork>,
    /// Megabytes that all processes together may have, where no control group sees to that.
    pub(crate) memory: Option<u32>,
    /// For callers who are root: who the session is on the host.
    pub(crate) identity: Option<Mapping>,
}

/// Events of the control group that have been reported.
#[derive(Debug, Default)]
struct Counted {
    memory: u64,
    processes: u64,
}

/// A command, ready to be sent.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) environment: Vec<Blob>,
    pub(crate) directory: String,
    pub(crate) deadline: Option<Instant>,
    pub(crate) output_limit: u64,
}

impl Live {
    pub(crate) fn new(parts: Parts) -> Result<Self, SandboxError> {
        let null = std::fs::File::open("/dev/null").map_err(SandboxError::io("cannot open /dev/null"))?;
        let commands = Arc::<Mutex<HashMap<u32, UnboundedSender<Passed>>>>::default();
        let (end, ended) = watch::channel(false);
        tokio::spawn(route(Arc::clone(&parts.control), Arc::clone(&commands), end));
        let memory = parts.memory.map(|megabytes| MemoryWatch::start(parts.pid, megabytes, ended.clone()));
        Ok(Self {
            control: parts.control,
            pidfd: parts.pidfd,
            commands,
            next: AtomicU32::new(2),
            refused: parts.refused,
            network: parts.network,
            group: Mutex::new(parts.group),
            counted: Mutex::default(),
            overlapped: AtomicBool::new(false),
            ended,
            memory,
            identity: parts.identity,
            idle_since: Mutex::new(Instant::now()),
            null: null.into(),
        })
    }

    /// Starts a command.
    pub(crate) async fn spawn(
        self: &Arc<Self>,
        request: ExecRequest,
        prepared: Prepared,
    ) -> Result<LocalProcess, SandboxError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let alone = !self.is_busy();
        if !alone {
            self.overlapped.store(true, Ordering::Relaxed);
        }
        if let Some(network) = &self.network {
            network.egress.attribute(alone.then(|| command_line(&request)));
        }
        let (sender, mut events) = unbounded_channel();
        self.commands().insert(id, sender);
        let registered = Registered { live: self, id, armed: true };
        let io = SandboxError::io("cannot make pipes for the command");
        let (streams, theirs) = self.pipes(&request).map_err(io)?;
        let started = Instant::now();
        let (rows, columns) =
            request.terminal.map_or((0, 0), |TerminalSize { rows, columns }| (rows.max(1), columns.max(1)));
        let order = Order::Exec {
            id,
            command: Blob::from(&request.command),
            arguments: request.args.iter().map(Blob::from).collect(),
            environment: prepared.environment,
            directory: Blob::from(&prepared.directory),
            terminal: (rows.into(), columns.into()),
            keep_background: u32::from(request.keep_background),
        };
        let descriptors: Vec<BorrowedFd<'_>> = theirs.iter().map(|theirs| theirs.as_fd(&self.null)).collect();
        let sent = self.control.send(&order, &descriptors).await;
        sent.map_err(SandboxError::io(format!("cannot start `{}`", request.command)))?;
        drop(theirs);
        let streams = self.await_start(&request, &prepared.directory, &mut events, streams).await?;
        let queue: VecDeque<_> = request.stdin.into_iter().map(|input| input.0.into()).collect();
        let mut process = LocalProcess {
            live: Arc::clone(self),
            id,
            events,
            streams,
            input_ends: !request.interactive,
            queue,
            started,
            deadline: prepared.deadline,
            timed_out: false,
            ended: None,
            rest: Rest::default(),
            output_limit: prepared.output_limit,
        };
        registered.disarm();
        process.end_input();
        Ok(process)
    }

    async fn await_start(
        &self,
        request: &ExecRequest,
        place: &str,
        events: &mut UnboundedReceiver<Passed>,
        mut streams: Streams,
    ) -> Result<Streams, SandboxError> {
        match events.recv().await {
            Some((Event::Started { .. }, descriptors)) => {
                if let Some(master) = descriptors.into_iter().next() {
                    let terminal =
                        Terminal::new(master).map_err(SandboxError::io("cannot watch the terminal"))?;
                    streams.terminal = Some(terminal);
                }
                Ok(streams)
            }
            Some((Event::NotStarted { errno, directory, .. }, _)) => {
                let source = io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(libc::EIO));
                if directory == 1 {
                    let message =
                        format!("the working directory `{place}` cannot be entered in the sandbox: {source}");
                    return Err(SandboxError::InvalidRequest(message));
                }
                Err(SandboxError::NotStarted { command: request.command.clone(), source })
            }
            Some(_) | None => {
                Err(SandboxError::Exec("the sandbox ended before the command was started".to_owned()))
            }
        }
    }

    fn pipes(&self, request: &ExecRequest) -> io::Result<(Streams, Vec<Theirs>)> {
        let mut streams = Streams { input: None, output: None, error: None, terminal: None };
        if request.terminal.is_some() {
            return Ok((streams, Vec::new()));
        }
        let mut theirs = Vec::with_capacity(3);
        if request.interactive || request.stdin.is_some() {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            streams.input = Some(pipe::Sender::from_owned_fd(writer)?);
            self.give(&reader)?;
            theirs.push(Theirs::Pipe(reader));
        } else {
            theirs.push(Theirs::Null);
        }
        for ours in [&mut streams.output, &mut streams.error] {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            *ours = Some(pipe::Receiver::from_owned_fd(reader)?);
            self.give(&writer)?;
            theirs.push(Theirs::Pipe(writer));
        }
        Ok((streams, theirs))
    }

    /// Commands open `/dev/stdout` and its like anew, which only the owner may.
    fn give(&self, pipe: &OwnedFd) -> io::Result<()> {
        match &self.identity {
            Some(Mapping { user, group }) => {
                let (user, group) = (rustix::fs::Uid::from_raw(*user), rustix::fs::Gid::from_raw(*group));
                Ok(rustix::fs::fchown(pipe, Some(user), Some(group))?)
            }
            None => Ok(()),
        }
    }

    /// Sends a short order without waiting.
    pub(crate) fn order_now(&self, order: &Order) -> Result<(), SandboxError> {
        self.control.send_now(order).map_err(SandboxError::io("cannot reach the sandbox"))
    }

    /// Stops every process, or lets them go on, and waits until that is done.
    pub(crate) async fn everyone(&self, order: &Order) -> Result<(), SandboxError> {
        let (sender, mut events) = unbounded_channel();
        self.commands().insert(EVERYONE, sender);
        let sent = self.control.send(order, &[]).await;
        let done = match sent {
            Ok(()) => {
                events.recv().await.ok_or_else(|| SandboxError::Lifecycle("the sandbox has ended".to_owned()))
            }
            Err(error) => Err(SandboxError::io("cannot reach the sandbox")(error)),
        };
        self.commands().remove(&EVERYONE);
        done.map(drop)
    }

    /// Whether process 1 is still there to talk to.
    pub(crate) fn is_running(&self) -> bool {
        !*self.ended.borrow()
    }

    /// Whether commands are under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.commands().keys().any(|id| *id != EVERYONE)
    }

    /// Ends process 1 and with it every process of the session.
    pub(crate) fn destroy(&self) {
        // One that has ended already is what we want.
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Waits for the end of process 1 itself: its channel is closed before the kernel ends the other processes of the
    /// session, which might still be writing.
    async fn gone(&self) {
        let watched = self.pidfd.try_clone().and_then(watch_descriptor);
        match watched {
            Ok(pidfd) => drop(pidfd.readable().await),
            // The sender is only dropped after it has said so.
            Err(_) => drop(self.ended.clone().wait_for(|ended| *ended).await),
        }
    }

    /// Ends process 1 and waits until it and its control group are gone.
    pub(crate) async fn end(&self) {
        self.destroy();
        self.gone().await;
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(group) = group {
            // Waits for the kernel to let go of the last process. What cannot be removed is swept later.
            drop(tokio::task::spawn_blocking(move || group.remove()).await);
        }
    }

    /// How long no command has been running; `None` while one is.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let since = *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.is_busy()).then(|| since.elapsed())
    }

    pub(crate) fn forget(&self, id: u32) {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.commands().remove(&id);
    }

    /// Variables that lead commands to the proxy and the endpoints.
    pub(crate) fn environment(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.network.as_ref().map_or(&NONE, |network| &network.environment)
    }

    pub(crate) fn network(&self) -> Option<&LiveNetwork> {
        self.network.as_ref()
    }

    /// What was refused and which limits were hit since the last account. Said only of commands that ran alone.
    pub(crate) fn account(&self) -> (Vec<Denial>, Vec<LimitHit>) {
        let mut denials = self.refused.as_ref().map(Refused::take).unwrap_or_default();
        denials.extend(self.network.iter().flat_map(|network| network.egress.take_denials()));
        let last = self.commands().len() <= 1;
        let overlapped = if last { self.overlapped.swap(false, Ordering::Relaxed) } else { true };
        if overlapped {
            denials.clear();
        }
        (denials, self.limits_hit())
    }

    /// Whether the kernel has killed something for lack of memory since the last account.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner).memory;
        let group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        group.as_ref().is_some_and(|group| group.oom_kills() > counted)
    }

    fn limits_hit(&self) -> Vec<LimitHit> {
        let mut limits = Vec::new();
        if self.memory.as_ref().is_some_and(MemoryWatch::take_exceeded) {
            limits.push(LimitHit::Memory);
        }
        if let Some(group) = &*self.group.lock().unwrap_or_else(PoisonError::into_inner) {
            let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            let (memory, processes) = (group.oom_kills(), group.process_limit_hits());
            if memory > counted.memory {
                limits.push(LimitHit::Memory);
            }
            if processes > counted.processes {
                limits.push(LimitHit::Processes);
            }
            *counted = Counted { memory, processes };
        }
        limits
    }

    fn commands(&self) -> std::sync::MutexGuard<'_, HashMap<u32, UnboundedSender<Passed>>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.destroy();
    }
}

/// For the log: what runs, shortened.
fn command_line(request: &ExecRequest) -> String {
    const LONGEST: usize = 200;
    let line = std::iter::once(&request.command)
        .chain(&request.args)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ");
    line.chars().take(LONGEST).collect()
}

/// Answers to orders for all processes; commands have other numbers.
const EVERYONE: u32 = 1;

/// What the other side gets of a stream.
enum Theirs {
    Pipe(OwnedFd),
    Null,
}

impl Theirs {
    fn as_fd<'a>(&'a self, null: &'a OwnedFd) -> BorrowedFd<'a> {
        match self {
            Self::Pipe(descriptor) => descriptor.as_fd(),
            Self::Null => null.as_fd(),
        }
    }
}

/// A command in the table, taken out again if starting it is given up. Process 1 may have started it by then.
struct Registered<'a> {
    live: &'a Live,
    id: u32,
    armed: bool,
}

impl Registered<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.live.forget(self.id);
            if self.live.order_now(&Order::Kill { id: self.id }).is_err() {
                self.live.destroy();
            }
        }
    }
}

/// Hands events to the commands that they are about, until process 1 is gone.
async fn route(
    control: Arc<HostChannel>,
    commands: Arc<Mutex<HashMap<u32, UnboundedSender<Passed>>>>,
    end: watch::Sender<bool>,
) {
    let mut partial = Partial::default();
    while let Ok(Some((event, descriptors))) = control.receive::<Event>(&mut partial).await {
        let id = match &event {
            Event::Started { id, .. } | Event::NotStarted { id, .. } | Event::Exited { id, .. } => *id,
            Event::Done {} => EVERYONE,
            // Only expected before this task is started.
            Event::Ready { .. } | Event::Failed { .. } => continue,
        };
        let table = commands.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = table.get(&id) {
            // A command that is not waited for any more needs no events.
            drop(sender.send((event, descriptors)));
        }
    }
    // Whoever still waits learns that nothing more will come.
    commands.lock().unwrap_or_else(PoisonError::into_inner).clear();
    end.send_replace(true);
}
