//! One stream of a channel, as a reader and writer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Shared;
use super::link::Input;

/// A stream. Shutting it down ends what is written; dropping it cuts what is not at its end.
#[derive(Debug)]
pub struct MuxStream {
    number: u32,
    shared: Arc<Shared>,
}

impl MuxStream {
    pub(super) fn new(number: u32, shared: Arc<Shared>) -> Self {
        Self { number, shared }
    }

    /// What messages call this stream.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl AsyncRead for MuxStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
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
}

impl AsyncWrite for MuxStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
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

    /// Accepted bytes are on their way already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.lock().link.finish(self.number);
        self.shared.send.notify_one();
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
