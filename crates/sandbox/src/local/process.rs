//! A command of a session, from the host's side.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use fullsend_sandbox_init::wire::{Event, Order};
use rustix::termios::Winsize;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::UnboundedReceiver;

use super::live::Live;
use super::terminal::Terminal;
use crate::contract::{Pending, Process};
use crate::error::SandboxError;
use crate::spec::{ExecEvent, ExecExit, LimitHit, ResourceUsage, TerminalSize};

/// Read at most this much at a time.
const CHUNK: usize = 64 << 10;

/// How long process 1 may take to end a command before the whole session is ended.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// Where the output of a command comes from and its input goes to.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) input: Option<pipe::Sender>,
    pub(crate) output: Option<pipe::Receiver>,
    pub(crate) error: Option<pipe::Receiver>,
    pub(crate) terminal: Option<Terminal>,
}

/// A command under way.
#[derive(Debug)]
pub(crate) struct LocalProcess {
    pub(crate) live: Arc<Live>,
    pub(crate) id: u32,
    pub(crate) events: UnboundedReceiver<(Event, Vec<OwnedFd>)>,
    pub(crate) streams: Streams,
    pub(crate) queue: VecDeque<Bytes>,
    pub(crate) input_ends: bool,
    pub(crate) started: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) timed_out: bool,
    pub(crate) ended: Option<Event>,
    pub(crate) rest: Rest,
    pub(crate) output_limit: u64,
}

/// How many bytes of each stream can have been written before the end of the command. What lives on in the background
/// may write for ever, and that is not waited for.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    output: usize,
    error: usize,
    terminal: usize,
}

/// More than the kernel holds back of a terminal's output.
const TERMINAL_HOLDS: usize = 128 << 10;

impl Rest {
    fn of(streams: &Streams) -> Self {
        let held = |stream: &Option<pipe::Receiver>| {
            stream.as_ref().map_or(0, |stream| rustix::pipe::fcntl_getpipe_size(stream).unwrap_or(CHUNK))
        };
        Self { output: held(&streams.output), error: held(&streams.error), terminal: TERMINAL_HOLDS }
    }
}

impl LocalProcess {
    async fn advance(&mut self) -> Result<ExecEvent, SandboxError> {
        loop {
            if self.ended.is_some() {
                return self.drain();
            }
            // First of all: there may be no end to the output.
            if let Ok(event) = self.events.try_recv() {
                self.hear(Some(event))?;
                continue;
            }
            let deadline = self.deadline;
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                // A command that never stops writing must not keep its own time limit from being noticed.
                self.expire()?;
            }
            tokio::select! {
                biased;
                read = read_from(self.streams.output.as_ref()) => match read {
                    Some(bytes) => return Ok(ExecEvent::Stdout(bytes)),
                    None => self.streams.output = None,
                },
                read = read_from(self.streams.error.as_ref()) => match read {
                    Some(bytes) => return Ok(ExecEvent::Stderr(bytes)),
                    None => self.streams.error = None,
                },
                read = read_terminal(self.streams.terminal.as_ref()) => {
                    if let Some(bytes) = read {
                        return Ok(ExecEvent::Stdout(bytes));
                    }
                    if let Some(terminal) = &mut self.streams.terminal {
                        terminal.close_output();
                    }
                }
                event = self.events.recv() => self.hear(event)?,
                () = write_queue(&self.streams, &mut self.queue), if !self.queue.is_empty() => self.end_input(),
                () = at(deadline), if deadline.is_some() => {}
            }
        }
    }

    fn hear(&mut self, event: Option<(Event, Vec<OwnedFd>)>) -> Result<(), SandboxError> {
        match event {
            Some((event @ Event::Exited { .. }, _)) => {
                self.rest = Rest::of(&self.streams);
                self.ended = Some(event);
            }
            Some(_) => {}
            // Process 1 was ended too, by us or for lack of memory; the next command starts a new one.
            None if self.timed_out || self.live.ran_out_of_memory() => {
                let status = libc::SIGKILL.unsigned_abs();
                self.ended = Some(Event::Exited {
                    id: self.id,
                    status,
                    user_us: 0,
                    system_us: 0,
                    max_rss_kb: 0,
                    background: 0,
                });
            }
            None => {
                return Err(SandboxError::Exec("the sandbox ended while the command was running".to_owned()));
            }
        }
        Ok(())
    }

    fn expire(&mut self) -> Result<(), SandboxError> {
        if self.timed_out {
            self.live.destroy();
            self.deadline = None;
            return Ok(());
        }
        self.timed_out = true;
        self.deadline = Some(Instant::now() + KILL_PATIENCE);
        self.kill()
    }

    fn kill(&self) -> Result<(), SandboxError> {
        self.live.order_now(&Order::Kill { id: self.id })
    }

    /// The command is gone, so what it wrote is there: no need to wait for more.
    fn drain(&mut self) -> Result<ExecEvent, SandboxError> {
        if let Some(bytes) = take_now(&mut self.streams.output, &mut self.rest.output) {
            return Ok(ExecEvent::Stdout(bytes));
        }
        if let Some(bytes) = take_now(&mut self.streams.error, &mut self.rest.error) {
            return Ok(ExecEvent::Stderr(bytes));
        }
        let terminal = self.streams.terminal.as_ref().filter(|_| self.rest.terminal > 0);
        if let Some(bytes) = terminal.and_then(Terminal::read_now) {
            self.rest.terminal = self.rest.terminal.saturating_sub(bytes.len());
            return Ok(ExecEvent::Stdout(bytes));
        }
        Ok(ExecEvent::Exited(self.exit()))
    }

    fn exit(&mut self) -> ExecExit {
        let Some(Event::Exited { status, user_us, system_us, max_rss_kb, .. }) = self.ended else {
            return ExecExit::default();
        };
        let usage = ResourceUsage {
            wall: self.started.elapsed(),
            user: Duration::from_micros(user_us),
            system: Duration::from_micros(system_us),
            max_rss_kb,
        };
        let signal = (status & 0x7f != 0).then_some((status & 0x7f) as i32);
        let code = signal.map_or((status >> 8 & 0xff) as i32, |signal| 128 + signal);
        let (denials, mut limits_hit) = self.live.account();
        if self.timed_out {
            limits_hit.insert(0, LimitHit::Time);
        }
        let exit_code = if self.timed_out { 124 } else { code };
        ExecExit { exit_code, timed_out: self.timed_out, signal, usage, denials, limits_hit }
    }

    pub(crate) fn end_input(&mut self) {
        if self.queue.is_empty() && self.input_ends {
            self.streams.input = None;
        }
    }
}

