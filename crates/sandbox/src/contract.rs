//! What every backend does.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;

use crate::error::SandboxError;
use crate::spec::{
    ExecEvent, ExecRequest, ExecResult, FilesystemMount, Kept, NetworkPolicy, SandboxCapabilities,
    SandboxSession, SandboxSessionId, SandboxSnapshot, SandboxSpec, TerminalSize,
};

/// An operation under way.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, SandboxError>> + Send + 'a>>;

/// Makes and runs sandboxes of one kind.
///
/// Every operation either takes full effect or changes nothing and says why. An unknown or terminated session is
/// [`SandboxError::SessionNotFound`]; what the backend cannot enforce is [`SandboxError::Unsupported`].
pub trait SandboxBackend: fmt::Debug + Send + Sync {
    /// How the backend is chosen and named in messages: `local`, `docker`.
    fn name(&self) -> &'static str;

    /// What works on this machine, found out by trying.
    fn capabilities(&self) -> SandboxCapabilities;

    /// Whether a session takes milliseconds to make, so that another can be had when one does not suit.
    fn makes_quickly(&self) -> bool {
        false
    }

    /// Makes a session; it is running when this returns.
    fn provision(&self, spec: SandboxSpec) -> Pending<'_, SandboxSession>;

    /// What is known of a session now.
    fn session(&self, id: &SandboxSessionId) -> Result<SandboxSession, SandboxError>;

    /// Adds a mount; commands started from now on see it. Background processes of earlier commands are ended.
    fn attach_filesystem<'a>(
        &'a self,
        id: &'a SandboxSessionId,
        mount: FilesystemMount,
    ) -> Pending<'a, SandboxSession>;

    /// Replaces the network policy; connections that it does not allow are cut.
    fn apply_network_policy<'a>(&'a self, id: &'a SandboxSessionId, policy: NetworkPolicy)
    -> Pending<'a, ()>;

    /// Starts a command. A suspended session wakes up.
    fn spawn<'a>(&'a self, id: &'a SandboxSessionId, request: ExecRequest) -> Pending<'a, Running>;

    /// Runs a command to its end. A command that fails or runs into its time limit is an `Ok` result that says so.
    fn exec<'a>(&'a self, id: &'a SandboxSessionId, request: ExecRequest) -> Pending<'a, ExecResult> {
        Box::pin(async move {
            let running = self.spawn(id, request).await?;
            running.collect().await
        })
    }

    /// Keeps the files of the session as they are now. Background processes are ended: memory is never kept.
    fn snapshot<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, SandboxSnapshot>;

    /// Brings a session back, also one of an earlier process. Its files are those of its last snapshot; without
    /// a snapshot they are as they were.
    fn resume<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, SandboxSession>;

    /// A new session that starts with the files of a snapshot. The session of the snapshot is not changed.
    fn fork<'a>(&'a self, snapshot: &'a SandboxSnapshot) -> Pending<'a, SandboxSession>;

    /// Stops all processes of the session until the next command, or until it is resumed.
    fn suspend<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, ()>;

    /// Ends the session: its processes, its private files, its snapshots.
    fn terminate<'a>(&'a self, id: &'a SandboxSessionId) -> Pending<'a, ()>;
}

/// A command under way, as a backend carries it out.
pub trait Process: fmt::Debug + Send {
    /// The next thing that happens; [`ExecEvent::Exited`] is the last. Standard input is written meanwhile.
    ///
    /// The future may be dropped at any time without losing anything.
    fn next(&mut self) -> Pending<'_, ExecEvent>;

    /// Queues bytes for standard input.
    fn feed(&mut self, bytes: Bytes);

    /// How many bytes are queued for standard input and not yet written, for callers that must not queue without end.
    fn queued_input(&self) -> usize;

    /// Ends standard input once everything queued is written.
    fn finish_input(&mut self);

    /// Sends a signal to the command's process group; `SIGKILL` goes to everything the command has started.
    fn signal(&mut self, signal: i32) -> Result<(), SandboxError>;

    /// Tells a command with a terminal how large it is now.
    fn resize(&mut self, size: TerminalSize) -> Result<(), SandboxError>;

    /// How many bytes of each output stream [`Running::collect`] keeps.
    fn output_limit(&self) -> u64;
}

/// A command under way. Dropping it ends the command and everything it has started.
#[derive(Debug)]
pub struct Running {
    process: Box<dyn Process>,
}

impl Running {
    /// For backends.
    pub fn new(process: Box<dyn Process>) -> Self {
        Self { process }
    }

    /// The next thing that happens; [`ExecEvent::Exited`] is the last. The future may be dropped without losing anything.
    pub async fn next(&mut self) -> Result<ExecEvent, SandboxError> {
        self.process.next().await
    }

    /// Queues bytes for standard input; they are written while [`Running::next`] is awaited.
    pub fn feed(&mut self, bytes: impl Into<Bytes>) {
        self.process.feed(bytes.into());
    }

    /// How many bytes are queued and not yet written.
    pub fn queued_input(&self) -> usize {
        self.process.queued_input()
    }

    /// Ends standard input once everything queued is written.
    pub fn finish_input(&mut self) {
        self.process.finish_input();
    }

    /// Sends a signal to the command's process group; `SIGKILL` goes to everything the command has started.
    pub fn signal(&mut self, signal: i32) -> Result<(), SandboxError> {
        self.process.signal(signal)
    }

    /// Tells a command with a terminal how large it is now.
    pub fn resize(&mut self, size: TerminalSize) -> Result<(), SandboxError> {
        self.process.resize(size)
    }

    /// Waits for the end and keeps the output, up to the session's limit for each stream.
    pub async fn collect(mut self) -> Result<ExecResult, SandboxError> {
        let mut stdout = Kept::new(self.process.output_limit());
        let mut stderr = Kept::new(self.process.output_limit());
        loop {
            match self.process.next().await? {
                ExecEvent::Stdout(bytes) => stdout.add(&bytes),
                ExecEvent::Stderr(bytes) => stderr.add(&bytes),
                ExecEvent::Exited(exit) => return Ok(exit.with_output(stdout.finish(), stderr.finish())),
            }
        }
    }
}
