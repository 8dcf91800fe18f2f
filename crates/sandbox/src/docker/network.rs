//! The way out of a container: sockets that process 1 listens on inside, and the egress proxy they lead to.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use fullsend_sandbox_init::wire::{Arrival, Listener, ListenerKind, Wire as _};

use crate::egress::{CompiledPolicy, Egress, EgressConfig, Entrance, SystemResolver};
use crate::error::SandboxError;
use crate::local::environment;
use crate::mux::Opened;
use crate::spec::{Denial, NetworkPolicy, SandboxSessionId, SandboxSpec};

use super::config::DockerConfig;

/// Where programs ask for names.
const NAMES_PORT: u32 = 53;

/// The proxy of a session and its entrances inside.
#[derive(Clone, Debug)]
pub(super) struct WayOut {
    egress: Arc<Egress>,
    /// One for each listener; none for the name server.
    entrances: Arc<[Option<Entrance>]>,
    endpoints: Arc<[String]>,
}

/// Whether a session has the network of the engine.
pub(super) fn is_open(spec: &SandboxSpec) -> bool {
    matches!(spec.network_policy, NetworkPolicy::Unrestricted)
}

/// Whether a session can reach anything through the proxy.
pub(super) fn has_way_out(spec: &SandboxSpec) -> bool {
    let listed = match &spec.network_policy {
        NetworkPolicy::Unrestricted => false,
        NetworkPolicy::Limited { allowed_hosts, .. } => !allowed_hosts.is_empty(),
    };
    listed || !spec.endpoints.is_empty()
}

/// The policy of a session whose network is not open, understood.
pub(super) fn compile(spec: &SandboxSpec) -> Result<CompiledPolicy, SandboxError> {
    if is_open(spec) {
        // The proxy is there for services with credentials only.
        return CompiledPolicy::compile(&NetworkPolicy::none());
    }
    CompiledPolicy::compile(&spec.network_policy)
}

impl WayOut {
    /// Starts the proxy of a session that has a way out.
    pub(super) fn start(
        spec: &SandboxSpec,
        config: &DockerConfig,
        id: &SandboxSessionId,
    ) -> Result<Option<Self>, SandboxError> {
        if !has_way_out(spec) {
            return Ok(None);
        }
        let policy = compile(spec)?;
        let transparent = policy.ports().into_iter().map(|port| Some(Entrance::Transparent { port }));
        let services = (0..spec.endpoints.len()).map(|index| Some(Entrance::Endpoint { index }));
        let entrances = [Some(Entrance::Proxy), None].into_iter().chain(transparent).chain(services);
        let egress = Egress::start(EgressConfig {
            policy,
            endpoints: spec.endpoints.clone(),
            log: config.egress_log.clone(),
            session: id.to_string(),
            resolver: Arc::new(SystemResolver),
            roots: Vec::new(),
        })?;
        Ok(Some(Self {
            egress: Arc::new(egress),
            entrances: entrances.collect(),
            endpoints: spec.endpoints.iter().map(|endpoint| endpoint.name.clone()).collect(),
        }))
    }

    /// What process 1 listens on.
    pub(super) fn listeners(&self) -> Vec<Listener> {
        let stream = |address: Ipv4Addr, port: u32| Listener {
            kind: ListenerKind::Stream {},
            address: address.to_bits(),
            port,
        };
        let listener = |entrance: &Option<Entrance>| match entrance {
            None => Listener { kind: ListenerKind::Datagram {}, ..stream(Ipv4Addr::LOCALHOST, NAMES_PORT) },
            Some(Entrance::Proxy | Entrance::Endpoint { .. }) => stream(Ipv4Addr::LOCALHOST, 0),
            // Stand-in addresses of names are all over the loopback network.
            Some(Entrance::Transparent { port }) => stream(Ipv4Addr::UNSPECIFIED, u32::from(*port)),
        };
        self.entrances.iter().map(listener).collect()
    }

    /// Variables that lead programs to the entrances, which are on these ports.
    pub(super) fn environment(&self, ports: &[u32]) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        for (entrance, port) in self.entrances.iter().zip(ports) {
            match entrance {
                Some(Entrance::Proxy) => {
                    variables.extend(environment::proxy(u16::try_from(*port).unwrap_or(0)))
                }
                Some(Entrance::Endpoint { index }) => {
                    if let Some(name) = self.endpoints.get(*index) {
                        variables.insert(endpoint_variable(name), format!("http://127.0.0.1:{port}"));
                    }
                }
                Some(Entrance::Transparent { .. }) | None => {}
            }
        }
        variables
    }

    /// Serves a connection that was made inside; one that does not say where it belongs is cut.
    pub(super) fn serve(&self, opened: Opened) {
        let Ok(arrival) = Arrival::from_bytes(&opened.header) else { return };
        let number = usize::try_from(arrival.listener).unwrap_or(usize::MAX);
        if let Some(Some(entrance)) = self.entrances.get(number) {
            let port = u16::try_from(arrival.port).unwrap_or(0);
            let local = SocketAddr::new(Ipv4Addr::from_bits(arrival.address).into(), port);
            self.egress.serve(*entrance, Some(local), opened.stream);
        }
    }

    /// Answers a question about a name.
    pub(super) fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        self.egress.answer_name(query)
    }

    /// Whether there is a transparent entrance for every port of a policy.
    pub(super) fn has_entrances_for(&self, policy: &CompiledPolicy) -> bool {
        policy.ports().into_iter().all(|port| self.entrances.contains(&Some(Entrance::Transparent { port })))
    }

    /// Puts another policy in force; connections that it does not allow are cut.
    pub(super) fn apply(&self, policy: CompiledPolicy) {
        self.egress.apply(policy);
    }

    /// Says which command runs from now on, and forgets what was refused before.
    pub(super) fn attribute(&self, command: String) {
        self.egress.attribute(Some(command));
        drop(self.egress.take_denials());
    }

    /// What was refused since then.
    pub(super) fn denials(&self) -> Vec<Denial> {
        self.egress.take_denials()
    }
}

/// The variable with the URL of a service.
fn endpoint_variable(name: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("FULLSEND_ENDPOINT_{}", name.chars().map(letter).collect::<String>())
}
