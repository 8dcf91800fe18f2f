//! Two ends over an in-process pipe that holds little.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::timeout;

use super::{Incoming, Mux, Opened, Side};

/// Far longer than anything here takes; only a deadlock reaches it.
const STUCK: Duration = Duration::from_secs(30);

type End = (Mux, Incoming);

fn start(side: Side, pipe: DuplexStream) -> End {
    let (input, output) = tokio::io::split(pipe);
    Mux::start(side, input, output)
}

fn pair() -> (End, End) {
    let (host, guest) = tokio::io::duplex(4096);
    (start(Side::Host, host), start(Side::Guest, guest))
}

async fn next_stream(end: &mut End) -> Opened {
    timeout(STUCK, end.1.streams.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn both_directions_of_many_streams_carry_their_own_bytes() {
    let (host, mut guest) = pair();
    let echo = tokio::spawn(async move {
        while let Some(Opened { stream, .. }) = guest.1.streams.recv().await {
            tokio::spawn(async move {
                let (mut read, mut write) = tokio::io::split(stream);
                tokio::io::copy(&mut read, &mut write).await.unwrap();
                write.shutdown().await.unwrap();
            });
        }
    });
    let mut clients = Vec::new();
    for number in 0..20_u8 {
        let stream = host.0.open(b"echo").unwrap();
        clients.push(tokio::spawn(async move {
            let (mut read, mut write) = tokio::io::split(stream);
            let sent = vec![number; 700_000];
            let sending = async {
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
            };
            let mut received = Vec::new();
            let receiving = read.read_to_end(&mut received);
            let ((), result) = tokio::join!(sending, receiving);
            result.unwrap();
            assert!(received == sent, "{number}: {} bytes", received.len());
        }));
    }
    for client in clients {
        timeout(STUCK, client).await.unwrap().unwrap();
    }
    echo.abort();
}

#[tokio::test]
async fn a_stream_that_nobody_reads_does_not_stop_messages_and_other_streams() {
    let (host, mut guest) = pair();
    let mut stalled = host.0.open(b"stalled").unwrap();
    let flood = tokio::spawn(async move {
        let error = loop {
            if let Err(error) = stalled.write_all(&[1; 50_000]).await {
                break error;
            }
        };
        error.kind()
    });
    let unread = next_stream(&mut guest).await;
    let mut lively = host.0.open(b"lively").unwrap();
    let mut other = next_stream(&mut guest).await;
    for round in 0..50_u8 {
        let bytes = vec![round; 30_000];
        timeout(STUCK, lively.write_all(&bytes)).await.unwrap().unwrap();
        let mut received = vec![0; 30_000];
        timeout(STUCK, other.stream.read_exact(&mut received)).await.unwrap().unwrap();
        assert!(received == bytes, "{round}");
        host.0.send(&[round]).unwrap();
        let message = timeout(STUCK, guest.1.messages.recv()).await.unwrap();
        assert_eq!(message, Some(vec![round]));
    }
    drop(unread);
    assert_eq!(timeout(STUCK, flood).await.unwrap().unwrap(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn the_end_of_the_channel_ends_everything_with_its_reason() {
    let (host, mut guest) = pair();
    let mut stream = host.0.open(b"").unwrap();
    let opened = next_stream(&mut guest).await;
    drop((guest, opened));
    let read = timeout(STUCK, stream.read_u8()).await.unwrap();
    assert_eq!(read.unwrap_err().to_string(), "the other end has closed the channel");
    assert_eq!(host.0.send(b"x").unwrap_err().to_string(), "the other end has closed the channel");
    assert!(host.0.open(b"").is_err());
}

#[tokio::test]
async fn a_peer_that_breaks_the_protocol_is_cut_off() {
    let (pipe, mut peer) = tokio::io::duplex(4096);
    let (mux, mut incoming) = start(Side::Host, pipe);
    peer.write_all(&[0, 0, 0, 1, 99, 0, 0, 0, 0]).await.unwrap();
    assert_eq!(timeout(STUCK, incoming.messages.recv()).await.unwrap(), None);
    let reason = mux.closed_because().unwrap();
    assert_eq!(reason, "the other side broke the protocol: a frame of an unknown kind");
}

#[tokio::test]
async fn a_dropped_stream_is_cut_at_the_other_end_and_a_finished_one_is_not() {
    let (host, mut guest) = pair();
    drop(host.0.open(b"cut").unwrap());
    let mut cut = next_stream(&mut guest).await;
    let error = timeout(STUCK, cut.stream.read_u8()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);

    let mut finished = host.0.open(b"finished").unwrap();
    finished.write_all(b"all of it").await.unwrap();
    finished.shutdown().await.unwrap();
    drop(finished);
    let mut opened = next_stream(&mut guest).await;
    let mut received = Vec::new();
    timeout(STUCK, opened.stream.read_to_end(&mut received)).await.unwrap().unwrap();
    assert_eq!(received, b"all of it");
}
