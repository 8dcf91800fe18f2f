//! The server's thread.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Recorded, Reply, Shared, locked};

/// More than any request of a test has.
const MAX_REQUEST: usize = 1 << 20;

/// Serves until told to stop.
pub(super) fn serve(
    listeners: Vec<StdListener>,
    config: Arc<ServerConfig>,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let acceptor = TlsAcceptor::from(config);
        for listener in listeners {
            let listener = TcpListener::from_std(listener).expect("a listener");
            tokio::spawn(accept(listener, acceptor.clone(), Arc::clone(&shared)));
        }
        // An error means that the server was dropped, which stops it as well.
        let _ = stopped.await;
    });
}

/// Takes connections from one listener.
async fn accept(listener: TcpListener, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        // Clients under test hang up in the middle; that is their business.
        tokio::spawn(async move { drop(converse(stream, acceptor, shared).await) });
    }
}

/// One connection, one request.
async fn converse(stream: TcpStream, acceptor: TlsAcceptor, shared: Arc<Shared>) -> io::Result<()> {
    let local = stream.local_addr()?;
    let mut stream = acceptor.accept(stream).await?;
    let request = read_request(&mut stream, local).await?;
    let reply = match locked(&shared.routes).get_mut(&request.target) {
        Some(reply) => reply.next(),
        None => shared.responder.respond(&request),
    };
    locked(&shared.requests).push(request);
    let now = shared.busy.now.fetch_add(1, Ordering::SeqCst) + 1;
    shared.busy.most.fetch_max(now, Ordering::SeqCst);
    let latency = *locked(&shared.latency);
    tokio::time::sleep(latency).await;
    let sent = send(&mut stream, reply).await;
    shared.busy.now.fetch_sub(1, Ordering::SeqCst);
    sent
}

/// Reads up to the empty line.
async fn read_request(stream: &mut TlsStream<TcpStream>, local: SocketAddr) -> io::Result<Recorded> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") && bytes.len() < MAX_REQUEST {
        bytes.push(stream.read_u8().await?);
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let header =
        |line: &str| line.split_once(": ").map(|(key, value)| (key.to_lowercase(), value.to_owned()));
    Ok(Recorded {
        method: first.next().unwrap_or_default().to_owned(),
        target: first.next().unwrap_or_default().to_owned(),
        headers: lines.filter_map(header).collect(),
        sni: stream.get_ref().1.server_name().map(str::to_owned),
        local,
    })
}

/// Does what the reply says.
async fn send(stream: &mut TlsStream<TcpStream>, reply: Reply) -> io::Result<()> {
    match reply {
        Reply::Normal { status, headers, body } => {
            let headers: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let length = body.len();
            let head = format!("HTTP/1.1 {status} Scripted\r\nContent-Length: {length}\r\n{headers}\r\n");
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&body).await?;
            stream.shutdown().await
        }
        Reply::Raw(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        Reply::Cut(bytes) => {
            stream.write_all(&bytes).await?;
            stream.flush().await
        }
        Reply::Stall(bytes) => {
            stream.write_all(&bytes).await?;
            stream.flush().await?;
            std::future::pending().await
        }
        Reply::Endless { head, chunk } => {
            stream.write_all(&head).await?;
            loop {
                stream.write_all(&chunk).await?;
            }
        }
        Reply::Drip { bytes, pause_ms } => {
            for byte in bytes {
                tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                stream.write_all(&[byte]).await?;
                stream.flush().await?;
            }
            stream.shutdown().await
        }
        Reply::Sequence(_) => Err(io::Error::other("a sequence inside a sequence has no end")),
    }
}