impl Process for LocalProcess {
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
        if let Some(terminal) = self.streams.terminal.as_ref().filter(|_| !self.input_ends) {
            // What a person does at a terminal to end the input.
            self.queue.push_back(terminal.end_of_file());
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
        self.live.order_now(&Order::Signal { id: self.id, signal })
    }

    fn resize(&mut self, size: TerminalSize) -> Result<(), SandboxError> {
        let Some(terminal) = &self.streams.terminal else {
            return Err(SandboxError::InvalidRequest("the command has no terminal".to_owned()));
        };
        let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(terminal.as_fd(), size).map_err(|error| SandboxError::Io {
            doing: "cannot resize the terminal".to_owned(),
            source: error.into(),
        })
    }

    fn output_limit(&self) -> u64 {
        self.output_limit
    }
}

impl Drop for LocalProcess {
    fn drop(&mut self) {
        if self.ended.is_none() && self.kill().is_err() {
            self.live.destroy();
        }
        self.live.forget(self.id);
    }
}

/// Bytes as they come; `None` at the end. Never completes without a stream.
async fn read_from(stream: Option<&pipe::Receiver>) -> Option<Bytes> {
    let Some(stream) = stream else { return std::future::pending().await };
    loop {
        if stream.readable().await.is_err() {
            return None;
        }
        let mut buffer = BytesMut::with_capacity(CHUNK);
        match stream.try_read_buf(&mut buffer) {
            Ok(0) => return None,
            Ok(_) => return Some(buffer.freeze()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

async fn read_terminal(terminal: Option<&Terminal>) -> Option<Bytes> {
    match terminal.filter(|terminal| terminal.is_open()) {
        Some(terminal) => terminal.read().await,
        None => std::future::pending().await,
    }
}

/// Asks the kernel itself: tokio may not have heard yet that there is something. Takes no more than what is left.
fn take_now(stream: &mut Option<pipe::Receiver>, left: &mut usize) -> Option<Bytes> {
    if *left == 0 {
        return None;
    }
    let mut buffer = Vec::with_capacity(CHUNK.min(*left));
    match rustix::io::read(stream.as_ref()?, rustix::buffer::spare_capacity(&mut buffer)) {
        Ok(1..) => {
            *left = left.saturating_sub(buffer.len());
            Some(buffer.into())
        }
        Ok(0) | Err(_) => {
            *stream = None;
            None
        }
    }
}

/// Writes some of what is queued. A command that does not read its input is no error: the rest is dropped.
async fn write_queue(streams: &Streams, queue: &mut VecDeque<Bytes>) {
    let Some(front) = queue.front_mut() else { return };
    let written = match (&streams.terminal, &streams.input) {
        (Some(terminal), _) => terminal.write(front).await,
        (None, Some(input)) => write_pipe(input, front).await,
        (None, None) => Err(io::ErrorKind::BrokenPipe.into()),
    };
    match written {
        Ok(count) => {
            let _ = front.split_to(count.min(front.len()));
            if front.is_empty() {
                queue.pop_front();
            }
        }
        Err(_) => queue.clear(),
    }
}

async fn write_pipe(input: &pipe::Sender, bytes: &[u8]) -> io::Result<usize> {
    loop {
        input.writable().await?;
        match input.try_write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
