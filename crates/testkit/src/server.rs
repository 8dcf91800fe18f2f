//! An HTTPS server that does what its script says, however wrong that is.
//!
//! It writes HTTP by hand, because a proper library refuses to send what a hostile server sends. It runs on a thread
//! of its own until it is dropped.

mod reply;
mod run;

use std::collections::HashMap;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

pub use reply::Reply;

use crate::Leaf;

/// A request as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The method.
    pub method: String,
    /// The request target, with the query.
    pub target: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The name that the client asked for in the TLS handshake.
    pub sni: Option<String>,
    /// The address at which the request arrived.
    pub local: SocketAddr,
}

impl Recorded {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Answers requests for which there is no route.
pub trait Respond: fmt::Debug + Send + Sync {
    /// The reply to `request`.
    fn respond(&self, request: &Recorded) -> Reply;
}

/// Knows nothing.
#[derive(Debug)]
struct NotFound;

impl Respond for NotFound {
    fn respond(&self, _request: &Recorded) -> Reply {
        Reply::status(404)
    }
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    responder: Arc<dyn Respond>,
    latency: Mutex<Duration>,
    busy: Busy,
    routes: Mutex<HashMap<String, Reply>>,
    requests: Mutex<Vec<Recorded>>,
    connections: AtomicUsize,
}

/// How many requests are being answered.
#[derive(Debug, Default)]
struct Busy {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server with the certificate `leaf` on `addresses`; port 0 picks a free port.
    pub fn start(leaf: &Leaf, addresses: &[&str]) -> Self {
        Self::start_with(leaf, addresses, Arc::new(NotFound))
    }

    /// Starts a server that asks `responder` about everything that has no route.
    pub fn start_with(leaf: &Leaf, addresses: &[&str], responder: Arc<dyn Respond>) -> Self {
        let listeners: Vec<TcpListener> = addresses
            .iter()
            .map(|address| {
                let listener = TcpListener::bind(address).expect("a free address to listen on");
                listener.set_nonblocking(true).expect("a listener for tokio");
                listener
            })
            .collect();
        let addresses =
            listeners.iter().map(|listener| listener.local_addr().expect("its address")).collect();
        let shared = Arc::new(Shared {
            responder,
            latency: Mutex::default(),
            busy: Busy::default(),
            routes: Mutex::default(),
            requests: Mutex::default(),
            connections: AtomicUsize::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let (config, state) = (leaf.server_config(), Arc::clone(&shared));
        let thread = std::thread::spawn(move || run::serve(listeners, config, state, stopped));
        Self { addresses, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Sets the reply to requests for `target`, a path with its query. Other requests go to the responder, or get a 404.
    pub fn route(&self, target: &str, reply: Reply) {
        locked(&self.shared.routes).insert(target.to_owned(), reply);
    }

    /// Waits this long before every reply from now on.
    pub fn set_latency(&self, latency: Duration) {
        *locked(&self.shared.latency) = latency;
    }

    /// The largest number of requests that were waiting for their replies at the same time.
    pub fn most_at_once(&self) -> usize {
        self.shared.busy.most.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// The first address it listens on.
    pub fn address(&self) -> SocketAddr {
        *self.addresses.first().expect("a server with an address")
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        locked(&self.shared.requests).clone()
    }

    /// How many connections were made, also those that sent no request.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The thread may have ended by itself, in which case nobody listens.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Locks, also after a panic of another test thread.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
