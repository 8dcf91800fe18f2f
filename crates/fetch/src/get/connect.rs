//! Connections to pinned addresses.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::admit::{Target, check_address};
use super::error::Phase;
use super::{FetchError, FetchRules};

/// A connection to a server that proved its name.
#[derive(Debug)]
pub(super) struct Connection {
    /// The stream.
    pub(super) stream: TlsStream<TcpStream>,
    /// The address on the other side.
    pub(super) peer: SocketAddr,
}

/// Connects to the first of `addresses` that accepts; there is no other way out of here.
pub(super) async fn connect(
    target: &Target,
    addresses: &[SocketAddr],
    rules: &FetchRules,
    tls: &Arc<ClientConfig>,
) -> Result<Connection, FetchError> {
    let mut last = FetchError::Timeout { host: target.host.clone(), phase: Phase::Connect };
    for address in addresses {
        match timeout(rules.connect_timeout, connect_one(target, *address, rules, tls)).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error @ FetchError::Connect { .. })) => last = error,
            Ok(Err(error)) => return Err(error),
            Err(_) => last = FetchError::Timeout { host: target.host.clone(), phase: Phase::Connect },
        }
    }
    Err(last)
}

/// Connects to one address and checks who is there.
async fn connect_one(
    target: &Target,
    address: SocketAddr,
    rules: &FetchRules,
    tls: &Arc<ClientConfig>,
) -> Result<Connection, FetchError> {
    let stream = dial(target, address, rules).await?;
    let peer = address;
    let handshake = TlsConnector::from(Arc::clone(tls)).connect(target.name.clone(), stream).await;
    let stream = handshake.map_err(|error| handshake_failure(target, error))?;
    Ok(Connection { stream, peer })
}

/// Opens a socket to an address that was checked, and checks where it leads.
pub(super) async fn dial(
    target: &Target,
    address: SocketAddr,
    rules: &FetchRules,
) -> Result<TcpStream, FetchError> {
    let unreachable = |source| FetchError::Connect { host: target.host.clone(), source };
    let stream = TcpStream::connect(address).await.map_err(unreachable)?;
    let peer = stream.peer_addr().map_err(unreachable)?;
    // A second lock on the same door: whatever happened below us, this is where the bytes go.
    if peer != address {
        return Err(FetchError::Peer { host: target.host.clone(), address: peer.ip() });
    }
    check_address(target, peer.ip(), rules)?;
    Ok(stream)
}

/// Tells a broken connection, which may work the next time, from a server that is not who it should be.
fn handshake_failure(target: &Target, source: io::Error) -> FetchError {
    let host = target.host.clone();
    if source.kind() == io::ErrorKind::InvalidData {
        FetchError::Tls { host, source }
    } else {
        FetchError::Connect { host, source }
    }
}
