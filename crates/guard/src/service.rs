//! Decides for the tool hooks inside a sandbox, from outside it.
//!
//! A hook that decided by itself would need the rules, the canary and the log inside the sandbox, where the agent could read
//! or change them. So the hook only carries the question: it sends what the agent runtime gave it over a unix socket, and
//! prints the answer. The host decides with its own configuration, writes the findings, and only then answers. A process in
//! the sandbox that finds the socket can ask, and no more: what it sends is looked at like any tool call, and no entry of
//! the log is in its words.
//!
//! # The socket
//!
//! [`Service::mount`] is a directory that holds the socket and nothing else. It is mounted read-only into the sandbox: a
//! connection through a mount works whatever network the sandbox has, and in a read-only mount the socket cannot be
//! replaced. Sandboxes run under user ids of their own, so the socket is open to every user; what keeps other users of the
//! machine away is the directory above it, which only the owner may enter.
//!
//! # What goes wrong
//!
//! Everything that is not a question is refused and recorded, as are peers that are slow or silent. A fault while deciding, a
//! log that cannot be written and more findings than a run may have all lead to a denial; and a hook that gets no answer
//! denies by itself.

mod client;
mod connection;
mod denial;
mod error;
mod ledger;
mod open;
mod tool;
mod turns;
mod wire;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use client::ask;
pub use error::{AskError, ServiceError};
pub use open::SOCKET;
pub use tool::tool_name;
pub use wire::Reply;

use self::ledger::Ledger;
use self::open::Opened;
use self::turns::Turns;
use crate::hook::{Decision, HookPhase};
use crate::log::FindingsLog;

/// How long to wait before accepting again when the system cannot, such as for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// Decides about one hook call: the phase, and the input of the hook as it came.
pub type Decide = dyn Fn(HookPhase, &[u8]) -> Decision + Send + Sync;

/// Where a service is, and what it takes.
#[derive(Clone, Debug)]
pub struct ServiceConfig {
    /// A directory of the host's, made if it is missing, and refused if others than the owner may use it.
    pub directory: PathBuf,
    /// What it takes.
    pub limits: Limits,
}

/// What a service takes before it refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time; more of them wait.
    pub connections: usize,
    /// Questions that are decided at a time; more of them wait.
    pub decisions: usize,
    /// Bytes of a hook's input. A little more than hooks take, so that it is a decision, with a reason, that refuses more.
    pub input_bytes: usize,
    /// Time for the whole question, and again for the whole answer.
    pub patience: Duration,
    /// Entries that the calls of a run may lead to.
    pub entries: u64,
    /// Bytes that the log may have when another entry is added.
    pub log_bytes: u64,
    /// Entries about misuse of the socket; the rest is counted.
    pub misuse_entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 32,
            decisions: 4,
            input_bytes: wire::LONGEST_INPUT,
            patience: Duration::from_secs(10),
            entries: 100_000,
            log_bytes: 256 << 20,
            misuse_entries: 100,
        }
    }
}

/// What a service has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Questions that were answered, also with a denial.
    pub answered: u64,
    /// Questions that were denied because there was no decision or it could not be recorded.
    pub denied: u64,
    /// Questions whose answer nobody took.
    pub unheard: u64,
    /// Connections that were not questions.
    pub misused: u64,
    /// Entries that were written.
    pub entries: u64,
}

/// A service that answers hooks until it is stopped or dropped.
pub struct Service {
    shared: Arc<Shared>,
    mount: PathBuf,
    accepting: Option<JoinHandle<()>>,
    /// Held as long as the service is.
    _claim: File,
}

/// What the threads of a service share.
struct Shared {
    listener: UnixListener,
    decide: Arc<Decide>,
    limits: Limits,
    ledger: Ledger,
    turns: Turns,
    stopping: AtomicBool,
    /// How many connections there are.
    connections: Mutex<usize>,
    one_less: Condvar,
    /// Connections that have not asked yet, by number: those that a stop need not wait for.
    silent: Mutex<HashMap<u64, UnixStream>>,
    answered: AtomicU64,
    denied: AtomicU64,
    unheard: AtomicU64,
}

