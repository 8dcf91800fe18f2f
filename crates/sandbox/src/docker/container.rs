//! A container that runs: the client process that is attached to it, and the channel to its process 1.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fullsend_sandbox_init::wire::{Blob, Event, Inward, Order, Outward, Plan, Wire as _};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::arguments;
use super::client::{Client, one_line};
use super::hook::ContainerHook;
use super::network::WayOut;
use crate::error::SandboxError;
use crate::mux::{Incoming, Mux, MuxStream, Opened, Side, WeakMux};
use crate::spec::LimitHit;

/// How long an engine may take to make a container.
const START: Duration = Duration::from_secs(60);
/// How long a container may take to end by itself when its channel is closed.
const END: Duration = Duration::from_secs(5);
/// What is kept of the words of a client that fails.
const COMPLAINT: u64 = 8 * 1024;

/// What process 1 reports about a command.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) event: Event,
    /// Streams that go with it.
    pub(super) streams: Vec<MuxStream>,
    /// Limits that the container ran into since another command ended.
    pub(super) hit: Vec<LimitHit>,
}

/// A running container.
#[derive(Debug)]
pub(super) struct Container {
    name: String,
    client: Client,
    mux: Mux,
    commands: Arc<Commands>,
    next: AtomicU32,
    attached: Mutex<Option<Child>>,
    /// How many commands were started while others ran.
    overlaps: AtomicU32,
    way_out: Option<WayOut>,
    ports: Vec<u32>,
    watched: Option<Watched>,
}

/// Somebody who is told about the container, and by which name.
#[derive(Debug)]
struct Watched {
    hook: Arc<dyn ContainerHook>,
    container_id: String,
}

impl Watched {
    /// Makes a container that does not run yet, and tells of it.
    async fn make(
        client: &Client,
        name: &str,
        arguments: &[String],
        hook: &Arc<dyn ContainerHook>,
    ) -> Result<Self, SandboxError> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let container_id = client.ask(&words).await?;
        if let Err(refusal) = hook.created(&container_id) {
            remove(client, name).await;
            return Err(SandboxError::NotPrepared(refusal));
        }
        Ok(Self { hook: Arc::clone(hook), container_id })
    }
}

/// Who hears about which command.
#[derive(Debug, Default)]
struct Commands(Mutex<HashMap<u32, mpsc::UnboundedSender<Report>>>);

impl Commands {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, mpsc::UnboundedSender<Report>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Container {
    /// Makes the container and waits until its process 1 is locked in. With a `hook` it is made first and started then.
    pub(super) async fn start(
        client: &Client,
        name: &str,
        described: &arguments::Container<'_>,
        hook: Option<&Arc<dyn ContainerHook>>,
        mut plan: Plan,
        way_out: Option<WayOut>,
    ) -> Result<Self, SandboxError> {
        plan.listeners = way_out.iter().flat_map(WayOut::listeners).collect();
        let (watched, words) = match hook {
            None => (None, arguments::run(described)?),
            Some(hook) => {
                let watched = Watched::make(client, name, &arguments::create(described)?, hook).await?;
                (Some(watched), arguments::start(name))
            }
        };
        let mut attached = client.start(&words)?;
        let pipes = attached.stdin.take().zip(attached.stdout.take()).zip(attached.stderr.take());
        let Some(((stdin, stdout), stderr)) = pipes else {
            return Err(SandboxError::Lifecycle("the client has no pipes".to_owned()));
        };
        let complaint = tokio::spawn(first_words(stderr));
        let (mux, incoming) = Mux::start(Side::Host, stdout, stdin);
        let commands = Arc::new(Commands::default());
        let (ready_sender, ready) = oneshot::channel();
        let dispatcher = Dispatcher {
            commands: Arc::clone(&commands),
            ready: Some(ready_sender),
            arrived: HashMap::new(),
            way_out: way_out.clone(),
            answers: mux.downgrade(),
        };
        tokio::spawn(dispatcher.run(incoming));
        let mut container = Self {
            name: name.to_owned(),
            client: client.clone(),
            mux,
            commands,
            next: AtomicU32::new(1),
            attached: Mutex::new(Some(attached)),
            overlaps: AtomicU32::new(0),
            way_out,
            ports: Vec::new(),
            watched,
        };
        container.send(&Inward::Go { plan })?;
        let answer = match timeout(START, ready).await {
            Ok(Ok(Event::Ready { ports, .. })) => {
                container.ports = ports;
                return Ok(container);
            }
            Ok(Ok(Event::Failed { doing, errno })) => {
                let error = std::io::Error::from_raw_os_error(errno.cast_signed());
                format!("the container could not be locked in: {doing}: {error}")
            }
            Ok(Ok(_)) => "process 1 of the container said something unexpected".to_owned(),
            Err(_) => format!("the container did not answer within {} seconds", START.as_secs()),
            Ok(Err(_)) => {
                let said = timeout(END, complaint).await.ok().and_then(Result::ok).unwrap_or_default();
                format!("{} could not run the container: {}", client.name(), one_line(&said))
            }
        };
        container.end().await;
        if hook.is_some() {
            // One that never started is not removed with its end.
            remove(client, name).await;
        }
        Err(SandboxError::Lifecycle(answer))
    }

