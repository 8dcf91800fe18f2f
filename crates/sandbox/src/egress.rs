//! The only way out of a session: a proxy on the host's side of an otherwise empty network.
//!
//! A session's network has nothing but a loopback device. Listening sockets inside it belong to this proxy, which
//! decides about every connection by host and port, resolves the name itself, judges every address of the answer and
//! dials exactly those. What is not listed is refused at once. Entrances are
//!
//! * a proxy that speaks HTTP (CONNECT and plain requests) and SOCKS 5 on one port,
//! * transparent ports, where programs that know nothing of proxies connect to stand-in addresses that the name
//!   server here gave them,
//! * services with credentials, offered as plain local URLs.
//!
//! What a client says first is checked against the host it asked for: the server name of TLS, the `Host` of every
//! plain request. What happens inside TLS is not seen, so hosts with rules about requests cannot be reached through
//! it. Decisions are written to a log before they take effect.

mod dial;
mod dns;
mod endpoint;
mod entrance;
mod gate;
mod hello;
mod http;
mod journal;
mod lookup;
mod names;
mod policy;
mod refusal;
mod resolve;
mod roots;
mod rules;
mod socks;
mod stream;
mod target;
mod tunnel;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

pub use endpoint::check_endpoint;
pub use policy::CompiledPolicy;
pub use resolve::{Resolve, Resolving, SystemResolver};

use crate::error::SandboxError;
use crate::spec::{Denial, Endpoint};
use entrance::{entrance_name, serve};
use gate::Gate;
use journal::{Asked, Journal, locked};
use lookup::answer_name;
use refusal::Refusal;
use stream::{Source, Stream};

/// How many connections a session may have at once.
const MAX_CONNECTIONS: u32 = 1024;
/// The largest DNS query that is looked at.
const MAX_QUERY: usize = 1232;
/// How long accepting pauses after a failure, as when descriptors run out.
const PAUSE: Duration = Duration::from_millis(50);

/// What a session's proxy needs to know.
#[derive(Clone, Debug)]
pub struct EgressConfig {
    /// What is allowed at the start.
    pub policy: CompiledPolicy,
    /// Services with credentials.
    pub endpoints: Vec<Endpoint>,
    /// Where decisions are written, one JSON object per line. If that fails, everything is refused.
    pub log: Option<PathBuf>,
    /// The session's name, for the log.
    pub session: String,
    /// Finds the addresses of hosts.
    pub resolver: Arc<dyn Resolve>,
    /// Certificate authorities that endpoints may have beside those of the system (DER).
    pub roots: Vec<CertificateDer<'static>>,
}

/// What a connection is to be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// HTTP proxy and SOCKS 5, told apart by the first byte.
    Proxy,
    /// A program that connected to the stand-in address of a name.
    Transparent {
        /// The port that the program meant.
        port: u16,
    },
    /// A service with credentials.
    Endpoint {
        /// Which of [`EgressConfig::endpoints`].
        index: usize,
    },
}

/// The running proxy of one session. Dropping it closes all listeners and connections.
pub struct Egress {
    gate: Arc<Gate>,
    runtime: Handle,
    slots: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    listeners: Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for Egress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Egress").field("gate", &self.gate).finish_non_exhaustive()
    }
}

impl Egress {
    /// Starts a proxy without entrances, on the current tokio runtime.
    pub fn start(config: EgressConfig) -> Result<Self, SandboxError> {
        let runtime = Handle::try_current().map_err(|_| {
            SandboxError::Lifecycle("the egress proxy must be started on a tokio runtime".to_owned())
        })?;
        let gate = Gate {
            policy: watch::Sender::new(Arc::new(config.policy)),
            journal: Journal::open(config.session, config.log.as_deref())?,
            resolver: Arc::new(resolve::Patient::new(config.resolver)),
            names: Mutex::default(),
            services: services(&config.endpoints, &config.roots)?,
            connections: AtomicU64::new(1),
            own: Mutex::default(),
        };
        Ok(Self {
            gate: Arc::new(gate),
            runtime,
            slots: Arc::new(Semaphore::new(MAX_CONNECTIONS as usize)),
            closing: watch::Sender::new(false),
            listeners: Mutex::default(),
        })
    }

