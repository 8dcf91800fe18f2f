//! Many streams and messages over one pair of pipes, as async streams.
//!
//! A container engine offers one channel into a container: the standard input and output of its first process.
//! [`Link`] does the bookkeeping, which both ends share; here it is moved by two tasks, one that reads and one that
//! writes. Neither waits for a stream: what a stream has not read yet stays within its window.

mod stream;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use fullsend_sandbox_init::mux::frame::BadFrame;
pub(crate) use fullsend_sandbox_init::mux::link::Side;
use fullsend_sandbox_init::mux::link::{Event, Link};

pub(crate) use self::stream::MuxStream;

/// About how much is read or written at once.
const PORTION: usize = 64 * 1024;
/// Messages that may wait to be taken. Whoever takes them must not wait for a stream meanwhile.
const MESSAGES: usize = 256;

/// This end of the channel. When the last clone is dropped, the channel is closed.
#[derive(Clone, Debug)]
pub(crate) struct Mux {
    shared: Arc<Shared>,
    tasks: Arc<Tasks>,
}

/// This end of the channel for somebody who must not keep it open.
#[derive(Debug)]
pub(crate) struct WeakMux(Weak<Shared>);

impl WeakMux {
    /// Queues a message, unless the channel is closed.
    pub(crate) fn send(&self, message: &[u8]) {
        if let Some(shared) = self.0.upgrade() {
            // Whoever answers has nothing to do about a channel that is closed.
            let _ = shared.message(message);
        }
    }
}

/// What the other end sends.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Messages; none any more when the channel is closed.
    pub(crate) messages: mpsc::Receiver<Vec<u8>>,
    /// Streams that the other end opens.
    pub(crate) streams: mpsc::UnboundedReceiver<Opened>,
}

/// A stream that the other end has opened.
#[derive(Debug)]
pub(crate) struct Opened {
    /// What it is, in the words of the other end.
    pub(crate) header: Vec<u8>,
    /// The stream itself.
    pub(crate) stream: MuxStream,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// There may be something to send.
    send: Notify,
}

#[derive(Debug)]
struct State {
    link: Link,
    readers: HashMap<u32, Waker>,
    writers: HashMap<u32, Waker>,
    /// Why the channel is closed.
    closed: Option<String>,
}

#[derive(Debug)]
struct Tasks([AbortHandle; 2]);

impl Tasks {
    /// The ends of the pipes are dropped with the tasks.
    fn abort(&self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Mux {
    /// Starts to move frames between `input` and `output`; must be called in a runtime.
    pub(crate) fn start(
        side: Side,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, Incoming) {
        let state =
            State { link: Link::new(side), readers: HashMap::new(), writers: HashMap::new(), closed: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), send: Notify::new() });
        let (message_sender, messages) = mpsc::channel(MESSAGES);
        // The link limits how many streams the other end may open, and with that how many wait here.
        let (stream_sender, streams) = mpsc::unbounded_channel();
        let reading = tokio::spawn(read_all(Arc::clone(&shared), input, message_sender, stream_sender));
        let writing = tokio::spawn(write_all(Arc::clone(&shared), output));
        let tasks = Tasks([reading.abort_handle(), writing.abort_handle()]);
        (Self { shared, tasks: Arc::new(tasks) }, Incoming { messages, streams })
    }

    /// Queues a message.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        self.shared.message(message)
    }

    /// The same end, which this does not keep open.
    pub(crate) fn downgrade(&self) -> WeakMux {
        WeakMux(Arc::downgrade(&self.shared))
    }

    /// Opens a stream; the header tells the other end what it is.
    pub(crate) fn open(&self, header: &[u8]) -> io::Result<MuxStream> {
        let mut state = self.shared.lock();
        state.check_open()?;
        let number = state.link.open(header).map_err(io::Error::other)?;
        drop(state);
        self.shared.send.notify_one();
        Ok(MuxStream::new(number, Arc::clone(&self.shared)))
    }

    /// Closes the channel from this end, whatever is under way.
    pub(crate) fn close(&self, reason: &str) {
        self.shared.close(reason.to_owned());
        self.tasks.abort();
    }

    /// Why the channel is closed; none while it is not.
    pub(crate) fn closed_because(&self) -> Option<String> {
        self.shared.lock().closed.clone()
    }
}

