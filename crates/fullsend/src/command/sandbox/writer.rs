//! What the command writes, to our own output.

use std::io::{self, Write};
use std::thread;

use bytes::Bytes;
use fullsend_sandbox::ByteString;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::relay::Ended;
use crate::cli::ExecFormat;

/// Chunks that wait to be written before the command has to wait too.
const QUEUE: usize = 8;

/// Bytes for one of our streams.
#[derive(Debug)]
pub(super) enum Chunk {
    /// For standard output.
    Out(Bytes),
    /// For standard error.
    Err(Bytes),
}

/// Writes in a thread of its own, in order: a reader that stops reading must not keep us from hearing signals.
#[derive(Debug)]
pub(super) struct Writer {
    format: ExecFormat,
    queue: mpsc::Sender<Chunk>,
    finished: oneshot::Receiver<io::Result<()>>,
}

impl Writer {
    pub(super) fn start(format: ExecFormat) -> Self {
        let (queue, chunks) = mpsc::channel(QUEUE);
        let (tell, finished) = oneshot::channel();
        thread::spawn(move || {
            // Nobody listens when we are on our way out.
            let _ = tell.send(write_all(chunks));
        });
        Self { format, queue, finished }
    }

    /// The bytes as the format wants them.
    pub(super) fn stdout(&self, bytes: Bytes) -> Chunk {
        match self.format {
            ExecFormat::Text => Chunk::Out(bytes),
            ExecFormat::Json => line(&json!({ "event": "stdout", "data": ByteString(bytes.to_vec()) })),
        }
    }

    /// The same for the error output.
    pub(super) fn stderr(&self, bytes: Bytes) -> Chunk {
        match self.format {
            ExecFormat::Text => Chunk::Err(bytes),
            ExecFormat::Json => line(&json!({ "event": "stderr", "data": ByteString(bytes.to_vec()) })),
        }
    }

    /// The end, where the format has one.
    pub(super) fn exited(&self, ended: &Ended) -> Option<Chunk> {
        let exit = &ended.exit;
        match self.format {
            ExecFormat::Text => None,
            ExecFormat::Json => Some(line(&json!({
                "event": "exited",
                "exit_code": exit.exit_code,
                "timed_out": ended.timed_out(),
                "signal": exit.signal,
                "usage": exit.usage,
                "denials": exit.denials,
                "limits_hit": ended.limits_hit(),
            }))),
        }
    }

    /// Prints an object of our own. A failure is seen when the rest is written.
    pub(super) async fn json(&self, value: &Value) {
        let _ = self.queue.send(line(value)).await;
    }

    /// Waits for room and queues the chunk; it is taken only when there is room. False when writing has failed.
    pub(super) async fn put(&self, chunk: &mut Option<Chunk>) -> bool {
        let Ok(room) = self.queue.reserve().await else { return false };
        if let Some(chunk) = chunk.take() {
            room.send(chunk);
        }
        true
    }

    /// Why nothing can be written any more.
    pub(super) async fn failure(&mut self) -> Option<io::Error> {
        (&mut self.finished).await.ok()?.err()
    }

    /// Waits until everything is written.
    pub(super) async fn finish(self) -> io::Result<()> {
        drop(self.queue);
        self.finished.await.unwrap_or(Ok(()))
    }
}

fn line(value: &Value) -> Chunk {
    Chunk::Out(Bytes::from(format!("{value}\n")))
}

fn write_all(mut chunks: mpsc::Receiver<Chunk>) -> io::Result<()> {
    while let Some(chunk) = chunks.blocking_recv() {
        match chunk {
            Chunk::Out(bytes) => write(io::stdout().lock(), &bytes).map_err(named("output"))?,
            Chunk::Err(bytes) => write(io::stderr().lock(), &bytes).map_err(named("error output"))?,
        }
    }
    Ok(())
}

/// Says what could not be written; the kind stays, because a closed pipe is no failure.
fn named(stream: &str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("cannot write the command's {stream}: {error}"))
}

fn write(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}
