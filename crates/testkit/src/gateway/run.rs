//! The gateway's thread.

use std::io;
use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::{Ending, GatewayReply, GatewayRequest, Shared, locked};

/// Serves until told to stop.
pub(super) fn serve(listener: StdListener, shared: Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = TcpListener::from_std(listener).expect("a listener");
        tokio::spawn(accept(listener, shared));
        // An error means that the gateway was dropped, which stops it as well.
        let _ = stopped.await;
    });
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let connection = shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(&shared);
        // Clients under test hang up in the middle; that is their business.
        tokio::spawn(async move { drop(converse(stream, connection, shared).await) });
    }
}

/// One connection, request after request.
async fn converse(stream: TcpStream, connection: usize, shared: Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut request = read_request(&mut stream, connection).await?;
        {
            let mut requests = locked(&shared.requests);
            request.number = requests.len();
            requests.push(request.clone());
        }
        let reply = shared.script.reply(&request);
        if !send(&mut stream, &reply).await? {
            shared.closed.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>, connection: usize) -> io::Result<GatewayRequest> {
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut headers: Vec<(String, String)> = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or_default();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    Ok(GatewayRequest { number: 0, connection, method, target, headers, body })
}

/// Does what the reply says; whether the connection goes on.
async fn send(stream: &mut BufReader<TcpStream>, reply: &GatewayReply) -> io::Result<bool> {
    let (pieces, pause, ending) = reply.parts();
    for piece in pieces {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        stream.write_all(piece).await?;
        stream.flush().await?;
    }
    match ending {
        Ending::KeepOpen => Ok(true),
        Ending::Close => stream.shutdown().await.map(|()| false),
        Ending::Hang => std::future::pending().await,
        Ending::Endless => {
            let last = pieces.last().cloned().unwrap_or_default();
            loop {
                stream.write_all(&last).await?;
            }
        }
    }
}