impl Service {
    /// Starts to answer with `decide`, and to record in `log`.
    pub fn start(config: ServiceConfig, decide: Arc<Decide>, log: FindingsLog) -> Result<Self, ServiceError> {
        let Opened { mount, listener, claim } = open::open(&config.directory)?;
        let shared = Arc::new(Shared {
            listener,
            decide,
            ledger: Ledger::new(log, &config.limits),
            turns: Turns::new(config.limits.decisions),
            limits: config.limits,
            stopping: AtomicBool::new(false),
            connections: Mutex::new(0),
            one_less: Condvar::new(),
            silent: Mutex::new(HashMap::new()),
            answered: AtomicU64::new(0),
            denied: AtomicU64::new(0),
            unheard: AtomicU64::new(0),
        });
        let theirs = Arc::clone(&shared);
        let accepting = std::thread::Builder::new()
            .name("hook-service".to_owned())
            .spawn(move || theirs.accept())
            .map_err(ServiceError::Thread)?;
        Ok(Self { shared, mount, accepting: Some(accepting), _claim: claim })
    }

    /// The directory to mount into the sandbox, read-only; the socket in it is called [`SOCKET`].
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    /// The socket, as the host sees it.
    pub fn socket(&self) -> PathBuf {
        self.mount.join(SOCKET)
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// Answers what has been asked, refuses the rest, and says what was done. The log stays open: what seals it is the
    /// end of the run.
    pub fn stop(mut self) -> Counts {
        self.end();
        self.counts()
    }

    fn end(&mut self) {
        let Some(accepting) = self.accepting.take() else { return };
        self.shared.stop();
        // A panic of the thread has nothing to tell: the connections it had are closed, and so denied.
        let _ended_either_way = accepting.join();
        self.shared.ledger.close();
        let _gone_either_way = std::fs::remove_file(self.socket());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Service").field("mount", &self.mount).finish_non_exhaustive()
    }
}

impl Shared {
    /// Answers connections until the service stops, then waits for those that are being answered.
    fn accept(&self) {
        std::thread::scope(|scope| {
            while let Some(place) = self.wait_for_place() {
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(_) => {
                        // Whoever stops the service waits for this thread.
                        if !self.is_stopping() {
                            std::thread::sleep(PAUSE);
                        }
                        continue;
                    }
                };
                let answer = move || {
                    connection::serve(place.0, &stream);
                    drop(place);
                };
                // Without a thread the connection is closed, and the hook denies by itself.
                if std::thread::Builder::new().spawn_scoped(scope, answer).is_err() {
                    std::thread::sleep(PAUSE);
                }
            }
        });
    }

    /// Waits until there may be one more connection; none when the service stops.
    fn wait_for_place(&self) -> Option<Occupied<'_>> {
        let mut connections = lock(&self.connections);
        while *connections >= self.limits.connections.max(1) && !self.is_stopping() {
            connections = self.one_less.wait(connections).unwrap_or_else(PoisonError::into_inner);
        }
        if self.is_stopping() {
            return None;
        }
        *connections += 1;
        Some(Occupied(self))
    }

    fn stop(&self) {
        {
            // Under the lock, so that a thread that is about to wait sees the flag or the notice.
            let _connections = lock(&self.connections);
            self.stopping.store(true, Ordering::SeqCst);
        }
        self.one_less.notify_all();
        // Wakes the thread that accepts; there is no other way out of a blocking accept.
        let _already_down = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        for stream in lock(&self.silent).values() {
            let _already_down = stream.shutdown(Shutdown::Both);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn counts(&self) -> Counts {
        let (entries, misused) = self.ledger.counts();
        let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Counts {
            answered: count(&self.answered),
            denied: count(&self.denied),
            unheard: count(&self.unheard),
            misused,
            entries,
        }
    }
}

/// The place of one connection among those that there may be.
struct Occupied<'a>(&'a Shared);

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        let mut connections = lock(&self.0.connections);
        *connections = connections.saturating_sub(1);
        self.0.one_less.notify_all();
    }
}

/// What is behind these locks is whole after every statement, so a panic elsewhere does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
