//! What a test of a backend starts with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fullsend_sandbox::{
    ExecRequest, ExecResult, FilesystemMount, ResourceLimits, SandboxBackend, SandboxError, SandboxSessionId,
    SandboxSpec,
};
use fullsend_testkit::{declare_skip, reexec};

use super::backends::{Place, Start};
use super::caller::{Caller, run_as};
use super::{host, probe};

/// Where sessions see the probe.
pub(crate) const PROBE: &str = "/attack/probe";
/// Tells a test that it is to be killed, and where the test that will kill it keeps its things.
const DOOMED: &str = "FULLSEND_TEST_DOOMED";
/// Carries a value by which the processes of a test are found on the host.
const MARK: &str = "FULLSEND_TEST_MARK";

/// After this a test counts as hanging.
const PATIENCE: Duration = Duration::from_secs(240);

/// A backend of its own for one test, with helpers that keep each test to a few lines.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) backend: Arc<dyn SandboxBackend>,
    pub(crate) place: Place,
    pub(crate) test: &'static str,
    start: Start,
    mark: String,
    made: Mutex<Vec<SandboxSessionId>>,
}

/// Runs `body` with a backend, as `caller`; afterwards nothing may be left of its sessions.
pub(crate) fn run(test: &'static str, caller: Caller, start: Start, body: impl AsyncFnOnce(&Context)) {
    run_as(caller, test, || {
        let place = doomed_place().map_or_else(Place::new, Place::of_another);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            match start(&place) {
                Ok(backend) => {
                    let context = Context::new(backend, place, test, start);
                    let body = tokio::time::timeout(PATIENCE, body(&context));
                    body.await.expect("the test hangs");
                    context.close().await;
                }
                Err(reason) => declare_skip(test, &reason),
            }
        });
    });
}

