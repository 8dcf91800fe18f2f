//! A command in a container, from the host's side.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fullsend_sandbox_init::wire::{Event, Inward, Order};
use tokio::sync::mpsc::UnboundedReceiver;

use super::container::{Container, Report};
use super::network::WayOut;
use crate::contract::{Pending, Process};
use crate::error::SandboxError;
use crate::mux::MuxStream;
use crate::spec::{Denial, ExecEvent, ExecExit, ExecRequest, LimitHit, ResourceUsage, TerminalSize};

/// How long process 1 may take to end a command before the whole container is ended.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// The character that ends input at a terminal with default settings.
const END_OF_FILE: Bytes = Bytes::from_static(&[4]);

/// Where the output of a command comes from and its input goes to.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub(super) input: Option<MuxStream>,
    pub(super) output: Option<MuxStream>,
    pub(super) error: Option<MuxStream>,
    /// Both ways.
    pub(super) terminal: Option<MuxStream>,
}

/// A command under way.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) container: Arc<Container>,
    pub(super) id: u32,
    pub(super) reports: UnboundedReceiver<Report>,
    pub(super) streams: Streams,
    pub(super) queue: VecDeque<Bytes>,
    pub(super) input_ends: bool,
    pub(super) started: Instant,
    pub(super) deadline: Option<Instant>,
    pub(super) timed_out: bool,
    pub(super) ended: Option<Event>,
    pub(super) output_limit: u64,
    /// Tells whether another command was started meanwhile; none if another ran already.
    pub(super) alone: Option<u32>,
    /// Limits that the container ran into.
    pub(super) hit: Vec<LimitHit>,
}

impl Command {
    /// Queues what the request has for standard input.
    pub(super) fn give_input(&mut self, request: ExecRequest) {
        if let Some(input) = request.stdin {
            self.feed(input.0.into());
        }
        if !request.interactive && self.streams.terminal.is_none() {
            self.finish_input();
        }
    }

    async fn advance(&mut self) -> Result<ExecEvent, SandboxError> {
        loop {
            if self.ended.is_some() && self.is_read_out() {
                return Ok(ExecEvent::Exited(self.exit()));
            }
            let Streams { input, output, error, terminal } = &self.streams;
            let (running, deadline) = (self.ended.is_none(), self.deadline);
            let writing = terminal.as_ref().or(input.as_ref()).zip(self.queue.front());
            tokio::select! {
            biased;
            // Before the output, which may never pause.
            () = at(deadline), if running && deadline.is_some() => self.expire().await?,
            read = read_from(output.as_ref()) => match read {
                Some(bytes) => return Ok(ExecEvent::Stdout(bytes)),
                None => self.streams.output = None,
            },
            read = read_from(error.as_ref()) => match read {
                Some(bytes) => return Ok(ExecEvent::Stderr(bytes)),
                None => self.streams.error = None,
            },
            read = read_from(terminal.as_ref()) => match read {
                Some(bytes) => return Ok(ExecEvent::Stdout(bytes)),
                None => self.streams.terminal = None,
            },
            report = self.reports.recv(), if running => self.hear(report)?,
            written = write_to(writing), if writing.is_some() => self.take(written),
            }
        }
    }

    /// A command that does not read its input is no error: the rest is dropped.
    fn take(&mut self, written: std::io::Result<usize>) {
        match (written, self.queue.front_mut()) {
            (Ok(count), Some(front)) => {
                let _ = front.split_to(count.min(front.len()));
                if front.is_empty() {
                    self.queue.pop_front();
                }
            }
            (Ok(_), None) => {}
            (Err(_), _) => self.queue.clear(),
        }
        self.end_input();
    }

    fn is_read_out(&self) -> bool {
        self.streams.output.is_none() && self.streams.error.is_none() && self.streams.terminal.is_none()
    }

    fn hear(&mut self, report: Option<Report>) -> Result<(), SandboxError> {
        match report {
            Some(Report { event: event @ Event::Exited { .. }, hit, .. }) => {
                self.ended = Some(event);
                self.hit = hit;
                self.container.forget(self.id);
                Ok(())
            }
            Some(_) => Ok(()),
            None => Err(SandboxError::Exec("the sandbox ended while the command was running".to_owned())),
        }
    }

