//! One stream of a channel, as a reader and writer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use fullsend_sandbox_init::mux::link::Input;

use super::Shared;

/// A stream. Shutting it down ends what is written; dropping it cuts what is not at its end.
#[derive(Debug)]
pub(crate) struct MuxStream {
    number: u32,
    shared: Arc<Shared>,
}

impl MuxStream {
    pub(super) fn new(number: u32, shared: Arc<Shared>) -> Self {
        Self { number, shared }
    }

    /// What messages call this stream.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The bytes that have arrived, as soon as there are any; `None` at the end. Nothing is lost if the future is dropped.
    pub(crate) async fn chunk(&self) -> io::Result<Option<Bytes>> {
        std::future::poll_fn(|context| {
            let available = self.shared.lock().link.available(self.number);
            let mut bytes = vec![0; available.max(1)];
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(self.poll_input(context, &mut buffer))?;
            let count = buffer.filled().len();
            bytes.truncate(count);
            Poll::Ready(Ok((count > 0).then(|| bytes.into())))
        })
        .await
    }

    /// Hands over some bytes, as soon as there is room, and says how many.
    pub(crate) async fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        std::future::poll_fn(|context| self.poll_output(context, bytes)).await
    }

    /// Ends what is written, like shutting down.
    pub(crate) fn finish(&self) {
        self.shared.lock().link.finish(self.number);
        self.shared.send.notify_one();
    }

    fn poll_input(&self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.shared.lock();
        match state.link.read(self.number, buffer.initialize_unfilled()) {
            Input::Bytes(count) => {
                buffer.advance(count);
                drop(state);
                self.shared.send.notify_one();
                Poll::Ready(Ok(()))
            }
            Input::End => Poll::Ready(Ok(())),
            Input::Cut => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Input::Nothing => {
                state.check_open()?;
                state.readers.insert(self.number, context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn poll_output(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.lock();
        state.check_open()?;
        match state.link.write(self.number, bytes) {
            Some(0) if !bytes.is_empty() => {
                state.writers.insert(self.number, context.waker().clone());
                Poll::Pending
            }
            Some(count) => {
                drop(state);
                self.shared.send.notify_one();
                Poll::Ready(Ok(count))
            }
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl AsyncRead for MuxStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_input(context, buffer)
    }
}

impl AsyncWrite for MuxStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_output(context, bytes)
    }

    /// Accepted bytes are on their way already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.finish();
        Poll::Ready(Ok(()))
    }
}

impl Drop for MuxStream {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.link.close(self.number);
        state.readers.remove(&self.number);
        state.writers.remove(&self.number);
        drop(state);
        self.shared.send.notify_one();
    }
}
