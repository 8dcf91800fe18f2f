//! One request and its response.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::super::gate::Traffic;
use super::super::refusal::Refusal;
use super::super::stream::{Halves, Source};
use super::body::{BodyError, Framing, pass_on};
use super::head::{Response, Version, read_response, write_head};

/// How long a client may pause in the middle of a request.
const CLIENT_IDLE: Duration = Duration::from_secs(300);
/// How long a server may think, or pause in the middle of an answer.
const SERVER_IDLE: Duration = Duration::from_secs(600);
/// Longer than any look at a connection takes.
const A_MOMENT: Duration = Duration::from_secs(1);

/// A request that is ready to be sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The head, written anew.
    pub(super) head: Vec<u8>,
    /// How the body comes and goes.
    pub(super) framing: Framing,
    /// The method: it decides whether the answer has a body.
    pub(super) method: String,
    /// What the client understands.
    pub(super) version: Version,
    /// Whether the client wants to send more requests.
    pub(super) keep: bool,
}

/// Which connections can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct After {
    pub(super) client: bool,
    pub(super) server: bool,
}

/// Why an exchange did not come to its end.
#[derive(Debug)]
pub(super) enum Failed {
    /// The client has heard nothing yet and can be told.
    Unanswered(Refusal),
    /// All that can be done is to hang up.
    Midway,
}

/// Sends a request and passes the answer on as it comes; an early answer does not wait for the request's end.
pub(super) async fn exchange(
    client: &mut Halves,
    server: &mut Halves,
    outgoing: &Outgoing,
    traffic: &Traffic,
) -> Result<After, Failed> {
    let upload = async {
        server.sink.write_all(&outgoing.head).await.map_err(|_| BodyError::Sink)?;
        server.sink.flush().await.map_err(|_| BodyError::Sink)?;
        let framing = (outgoing.framing, outgoing.framing);
        pass_on(&mut client.source, &mut server.sink, framing, CLIENT_IDLE, &traffic.up).await
    };
    let download = answer(&mut server.source, &mut client.sink, outgoing, traffic);
    tokio::pin!(upload, download);
    let (mut sending, mut sent) = (true, false);
    loop {
        tokio::select! {
            outcome = &mut upload, if sending => {
                sending = false;
                match outcome {
                    Ok(()) => sent = true,
                    // The server stopped listening; it may have said why.
                    Err(BodyError::Sink) => {}
                    Err(BodyError::Source) => return Err(Failed::Midway),
                }
            }
            outcome = &mut download => {
                let after = outcome?;
                return Ok(After { client: after.client && sent, server: after.server && sent });
            }
        }
    }
}

/// Passes interim answers and the answer on.
async fn answer<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    source: &mut Source<R>,
    sink: &mut W,
    outgoing: &Outgoing,
    traffic: &Traffic,
) -> Result<After, Failed> {
    loop {
        let response = read_response(source, SERVER_IDLE).await.map_err(Failed::Unanswered)?;
        match response.status {
            101 => {
                let sentence = "the server switches to a protocol that nobody asked for";
                return Err(Failed::Unanswered(Refusal::upstream("response-malformed", sentence)));
            }
            100..=199 => interim(sink, response, outgoing.version).await?,
            _ => return last(source, sink, response, outgoing, traffic).await,
        }
    }
}

async fn interim<W: AsyncWrite + Unpin>(
    sink: &mut W,
    response: Response,
    version: Version,
) -> Result<(), Failed> {
    if version == Version::Http10 {
        return Ok(());
    }
    let Response { status, reason, mut headers, .. } = response;
    headers.keep_end_to_end();
    send(sink, &write_head(&format!("HTTP/1.1 {status} {reason}"), &headers)).await
}

async fn last<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    source: &mut Source<R>,
    sink: &mut W,
    response: Response,
    outgoing: &Outgoing,
    traffic: &Traffic,
) -> Result<After, Failed> {
    let comes = Framing::of_response(&response, &outgoing.method).map_err(Failed::Unanswered)?;
    let goes = match (comes, outgoing.version) {
        (Framing::Chunked, Version::Http10) => Framing::UntilClose,
        (framing, _) => framing,
    };
    let persistent = response.version == Version::Http11 && !response.headers.lists("connection", "close");
    let after = After {
        client: outgoing.keep && goes != Framing::UntilClose,
        server: persistent && comes != Framing::UntilClose,
    };
    let Response { status, reason, mut headers, .. } = response;
    let told_length = headers.values("content-length").first().map(|value| value.to_vec());
    headers.keep_end_to_end();
    match (goes, told_length) {
        // The length of what a GET would have brought.
        (Framing::Empty, Some(length)) if status != 204 => headers.push("Content-Length", length),
        (_, _) => goes.announce(&mut headers),
    }
    if !after.client {
        headers.push("Connection", "close");
    }
    send(sink, &write_head(&format!("HTTP/1.1 {status} {reason}"), &headers)).await?;
    let passed = pass_on(source, sink, (comes, goes), SERVER_IDLE, &traffic.down).await;
    passed.map(|()| after).map_err(|_| Failed::Midway)
}

async fn send<W: AsyncWrite + Unpin>(sink: &mut W, bytes: &[u8]) -> Result<(), Failed> {
    sink.write_all(bytes).await.map_err(|_| Failed::Midway)?;
    sink.flush().await.map_err(|_| Failed::Midway)
}

/// Whether an idle connection to a server is open and silent, as it must be to be used again.
pub(in super::super) async fn still_open(server: &mut Halves) -> bool {
    if !server.source.buffer.is_empty() {
        return false;
    }
    tokio::select! {
        biased;
        _ = server.source.fill(A_MOMENT) => false,
        () = std::future::ready(()) => true,
    }
}