    async fn expire(&mut self) -> Result<(), SandboxError> {
        if self.timed_out {
            self.deadline = None;
            self.container.end().await;
            return Ok(());
        }
        self.timed_out = true;
        self.deadline = Some(Instant::now() + KILL_PATIENCE);
        self.kill()
    }

    fn kill(&self) -> Result<(), SandboxError> {
        self.container.order(Order::Kill { id: self.id })
    }

    fn exit(&self) -> ExecExit {
        let Some(Event::Exited { status, user_us, system_us, max_rss_kb, .. }) = self.ended else {
            return ExecExit::default();
        };
        let usage = ResourceUsage {
            wall: self.started.elapsed(),
            user: Duration::from_micros(user_us),
            system: Duration::from_micros(system_us),
            max_rss_kb,
        };
        let signal = (status & 0x7f != 0).then_some((status & 0x7f).cast_signed());
        let code = signal.map_or((status >> 8 & 0xff).cast_signed(), |signal| 128 + signal);
        let exit_code = if self.timed_out { 124 } else { code };
        let time = self.timed_out.then_some(LimitHit::Time);
        let others = self.hit.iter().copied().filter(|_| self.is_alone());
        let limits_hit = time.into_iter().chain(others).collect();
        ExecExit { exit_code, timed_out: self.timed_out, signal, usage, denials: self.denials(), limits_hit }
    }

    /// Whether no other command ran while this one did.
    fn is_alone(&self) -> bool {
        self.alone == Some(self.container.overlaps())
    }

    /// What the proxy refused, if nobody else can have asked.
    fn denials(&self) -> Vec<Denial> {
        let way_out = self.container.way_out().filter(|_| self.is_alone());
        way_out.map(WayOut::denials).unwrap_or_default()
    }

    fn end_input(&mut self) {
        if self.queue.is_empty()
            && self.input_ends
            && let Some(input) = self.streams.input.take()
        {
            input.finish();
        }
    }
}

impl Process for Command {
    fn next(&mut self) -> Pending<'_, ExecEvent> {
        Box::pin(self.advance())
    }

    fn feed(&mut self, bytes: Bytes) {
        if !bytes.is_empty() && !self.input_ends {
            self.queue.push_back(bytes);
        }
    }

    fn queued_input(&self) -> usize {
        self.queue.iter().map(Bytes::len).sum()
    }

    fn finish_input(&mut self) {
        if self.streams.terminal.is_some() && !self.input_ends {
            // What a person does at a terminal to end the input.
            self.queue.push_back(END_OF_FILE);
        }
        self.input_ends = true;
        self.end_input();
    }

    fn signal(&mut self, signal: i32) -> Result<(), SandboxError> {
        if self.ended.is_some() {
            return Ok(());
        }
        if signal == libc::SIGKILL {
            return self.kill();
        }
        let signal = u32::try_from(signal)
            .map_err(|_| SandboxError::InvalidRequest(format!("there is no signal {signal}")))?;
        self.container.order(Order::Signal { id: self.id, signal })
    }

    fn resize(&mut self, size: TerminalSize) -> Result<(), SandboxError> {
        let Some(terminal) = &self.streams.terminal else {
            return Err(SandboxError::InvalidRequest("the command has no terminal".to_owned()));
        };
        let (rows, columns) = (size.rows.into(), size.columns.into());
        self.container.send(&Inward::Resize { stream: terminal.number(), rows, columns })
    }

    fn output_limit(&self) -> u64 {
        self.output_limit
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // A container that does not hear this is gone already.
            let _ = self.kill();
        }
        self.container.forget(self.id);
    }
}

/// Bytes as they come; `None` at the end. Never completes without a stream.
async fn read_from(stream: Option<&MuxStream>) -> Option<Bytes> {
    match stream {
        Some(stream) => stream.chunk().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

async fn write_to(writing: Option<(&MuxStream, &Bytes)>) -> std::io::Result<usize> {
    match writing {
        Some((stream, bytes)) => stream.push(bytes).await,
        None => std::future::pending().await,
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