    /// Accepts connections on a socket, which usually listens inside the session's network.
    pub fn listen(&self, entrance: Entrance, listener: std::net::TcpListener) -> Result<(), SandboxError> {
        if let Entrance::Endpoint { index } = entrance
            && self.gate.services.get(index).is_none()
        {
            return Err(SandboxError::InvalidRequest(format!("there is no endpoint with the index {index}")));
        }
        let _context = self.runtime.enter();
        let doing = "cannot use a listening socket of the session";
        listener.set_nonblocking(true).map_err(SandboxError::io(doing))?;
        let listener = TcpListener::from_std(listener).map_err(SandboxError::io(doing))?;
        let door = self.doorkeeper();
        let accepting = self.runtime.spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        // Small messages go out at once; a socket that cannot do that still works.
                        let _ = stream.set_nodelay(true);
                        let local = stream.local_addr().ok();
                        door.admit(entrance, local, Stream::Tcp(stream));
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        });
        locked(&self.listeners).push(accepting);
        Ok(())
    }

    /// Answers DNS queries on a socket.
    pub fn answer_names(&self, socket: std::net::UdpSocket) -> Result<(), SandboxError> {
        let _context = self.runtime.enter();
        let doing = "cannot use the name server's socket of the session";
        socket.set_nonblocking(true).map_err(SandboxError::io(doing))?;
        let socket = UdpSocket::from_std(socket).map_err(SandboxError::io(doing))?;
        let gate = Arc::clone(&self.gate);
        let answering = self.runtime.spawn(async move {
            let mut buffer = [0; MAX_QUERY];
            loop {
                match socket.recv_from(&mut buffer).await {
                    Ok((length, asker)) => {
                        let query = buffer.get(..length).unwrap_or_default();
                        if let Some(answer) = answer_name(&gate, query) {
                            // Who does not get an answer asks again.
                            let _ = socket.send_to(&answer, asker).await;
                        }
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        });
        locked(&self.listeners).push(answering);
        Ok(())
    }

    /// Serves one connection that came by another way than a socket. `local` is the address it was made to.
    pub fn serve(
        &self,
        entrance: Entrance,
        local: Option<SocketAddr>,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) {
        self.doorkeeper().admit(entrance, local, Stream::Other(Box::new(stream)));
    }

    /// Answers one DNS query; `None` for what is no query.
    pub fn answer_name(&self, query: &[u8]) -> Option<Vec<u8>> {
        answer_name(&self.gate, query)
    }

    /// Replaces the policy. Connections that it does not allow are cut at once.
    pub fn apply(&self, policy: CompiledPolicy) {
        self.gate.policy.send_replace(Arc::new(policy));
    }

    /// Says which command runs from now on; log lines carry it.
    pub fn attribute(&self, command: Option<String>) {
        self.gate.journal.attribute(command);
    }

    /// What was refused since the last call.
    pub fn take_denials(&self) -> Vec<Denial> {
        self.gate.journal.take_denials()
    }

    /// Closes everything; when this returns, no socket of the session is open here any more.
    pub async fn shutdown(self) {
        self.close();
        let listeners = std::mem::take(&mut *locked(&self.listeners));
        for listener in listeners {
            // Ended as planned, by being cancelled.
            let _ = listener.await;
        }
        // All slots are free when all connections are gone.
        let _ = self.slots.acquire_many(MAX_CONNECTIONS).await;
    }

    fn close(&self) {
        self.closing.send_replace(true);
        for listener in locked(&self.listeners).iter() {
            listener.abort();
        }
    }

    fn doorkeeper(&self) -> Doorkeeper {
        Doorkeeper {
            gate: Arc::clone(&self.gate),
            runtime: self.runtime.clone(),
            slots: Arc::clone(&self.slots),
            closing: self.closing.subscribe(),
        }
    }
}

/// Reading all certificates of the system takes longer than making a session, and most sessions have no service.
fn services(
    endpoints: &[Endpoint],
    roots: &[CertificateDer<'static>],
) -> Result<Vec<endpoint::Service>, SandboxError> {
    if endpoints.is_empty() {
        return Ok(Vec::new());
    }
    let tls = roots::tls_config(roots)?;
    endpoints.iter().map(|endpoint| endpoint::Service::prepare(endpoint, &tls)).collect()
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.close();
    }
}

/// Lets connections in while there is room.
struct Doorkeeper {
    gate: Arc<Gate>,
    runtime: Handle,
    slots: Arc<Semaphore>,
    closing: watch::Receiver<bool>,
}

impl Doorkeeper {
    fn admit(&self, entrance: Entrance, local: Option<SocketAddr>, stream: Stream) {
        let connection = self.gate.number();
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            let entrance = entrance_name(&self.gate, entrance);
            let asked = Asked { entrance, connection, ..Asked::default() };
            let sentence = format!("the session has {MAX_CONNECTIONS} connections already");
            return self.gate.journal.deny(&asked, &Refusal::request("too-many-connections", sentence));
        };
        let gate = Arc::clone(&self.gate);
        let mut closing = self.closing.clone();
        self.runtime.spawn(async move {
            tokio::select! {
                // An error means that the proxy itself is gone.
                _ = closing.wait_for(|closing| *closing) => {}
                () = serve(&gate, entrance, local, Source::new(stream), connection) => {}
            }
            drop(slot);
        });
    }
}
