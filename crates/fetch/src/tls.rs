//! TLS for clients that choose their own hosts: the same authorities, the same versions, the same strictness.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::get::{ExtraRoots, RulesError, roots};

/// Proves the names of servers. Speaks HTTP/1.1 only, and keeps no sessions.
#[derive(Clone, Debug)]
pub struct TlsClient {
    tls: Arc<roots::Tls>,
}

impl TlsClient {
    /// Trusts the authorities of the system and `extra`.
    pub fn new(extra: &[ExtraRoots]) -> Result<Self, RulesError> {
        Ok(Self { tls: Arc::new(roots::Tls::new(extra)?) })
    }

    /// Makes sure that `host`, a name or an address without brackets, is on the other side of `stream`.
    ///
    /// An error of the kind [`io::ErrorKind::InvalidData`] is about who is there, and will be the same the next time.
    pub async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no certificate can be for this host"))?;
        TlsConnector::from(Arc::clone(self.tls.config())).connect(name, stream).await
    }
}