    /// Starts a command; its reports come to the receiver.
    pub(super) fn exec(
        &self,
        order: impl FnOnce(u32) -> Order,
        streams: &[&MuxStream],
    ) -> Result<(u32, mpsc::UnboundedReceiver<Report>), SandboxError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reports) = mpsc::unbounded_channel();
        let mut commands = self.commands.lock();
        if !commands.is_empty() {
            self.overlaps.fetch_add(1, Ordering::Relaxed);
        }
        commands.insert(id, sender);
        drop(commands);
        let streams = streams.iter().map(|stream| stream.number()).collect();
        self.send(&Inward::Order { order: order(id), streams })?;
        Ok((id, reports))
    }

    /// Gives process 1 an order without streams.
    pub(super) fn order(&self, order: Order) -> Result<(), SandboxError> {
        self.send(&Inward::Order { order, streams: Vec::new() })
    }

    pub(super) fn send(&self, message: &Inward) -> Result<(), SandboxError> {
        let failed = |error| SandboxError::Exec(format!("the container does not hear us: {error}"));
        self.mux.send(&message.to_bytes()).map_err(failed)
    }

    /// A new stream into the container.
    pub(super) fn open(&self) -> Result<MuxStream, SandboxError> {
        let failed = |error| SandboxError::Exec(format!("the container does not hear us: {error}"));
        self.mux.open(&[]).map_err(failed)
    }

    pub(super) fn forget(&self, id: u32) {
        self.commands.lock().remove(&id);
    }

    /// Changes whenever a command is started beside another.
    pub(super) fn overlaps(&self) -> u32 {
        self.overlaps.load(Ordering::Relaxed)
    }

    /// The way out, if there is one.
    pub(super) fn way_out(&self) -> Option<&WayOut> {
        self.way_out.as_ref()
    }

    /// Variables that lead programs to the way out.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        self.way_out.as_ref().map(|way_out| way_out.environment(&self.ports)).unwrap_or_default()
    }

    /// Whether a command is under way.
    pub(super) fn is_busy(&self) -> bool {
        !self.commands.lock().is_empty()
    }

    /// Whether the container has ended without having been asked to.
    pub(super) fn is_gone(&self) -> bool {
        self.mux.closed_because().is_some()
    }

    /// Stops all processes.
    pub(super) async fn pause(&self) -> Result<(), SandboxError> {
        self.client.ask(&["pause", &self.name]).await.map(drop)
    }

    /// Lets them go on.
    pub(super) async fn unpause(&self) -> Result<(), SandboxError> {
        self.client.ask(&["unpause", &self.name]).await.map(drop)
    }

    /// Ends it: its channel is closed, so process 1 ends and everything with it, and the engine removes it.
    pub(super) async fn end(&self) {
        self.mux.close("the session has ended");
        let attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut attached) = attached else { return };
        if timeout(END, attached.wait()).await.is_err() {
            remove(&self.client, &self.name).await;
        }
        if let Some(Watched { hook, container_id }) = &self.watched {
            hook.ended(container_id);
        }
    }
}

/// Removes a container that may not be there.
pub(super) async fn remove(client: &Client, name: &str) {
    // Nothing better can be done about an engine that refuses; a sweep will try again.
    let _ = client.ask(&["rm", "--force", name]).await;
}

async fn first_words(stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut words = Vec::new();
    let mut beginning = stream.take(COMPLAINT);
    let _ = beginning.read_to_end(&mut words).await;
    // The rest is read, so that the client never waits for us.
    let _ = tokio::io::copy(&mut beginning.into_inner(), &mut tokio::io::sink()).await;
    words
}

/// Passes on what comes out of the container.
struct Dispatcher {
    commands: Arc<Commands>,
    ready: Option<oneshot::Sender<Event>>,
    /// Streams that a report will name.
    arrived: HashMap<u32, MuxStream>,
    way_out: Option<WayOut>,
    answers: WeakMux,
}

impl Dispatcher {
    /// Until the channel closes.
    async fn run(mut self, mut incoming: Incoming) {
        loop {
            // Streams first: a report names those that were opened before it.
            tokio::select! {
                biased;
                Some(opened) = incoming.streams.recv() => self.arrive(opened),
                message = incoming.messages.recv() => {
                    let Some(message) = message.and_then(|message| Outward::from_bytes(&message).ok()) else { break };
                    self.hear(message);
                }
            }
        }
        // Everybody who waits learns that nothing more will come.
        self.commands.lock().clear();
    }

    fn arrive(&mut self, opened: Opened) {
        match &self.way_out {
            Some(way_out) if !opened.header.is_empty() => way_out.serve(opened),
            Some(_) | None => drop(self.arrived.insert(opened.stream.number(), opened.stream)),
        }
    }

    fn hear(&mut self, message: Outward) {
        match message {
            Outward::Event { event, streams, memory, processes } => {
                let hit = [(memory, LimitHit::Memory), (processes, LimitHit::Processes)];
                let hit = hit.into_iter().filter(|(count, _)| *count == 1).map(|(_, limit)| limit).collect();
                self.report(event, &streams, hit);
            }
            Outward::Query { listener, address, port, payload } => {
                let answer = self.way_out.as_ref().and_then(|way_out| way_out.answer(&payload.0));
                if let Some(answer) = answer {
                    let reply = Inward::Reply { listener, address, port, payload: Blob(answer) };
                    self.answers.send(&reply.to_bytes());
                }
            }
        }
    }

    fn report(&mut self, event: Event, streams: &[u32], hit: Vec<LimitHit>) {
        let streams = streams.iter().filter_map(|number| self.arrived.remove(number)).collect();
        match &event {
            Event::Ready { .. } | Event::Failed { .. } => {
                if let Some(ready) = self.ready.take() {
                    // Nobody may wait any more.
                    let _ = ready.send(event);
                }
            }
            Event::Started { id, .. } | Event::NotStarted { id, .. } | Event::Exited { id, .. } => {
                let listener = self.commands.lock().get(id).cloned();
                if let Some(listener) = listener {
                    let _ = listener.send(Report { event, streams, hit });
                }
            }
            Event::Done {} => {}
        }
    }
}
