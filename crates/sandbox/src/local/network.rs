//! The network of a session: none, the egress proxy's listeners, or the host's own.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use fullsend_sandbox_init::wire::{Listener, ListenerKind};

use super::backend::Shared;
use super::environment;
use super::view::Names;
use crate::egress::{CompiledPolicy, Egress, EgressConfig, Entrance, SystemResolver};
use crate::error::SandboxError;
use crate::spec::{NetworkPolicy, SandboxSessionId, SandboxSpec};

/// More could not be passed in one message; nobody lists that many.
const MOST_LISTENERS: usize = 56;

/// The version of Landlock that knows abstract sockets.
const SCOPES_SINCE: u32 = 6;

/// What a session's network will be.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Nothing, not even a loopback device that is up.
    None,
    /// Whatever the proxy allows.
    Proxy { policy: CompiledPolicy, ports: Vec<u16> },
    /// The host's network.
    Host,
}

impl Wish {
    pub(crate) fn of(spec: &SandboxSpec) -> Result<Self, SandboxError> {
        for (number, endpoint) in spec.endpoints.iter().enumerate() {
            let same = spec
                .endpoints
                .iter()
                .take(number)
                .any(|other| other.name.eq_ignore_ascii_case(&endpoint.name));
            let ordinary = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if same || endpoint.name.is_empty() || !endpoint.name.bytes().all(ordinary) {
                return Err(SandboxError::InvalidRequest(format!(
                    "endpoint name `{}` is not a name of its own made of letters, digits and `_`",
                    endpoint.name.escape_debug()
                )));
            }
        }
        match &spec.network_policy {
            NetworkPolicy::Unrestricted if !spec.endpoints.is_empty() => Err(SandboxError::InvalidRequest(
                "endpoints with credentials need a limited network: on the host's network other programs could use them"
                    .to_owned(),
            )),
            NetworkPolicy::Unrestricted => Ok(Self::Host),
            NetworkPolicy::Limited { allowed_hosts, .. } => {
                let policy = CompiledPolicy::compile(&spec.network_policy)?;
                if allowed_hosts.is_empty() && spec.endpoints.is_empty() {
                    return Ok(Self::None);
                }
                let ports = policy.ports();
                if ports.len() + spec.endpoints.len() + 2 > MOST_LISTENERS {
                    return Err(SandboxError::NetworkPolicy(format!(
                        "the policy names {} ports and {} endpoints, more than the {MOST_LISTENERS} that a sandbox can listen on",
                        ports.len(),
                        spec.endpoints.len()
                    )));
                }
                Ok(Self::Proxy { policy, ports })
            }
        }
    }

    /// On the host's network abstract sockets of its services are near; only newer versions of Landlock keep them away.
    pub(crate) fn check(&self, landlock: u32) -> Result<(), SandboxError> {
        if matches!(self, Self::Host) && landlock < SCOPES_SINCE {
            return Err(SandboxError::Unsupported {
                backend: "local",
                operation: "the host's network",
                reason: format!(
                    "Landlock version {SCOPES_SINCE} (Linux 6.12) is needed, this kernel has version {landlock}"
                ),
            });
        }
        Ok(())
    }

    /// 1 for a network namespace.
    pub(crate) fn own_network(&self) -> u32 {
        u32::from(!matches!(self, Self::Host))
    }

    pub(crate) fn internet_sockets(&self) -> bool {
        !matches!(self, Self::None)
    }

    pub(crate) fn names(&self) -> Names {
        match self {
            Self::None => Names::None,
            Self::Proxy { .. } => Names::Proxy,
            Self::Host => Names::Host,
        }
    }

    /// What the enforcement report says.
    pub(crate) fn report(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Proxy { .. } => "proxy",
            Self::Host => "open",
        }
    }

    /// The proxy, its name server, the ports that programs without proxy settings connect to, the endpoints.
    pub(crate) fn listeners(&self, endpoints: usize) -> Vec<Listener> {
        let Self::Proxy { ports, .. } = self else { return Vec::new() };
        let stream = |address: Ipv4Addr, port: u16| Listener {
            kind: ListenerKind::Stream {},
            address: address.to_bits(),
            port: port.into(),
        };
        let names =
            Listener { kind: ListenerKind::Datagram {}, address: Ipv4Addr::LOCALHOST.to_bits(), port: 53 };
        let mut listeners = vec![stream(Ipv4Addr::LOCALHOST, 0), names];
        listeners.extend(ports.iter().map(|port| stream(Ipv4Addr::UNSPECIFIED, *port)));
        listeners.extend((0..endpoints).map(|_| stream(Ipv4Addr::LOCALHOST, 0)));
        listeners
    }
}

/// The proxy of a running session.
#[derive(Debug)]
pub(crate) struct LiveNetwork {
    pub(crate) egress: Egress,
    pub(crate) environment: BTreeMap<String, String>,
    ports: Vec<u16>,
}

impl LiveNetwork {
    /// Takes over the listeners that the session made, in the order of [`Wish::listeners`].
    pub(crate) fn start(
        shared: &Shared,
        id: &SandboxSessionId,
        spec: &SandboxSpec,
        wish: Wish,
        listeners: Vec<(u32, OwnedFd)>,
    ) -> Result<Option<Self>, SandboxError> {
        let Wish::Proxy { policy, ports } = wish else { return Ok(None) };
        let egress = Egress::start(EgressConfig {
            policy,
            endpoints: spec.endpoints.clone(),
            log: shared.egress_log.clone(),
            session: id.to_string(),
            resolver: Arc::new(SystemResolver),
            roots: shared.endpoint_roots.clone(),
        })?;
        let mut listeners = listeners.into_iter();
        let mut next = || {
            listeners
                .next()
                .ok_or_else(|| SandboxError::Lifecycle("the sandbox sent too few listeners".to_owned()))
        };
        let (proxy_port, proxy) = next()?;
        egress.listen(Entrance::Proxy, TcpListener::from(proxy))?;
        egress.answer_names(UdpSocket::from(next()?.1))?;
        for port in &ports {
            egress.listen(Entrance::Transparent { port: *port }, TcpListener::from(next()?.1))?;
        }
        let mut environment = environment::proxy(u16::try_from(proxy_port).unwrap_or(0));
        for (index, endpoint) in spec.endpoints.iter().enumerate() {
            let (port, listener) = next()?;
            egress.listen(Entrance::Endpoint { index }, TcpListener::from(listener))?;
            let name = format!("FULLSEND_ENDPOINT_{}", endpoint.name.to_uppercase());
            environment.insert(name, format!("http://127.0.0.1:{port}"));
        }
        Ok(Some(Self { egress, environment, ports }))
    }

    /// Whether every port of a policy has a listener already.
    pub(crate) fn covers(&self, policy: &CompiledPolicy) -> bool {
        policy.ports().iter().all(|port| self.ports.contains(port))
    }
}
