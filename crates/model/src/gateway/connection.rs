//! Connections to the one host, one of them kept warm.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fullsend_fetch::tls::TlsClient;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::endpoint::Endpoint;
use super::failure::Failure;
use super::patience::Patience;

/// The largest head of an answer.
const MAX_HEAD: usize = 64 * 1024;
/// The largest buffer for what has arrived but was not taken yet.
const MAX_BUFFER: usize = 256 * 1024;

/// A connection that can take a request.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes; ends with the connection.
    _driver: JoinSet<()>,
    /// Whether an answer has come over it before.
    pub(super) used: bool,
}

/// Where the warm connection waits for the next request.
#[derive(Debug, Default)]
pub(super) struct Parked(Mutex<Option<Connection>>);

impl Parked {
    fn take(&self) -> Option<Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps a connection whose answer was read to its end.
    pub(super) fn keep(&self, mut connection: Connection) {
        connection.used = true;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
    }

    /// The warm connection, if the other side still holds it; otherwise a new one.
    pub(super) async fn open(
        &self,
        endpoint: &Endpoint,
        tls: Option<&TlsClient>,
        patience: &Patience,
        limit: Duration,
    ) -> Result<Connection, Failure> {
        if let Some(warm) = self.take() {
            // The peer may have closed it while a tool ran; that is noticed only when sockets are looked at.
            tokio::task::yield_now().await;
            if !warm.sender.is_closed() {
                return Ok(warm);
            }
        }
        open_new(endpoint, tls, patience, limit).await
    }
}

impl Connection {
    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }
}

/// Connects to the first address of the host that accepts.
async fn open_new(
    endpoint: &Endpoint,
    tls: Option<&TlsClient>,
    patience: &Patience,
    limit: Duration,
) -> Result<Connection, Failure> {
    let host = &endpoint.host;
    let lookup = tokio::net::lookup_host((host.as_str(), endpoint.port));
    let addresses = patience
        .within(limit, "looking up the host", lookup)
        .await?
        .map_err(|error| Failure::transport(format!("the address of `{host}` cannot be found: {error}")))?;
    let mut last = Failure::transport(format!("`{host}` has no address"));
    for address in addresses {
        let connecting = async {
            let stream = TcpStream::connect(address).await?;
            // A request is written at once; waiting for more of it only costs time.
            stream.set_nodelay(true)?;
            match tls {
                Some(tls) => handshake(tls.connect(host, stream).await?).await,
                None => handshake(stream).await,
            }
        };
        match patience.within(limit, "connecting", connecting).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(Failure::lasting(format!("`{host}` cannot prove its name: {error}")));
            }
            Ok(Err(error)) => last = Failure::transport(format!("cannot connect to {address}: {error}")),
            Err(late) => last = late,
        }
    }
    Err(last)
}

/// Starts HTTP on a stream.
async fn handshake(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> io::Result<Connection> {
    let mut builder = http1::Builder::new();
    builder.max_header_size(MAX_HEAD).max_buf_size(MAX_BUFFER);
    let (sender, driven) = builder.handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // What goes wrong is reported to whoever waits for the answer.
        let _reported_elsewhere = driven.await;
    });
    Ok(Connection { sender, _driver: driver, used: false })
}
