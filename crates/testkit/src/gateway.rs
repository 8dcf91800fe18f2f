//! A model gateway that answers as its script says, and breaks where it says.
//!
//! It speaks in plain HTTP, by hand, because a proper library refuses to send what a broken gateway
//! sends. Connections are kept open between requests, unless a reply ends them.

mod obedient;
mod reply;
mod run;
mod script;
mod turns;

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;
use tokio::sync::oneshot;

pub use obedient::{LeakyModel, ObedientModel, QuotingModel, ScriptedCall, order, steady};
pub use reply::{Ending, GatewayReply};
pub use script::{Dialect, ModelScript};
pub use turns::{ShellTurns, call, sse_of};

/// A request as the gateway saw it.
#[derive(Clone, Debug)]
pub struct GatewayRequest {
    /// Which request it is, from zero.
    pub number: usize,
    /// Over which connection it came, from zero.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// The request target.
    pub target: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub body: Vec<u8>,
}

impl GatewayRequest {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Decides what to answer.
pub trait GatewayScript: Send + Sync + 'static {
    /// The reply to a request.
    fn reply(&self, request: &GatewayRequest) -> GatewayReply;
}

impl<F: Fn(&GatewayRequest) -> GatewayReply + Send + Sync + 'static> GatewayScript for F {
    fn reply(&self, request: &GatewayRequest) -> GatewayReply {
        self(request)
    }
}

/// What the threads share.
struct Shared {
    script: Box<dyn GatewayScript>,
    requests: Mutex<Vec<GatewayRequest>>,
    connections: AtomicUsize,
    closed: AtomicUsize,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("requests", &self.requests).finish_non_exhaustive()
    }
}

/// A running gateway; it stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedGateway {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedGateway {
    /// Starts a gateway on a free port of loopback.
    pub fn start(script: impl GatewayScript) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port to listen on");
        listener.set_nonblocking(true).expect("a listener for tokio");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            script: Box::new(script),
            requests: Mutex::default(),
            connections: AtomicUsize::default(),
            closed: AtomicUsize::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let state = Arc::clone(&shared);
        let thread = std::thread::spawn(move || run::serve(listener, state, stopped));
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Gives these replies one after the other, the last one for all further requests.
    pub fn sequence(replies: Vec<GatewayReply>) -> Self {
        Self::start(move |request: &GatewayRequest| {
            let reply = replies.get(request.number).or(replies.last());
            reply.cloned().unwrap_or_else(|| GatewayReply::status(404, ""))
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<GatewayRequest> {
        locked(&self.shared.requests).clone()
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many connections were closed because a reply said so.
    pub fn closed(&self) -> usize {
        self.shared.closed.load(Ordering::SeqCst)
    }
}

impl Drop for ScriptedGateway {
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
