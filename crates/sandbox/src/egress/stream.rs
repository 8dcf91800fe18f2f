//! The byte streams that the proxy stands between.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How much is read at a time where bytes are looked at.
const READ_SIZE: usize = 64 * 1024;

/// Anything that can be read and written.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection; sockets are told apart because they can be copied faster.
pub(super) enum Stream {
    /// A socket.
    Tcp(TcpStream),
    /// Anything else.
    Other(Box<dyn Duplex>),
}

impl Stream {
    fn pinned(&mut self) -> Pin<&mut dyn Duplex> {
        match self {
            Self::Tcp(stream) => Pin::new(stream),
            Self::Other(stream) => Pin::new(stream),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.pinned().poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.pinned().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pinned().poll_shutdown(context)
    }
}

/// A source with what has been read of it and not used yet.
pub(super) struct Source<R> {
    /// Where more comes from.
    pub(super) inner: R,
    /// Read and not used yet.
    pub(super) buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> Source<R> {
    /// A source of which nothing has been read.
    pub(super) fn new(inner: R) -> Self {
        Self { inner, buffer: BytesMut::new() }
    }

    /// Reads more, up to `patience` for its beginning; 0 at the end. Nothing is lost if the future is dropped.
    pub(super) async fn fill(&mut self, patience: Duration) -> io::Result<usize> {
        self.buffer.reserve(READ_SIZE);
        match timeout(patience, self.inner.read_buf(&mut self.buffer)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// A connection whose beginning is being looked at.
pub(super) type Peer = Source<Stream>;

/// Both directions of a connection apart, for protocols that use them at the same time.
pub(super) struct Halves {
    /// What comes.
    pub(super) source: Source<ReadHalf<Stream>>,
    /// What goes.
    pub(super) sink: WriteHalf<Stream>,
}

impl From<Peer> for Halves {
    fn from(peer: Peer) -> Self {
        let (read, sink) = tokio::io::split(peer.inner);
        Self { source: Source { inner: read, buffer: peer.buffer }, sink }
    }
}

impl From<Halves> for Peer {
    fn from(halves: Halves) -> Self {
        Self { inner: halves.source.inner.unsplit(halves.sink), buffer: halves.source.buffer }
    }
}