impl Shared {
    /// The state is consistent between any two statements, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn message(&self, message: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        state.check_open()?;
        state.link.message(message).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        drop(state);
        self.send.notify_one();
        Ok(())
    }

    /// Ends everything that waits; the first reason is kept.
    fn close(&self, reason: String) {
        let mut state = self.lock();
        state.closed.get_or_insert(reason);
        let State { readers, writers, .. } = &mut *state;
        readers.drain().chain(writers.drain()).for_each(|(_, waker)| waker.wake());
        drop(state);
        self.send.notify_one();
    }

    /// Takes in bytes and wakes whoever waits for them; the rest of what happened is returned.
    fn receive(&self, bytes: &[u8]) -> Result<Vec<Event>, BadFrame> {
        let mut state = self.lock();
        let mut events = state.link.receive(bytes)?;
        events.retain(|event| match event {
            Event::Message(_) | Event::Opened { .. } => true,
            Event::Readable(number) => {
                state.wake_reader(*number);
                false
            }
            Event::Reset(number) => {
                state.wake_reader(*number);
                state.wake_writer(*number);
                false
            }
        });
        Ok(events)
    }

    /// Bytes to be written now; none when the channel is closed.
    fn transmit(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        let mut bytes = Vec::new();
        let relieved = state.link.transmit(&mut bytes, PORTION);
        for number in relieved {
            state.wake_writer(number);
        }
        (state.closed.is_none()).then_some(bytes)
    }
}

impl State {
    fn check_open(&self) -> io::Result<()> {
        match &self.closed {
            None => Ok(()),
            Some(reason) => Err(io::Error::new(io::ErrorKind::BrokenPipe, reason.clone())),
        }
    }

    fn wake_reader(&mut self, number: u32) {
        if let Some(waker) = self.readers.remove(&number) {
            waker.wake();
        }
    }

    fn wake_writer(&mut self, number: u32) {
        if let Some(waker) = self.writers.remove(&number) {
            waker.wake();
        }
    }
}

async fn read_all(
    shared: Arc<Shared>,
    mut input: impl AsyncRead + Unpin,
    messages: mpsc::Sender<Vec<u8>>,
    streams: mpsc::UnboundedSender<Opened>,
) {
    let mut buffer = vec![0; PORTION];
    let reason = loop {
        let count = match input.read(&mut buffer).await {
            Ok(0) => break "the other end has closed the channel".to_owned(),
            Ok(count) => count,
            Err(error) => break format!("the channel cannot be read: {error}"),
        };
        let events = match shared.receive(buffer.get(..count).unwrap_or_default()) {
            Ok(events) => events,
            Err(error) => break error.to_string(),
        };
        // Windows and resets may have been answered.
        shared.send.notify_one();
        for event in events {
            match event {
                // A closed receiver is an owner that no longer cares.
                Event::Message(message) => drop(messages.send(message).await),
                Event::Opened { stream, header } => {
                    let stream = MuxStream::new(stream, Arc::clone(&shared));
                    drop(streams.send(Opened { header, stream }));
                }
                Event::Readable(_) | Event::Reset(_) => {}
            }
        }
    };
    shared.close(reason);
}

async fn write_all(shared: Arc<Shared>, mut output: impl AsyncWrite + Unpin) {
    while let Some(bytes) = shared.transmit() {
        if bytes.is_empty() {
            shared.send.notified().await;
            continue;
        }
        let written = async {
            output.write_all(&bytes).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            shared.close(format!("the channel cannot be written: {error}"));
        }
    }
}

#[cfg(test)]
mod tests;
