//! What becomes of a connection, by the entrance it came through.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::Entrance;
use super::gate::Gate;
use super::http::{self, Door};
use super::journal::{Asked, locked};
use super::refusal::Refusal;
use super::socks;
use super::stream::Peer;
use super::target::{Host, Target};
use super::tunnel;

/// How long a new connection may be silent.
const FIRST_BYTE: Duration = Duration::from_secs(300);

/// Serves a connection to its end.
pub(super) async fn serve(
    gate: &Gate,
    entrance: Entrance,
    local: Option<SocketAddr>,
    client: Peer,
    connection: u64,
) {
    match entrance {
        Entrance::Proxy => serve_proxy(gate, client, connection).await,
        Entrance::Transparent { port } => serve_transparent(gate, client, local, port, connection).await,
        Entrance::Endpoint { index } => {
            if let Some(service) = gate.services.get(index) {
                http::serve(gate, client, Door::Service(service), None, connection).await;
            }
        }
    }
}

async fn serve_proxy(gate: &Gate, mut client: Peer, connection: u64) {
    if !matches!(client.fill(FIRST_BYTE).await, Ok(1..)) {
        return;
    }
    match client.buffer.first() {
        Some(&socks::VERSION) => socks::serve(gate, client, connection).await,
        Some(_) | None => http::serve(gate, client, Door::Proxy, None, connection).await,
    }
}

async fn serve_transparent(gate: &Gate, client: Peer, local: Option<SocketAddr>, port: u16, connection: u64) {
    let name = match local.map(|local| local.ip().to_canonical()) {
        Some(IpAddr::V4(address)) => locked(&gate.names).name(address),
        Some(IpAddr::V6(_)) | None => None,
    };
    let shown = name.clone().or(local.map(|local| local.ip().to_string())).unwrap_or_default();
    let entrance = entrance_name(gate, Entrance::Transparent { port });
    let asked = Asked { entrance, connection, host: shown, port, ..Asked::default() };
    let Some(name) = name else {
        let sentence = format!("`{}` is not the address of a name that was looked up here", asked.host);
        return gate.journal.deny(&asked, &Refusal::policy("address-unknown", sentence, None));
    };
    let target = Target { host: Host::Name(name), port };
    match gate.open(&asked, &target).await {
        Ok(opened) => tunnel::carry(gate, asked, client, opened, target).await,
        Err(refusal) => gate.journal.deny(&asked, &refusal),
    }
}

/// How an entrance is called in the log.
pub(super) fn entrance_name(gate: &Gate, entrance: Entrance) -> String {
    match entrance {
        Entrance::Proxy => "proxy".to_owned(),
        Entrance::Transparent { .. } => "transparent".to_owned(),
        Entrance::Endpoint { index } => {
            let name = gate.services.get(index).map_or("", |service| service.name.as_str());
            format!("endpoint:{name}")
        }
    }
}
