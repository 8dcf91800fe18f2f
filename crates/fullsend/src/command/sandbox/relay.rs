//! Passes input, output and signals between us and a command until it ends.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use fullsend_sandbox::{ExecEvent, ExecExit, LimitHit, Running};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::signals::{KILL, Received, Signals};
use super::writer::{Chunk, Writer};
use super::{Failure, terminal};

/// Input that may wait in the queue of the command before no more is read.
const QUEUED_INPUT: usize = 4 << 20;

/// How often a full queue is looked at.
const QUEUE_PAUSE: Duration = Duration::from_millis(10);

/// How long the backend may take to notice that the time is over; it does not notice while its output is not taken.
const PATIENCE: Duration = Duration::from_millis(250);

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) exit: ExecExit,
    /// The first signal that asked us to end.
    pub(super) interrupted: Option<i32>,
    /// Whether we had to end it because its time was over.
    pub(super) overdue: bool,
}

impl Ended {
    /// Whether the time limit ended it.
    pub(super) fn timed_out(&self) -> bool {
        self.exit.timed_out || self.overdue
    }

    /// Limits that it ran into.
    pub(super) fn limits_hit(&self) -> Vec<LimitHit> {
        let mut limits = self.exit.limits_hit.clone();
        if self.timed_out() && !limits.contains(&LimitHit::Time) {
            limits.insert(0, LimitHit::Time);
        }
        limits
    }
}

/// A command under way and everything it is connected to.
#[derive(Debug)]
pub(super) struct Relay {
    running: Running,
    input: Option<mpsc::Receiver<Bytes>>,
    writer: Writer,
    /// Read from the command and not yet queued for writing; meanwhile no more is read.
    pending: Option<Chunk>,
    deadline: Option<Instant>,
    interrupted: Option<i32>,
    overdue: bool,
}

impl Relay {
    pub(super) fn new(
        running: Running,
        input: mpsc::Receiver<Bytes>,
        writer: Writer,
        timeout: Option<Duration>,
    ) -> Self {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout)?.checked_add(PATIENCE));
        Self {
            running,
            input: Some(input),
            writer,
            pending: None,
            deadline,
            interrupted: None,
            overdue: false,
        }
    }

    /// Until the end of the command. When our output fails the command is ended with everything it has started.
    pub(super) async fn run(mut self, signals: &mut Signals) -> Result<Ended, Failure> {
        let exit = self.until_exit(signals).await?;
        let Self { writer, interrupted, overdue, .. } = self;
        let ended = Ended { exit, interrupted, overdue };
        let mut pending = writer.exited(&ended);
        let written = async {
            if pending.is_some() {
                writer.put(&mut pending).await;
            }
            writer.finish().await
        };
        tokio::select! {
            written = written => written?,
            // The command is over, and nobody takes the rest of its output.
            signal = signals.ending() => return Err(Failure::Interrupted(signal)),
        }
        Ok(ended)
    }

    async fn until_exit(&mut self, signals: &mut Signals) -> Result<ExecExit, Failure> {
        loop {
            let stalled = self.pending.is_some();
            let takes_input = self.running.queued_input() < QUEUED_INPUT;
            tokio::select! {
                received = signals.next() => self.pass_on(received)?,
                chunk = next_input(&mut self.input), if takes_input => self.feed(chunk),
                () = tokio::time::sleep(QUEUE_PAUSE), if !takes_input => {}
                () = at(self.deadline), if !self.overdue => {
                    self.overdue = true;
                    self.running.signal(KILL)?;
                }
                writable = self.writer.put(&mut self.pending), if stalled => {
                    if !writable {
                        return Err(self.output_failure().await);
                    }
                }
                event = self.running.next(), if !stalled => match event? {
                    ExecEvent::Stdout(bytes) => self.pending = Some(self.writer.stdout(bytes)),
                    ExecEvent::Stderr(bytes) => self.pending = Some(self.writer.stderr(bytes)),
                    ExecEvent::Exited(exit) => return Ok(exit),
                },
            }
        }
    }

    fn feed(&mut self, chunk: Option<Bytes>) {
        match chunk {
            Some(bytes) => self.running.feed(bytes),
            None => {
                self.input = None;
                self.running.finish_input();
            }
        }
    }

    /// The first signal is the command's to handle; the second is final.
    fn pass_on(&mut self, received: Received) -> Result<(), Failure> {
        match received {
            Received::Resized => {
                // Only a command with a terminal has a size to change.
                let _ = self.running.resize(terminal::size());
            }
            Received::Ending(signal) if self.interrupted.is_none() => {
                self.interrupted = Some(signal);
                self.running.signal(signal)?;
            }
            Received::Ending(_) => self.running.signal(KILL)?,
        }
        Ok(())
    }

    async fn output_failure(&mut self) -> Failure {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        Failure::Own(self.writer.failure().await.unwrap_or_else(gone).into())
    }
}

async fn next_input(input: &mut Option<mpsc::Receiver<Bytes>>) -> Option<Bytes> {
    match input {
        Some(input) => input.recv().await,
        None => std::future::pending().await,
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