impl Context {
    pub(crate) fn new(
        backend: Arc<dyn SandboxBackend>,
        place: Place,
        test: &'static str,
        start: Start,
    ) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = || format!("mark-{}-{number}-end", std::process::id());
        let mark = std::env::var(MARK).unwrap_or_else(|_| own());
        Self { backend, place, test, start, mark, made: Mutex::default() }
    }

    /// Another backend of the same kind in the same place, as the next process would have it.
    pub(crate) fn start_again(&self) -> Arc<dyn SandboxBackend> {
        (self.start)(&self.place).unwrap()
    }

    /// Ends all sessions and looks for what they left behind.
    async fn close(self) {
        let made = std::mem::take(&mut *self.made.lock().unwrap());
        for id in &made {
            match self.backend.terminate(id).await {
                Ok(()) | Err(SandboxError::SessionNotFound(_)) => {}
                Err(error) => panic!("session {id} cannot be ended: {error}"),
            }
        }
        host::expect_gone(&self.mark);
        for id in &made {
            host::wait_until("control groups that should be gone", || {
                host::groups_with(id.as_str()).is_empty()
            });
        }
        drop(self.backend);
        let state = self.place.state();
        assert_eq!(host::mounts_with(&state.display().to_string()), Vec::<String>::new());
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Declares that something this test needs is not here.
    pub(crate) fn skip(&self, reason: &str) {
        declare_skip(self.test, reason);
    }

    /// The mount that brings the probe, or `None` and a declared skip.
    pub(crate) fn probe_mount(&self) -> Option<FilesystemMount> {
        match probe::probe() {
            Ok(program) => Some(FilesystemMount::read_only(program.parent().unwrap(), "/attack")),
            Err(reason) => {
                self.skip(reason);
                None
            }
        }
    }

    /// A session with nothing but the defaults.
    pub(crate) async fn session(&self) -> SandboxSessionId {
        self.provision(SandboxSpec::default()).await
    }

    /// A session with these mounts.
    pub(crate) async fn with_mounts(&self, mounts: Vec<FilesystemMount>) -> SandboxSessionId {
        self.provision(SandboxSpec { mounts, ..SandboxSpec::default() }).await
    }

    /// A session with the probe and these limits; none if this backend cannot enforce them here, or there is no probe.
    pub(crate) async fn limited(&self, limits: ResourceLimits) -> Option<SandboxSessionId> {
        let spec = SandboxSpec { mounts: vec![self.probe_mount()?], limits, ..SandboxSpec::default() };
        match self.try_provision(spec).await {
            Ok(id) => Some(id),
            Err(SandboxError::Unsupported { operation, reason, .. }) => {
                self.skip(&format!("{operation} cannot be enforced here: {reason}"));
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn provision(&self, spec: SandboxSpec) -> SandboxSessionId {
        self.try_provision(spec).await.unwrap()
    }

    /// Every session is made here, so that all of them are ended.
    pub(crate) async fn try_provision(&self, spec: SandboxSpec) -> Result<SandboxSessionId, SandboxError> {
        let session = self.backend.provision(spec).await?;
        self.remember(&session.id);
        Ok(session.id)
    }

    /// A session that was made in another way is ended with the others.
    pub(crate) fn remember(&self, id: &SandboxSessionId) {
        self.made.lock().unwrap().push(id.clone());
    }

    /// A line for the shell, marked.
    pub(crate) fn line(&self, line: impl Into<String>) -> ExecRequest {
        self.marked(ExecRequest::shell(line))
    }

    /// The probe with its arguments, marked.
    pub(crate) fn probe(&self, arguments: &str) -> ExecRequest {
        self.marked(ExecRequest::new(PROBE, arguments.split(' ')))
    }

    /// Adds the mark by which the processes of this test are found on the host.
    pub(crate) fn marked(&self, request: ExecRequest) -> ExecRequest {
        let env = BTreeMap::from([(MARK.to_owned(), self.mark.clone())]);
        ExecRequest { env: request.env.into_iter().chain(env).collect(), ..request }
    }

    pub(crate) async fn exec(&self, id: &SandboxSessionId, request: ExecRequest) -> ExecResult {
        self.backend.exec(id, request).await.unwrap()
    }

    /// Runs a line of shell.
    pub(crate) async fn sh(&self, id: &SandboxSessionId, line: &str) -> ExecResult {
        self.exec(id, self.line(line)).await
    }

    /// Runs a line of shell that must succeed: what it wrote, without the last line end.
    pub(crate) async fn out(&self, id: &SandboxSessionId, line: &str) -> String {
        let result = self.sh(id, line).await;
        assert!(result.success(), "{line}: {result:?}");
        text(&result).trim_end().to_owned()
    }

    /// Runs a line of shell that must fail, and for a reason of its own: the shell found what it was to run.
    pub(crate) async fn refused(&self, id: &SandboxSessionId, line: &str) {
        let result = self.sh(id, line).await;
        assert!(!result.success() && !matches!(result.exit_code, 126 | 127), "{line}: {result:?}");
    }

    /// Runs a line of shell with a time limit.
    pub(crate) async fn timed(&self, id: &SandboxSessionId, line: &str, limit: Duration) -> ExecResult {
        self.exec(id, ExecRequest { timeout: Some(limit), ..self.line(line) }).await
    }
}

/// The place of the test that will kill this process; none if nobody will.
pub(crate) fn doomed_place() -> Option<PathBuf> {
    std::env::var_os(DOOMED).map(PathBuf::from)
}

/// A process that runs the same test on the same place; it finds out by [`doomed_place`].
pub(crate) fn doomed(context: &Context) -> Command {
    let role = reexec::role().unwrap_or_else(|| "doomed".to_owned());
    let mut command = reexec::command(context.test, &role);
    command.env(DOOMED, context.place.root()).env(MARK, context.mark()).stdout(Stdio::piped());
    command
}

/// Standard output as text.
pub(crate) fn text(result: &ExecResult) -> String {
    result.stdout.display().into_owned()
}

/// A file with its directories.
pub(crate) fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
