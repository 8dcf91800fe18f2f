//! What a test of commands starts with: a workspace, a place for artifacts in it, a sandbox.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fullsend_agent::execution::{Execution, Guards, SessionPlan, Spill, Whereabouts};
use fullsend_agent::sources::Sources;
use fullsend_agent::tools::{Bash, BashLimits};
use fullsend_agent::workspace::{Access, Workspace, WorkspacePlan};
use fullsend_agent::{Tool, ToolCallContext, ToolOutput};
use fullsend_flow::{Label, Policy};
use fullsend_sandbox::{
    DockerBackend, DockerConfig, LocalBackend, LocalConfig, SandboxBackend, SandboxError,
};
use fullsend_testkit::declare_skip;
use serde_json::{Map, Value};

use crate::support::directories::Directories;

/// After this a test counts as hanging.
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts a backend that keeps its state in a directory; or says why this machine cannot have it.
pub(crate) type Start = fn(&Path) -> Result<Arc<dyn SandboxBackend>, String>;

/// This machine's own kernel.
pub(crate) fn local(state: &Path) -> Result<Arc<dyn SandboxBackend>, String> {
    match LocalBackend::start(LocalConfig { state_dir: state.to_owned(), ..LocalConfig::default() }) {
        Ok(backend) => Ok(Arc::new(backend)),
        Err(error @ SandboxError::Unsupported { .. }) => Err(error.to_string()),
        Err(error) => panic!("the backend does not start: {error}"),
    }
}

/// Containers, with the image that the repository's test runner makes.
pub(crate) fn docker(state: &Path) -> Result<Arc<dyn SandboxBackend>, String> {
    let config = DockerConfig::new("fullsend-test:latest", state);
    let connected = tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(DockerBackend::connect(config))
    });
    connected.map(|backend| Arc::new(backend) as Arc<dyn SandboxBackend>).map_err(|error| error.to_string())
}

/// Files named for outputs, in the artifacts of the room.
#[derive(Debug)]
pub(crate) struct Files(PathBuf);

impl Files {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self(directory)
    }
}

impl Spill for Files {
    fn spill(&self, output_id: &str, stream: &str) -> io::Result<(PathBuf, Box<dyn Write + Send>)> {
        let path = self.0.join(format!("{}.{stream}", output_id.replace(':', "-")));
        Ok((path.clone(), Box::new(File::create_new(path)?)))
    }
}

/// A sandbox of its own for one test.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) backend: Arc<dyn SandboxBackend>,
    pub(crate) workspace: PathBuf,
    pub(crate) artifacts: PathBuf,
    pub(crate) plan: SessionPlan,
    pub(crate) execution: Execution,
    pub(crate) place: Arc<Directories>,
    pub(crate) spill: Arc<Files>,
    pub(crate) bash: Bash,
    pub(crate) sources: Arc<Sources>,
    pub(crate) label: Label,
    calls: AtomicU32,
    _root: tempfile::TempDir,
}

/// Runs `body` in a room.
pub(crate) fn run(test: &'static str, start: Start, body: impl AsyncFnOnce(&Room)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        std::fs::create_dir(&state).unwrap();
        match start(&state) {
            Ok(backend) => {
                let room = Room::new(backend, root);
                tokio::time::timeout(PATIENCE, body(&room)).await.expect("the test hangs");
                room.execution.end().await.unwrap();
            }
            Err(reason) => declare_skip(test, &reason),
        }
    });
}

impl Room {
    fn new(backend: Arc<dyn SandboxBackend>, root: tempfile::TempDir) -> Self {
        let workspace = root.path().join("workspace");
        let artifacts = workspace.join(".fullsend/runs/one");
        std::fs::create_dir_all(&artifacts).unwrap();
        let plan = SessionPlan { hidden: vec![artifacts.clone()], ..SessionPlan::new(&workspace) };
        let opened = Workspace::open(&WorkspacePlan {
            root: &workspace,
            target: fullsend_agent::workspace::WORKSPACE_TARGET,
            access: Access::Writable,
            mounts: &[],
            relative_to: &workspace,
            reserved: std::slice::from_ref(&artifacts),
        });
        let sources = Arc::new(Sources::new(Arc::new(Policy::default()), Arc::new(opened.unwrap())));
        let covered = Arc::clone(&sources);
        let execution = Execution::covering(
            Arc::clone(&backend),
            plan.clone(),
            Some((covered, artifacts.clone())),
            Guards::default(),
        );
        let place = Arc::new(Directories::new(&plan));
        let spill = Arc::new(Files(artifacts.clone()));
        let bash = Bash::new(
            execution.clone(),
            Arc::clone(&place) as Arc<dyn Whereabouts>,
            Arc::clone(&spill) as Arc<dyn Spill>,
            BashLimits::default(),
            Arc::clone(&sources),
        );
        Self {
            backend,
            workspace,
            artifacts,
            plan,
            execution,
            place,
            spill,
            bash,
            sources,
            label: Label::bottom(),
            calls: AtomicU32::new(1),
            _root: root,
        }
    }

    pub(crate) fn next_output(&self, tool: &str) -> String {
        format!("run-1:{tool}:{}", self.calls.fetch_add(1, Ordering::Relaxed))
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &dyn Tool, input: Value) -> ToolOutput {
        self.call_of(tool, input, &self.label).await
    }

    /// Calls a tool, with arguments of a label.
    pub(crate) async fn call_of(&self, tool: &dyn Tool, input: Value, label: &Label) -> ToolOutput {
        let output_id = self.next_output(tool.spec().name);
        let input: &Map<String, Value> = input.as_object().unwrap();
        let context = ToolCallContext { call_id: "call", output_id: &output_id, input, label };
        tool.call(context).await.unwrap()
    }

    /// Runs a command line; what the record says.
    pub(crate) async fn sh(&self, command: &str) -> Value {
        self.call(&self.bash, serde_json::json!({ "command": command })).await.record
    }

    /// Runs a command line that must succeed; its output without the last line end.
    pub(crate) async fn out(&self, command: &str) -> String {
        let record = self.sh(command).await;
        assert_eq!(record["exitCode"], 0, "{command}: {record}");
        record["stdout"].as_str().unwrap().trim_end().to_owned()
    }
}

/// Tests of commands, by every caller and in every sandbox; those that measure their process have one of their own.
macro_rules! in_rooms {
    (@run $name:ident, $start:ident) => {
        $crate::support::room::run(
            fullsend_testkit::test_name!(), $crate::support::room::$start, super::$name,
        )
    };
    (@run $name:ident, $start:ident, alone) => {{
        let test = fullsend_testkit::test_name!();
        $crate::support::caller::alone(test, || {
            $crate::support::room::run(test, $crate::support::room::$start, super::$name);
        });
    }};
    ($($name:ident $(= $own:ident)?),* $(,)?) => {
        mod local {
            $(#[test] fn $name() {
                $crate::support::room::in_rooms!(@run $name, local $(, $own)?);
            })*
        }
        mod ordinary {
            $(#[test] fn $name() {
                let test = fullsend_testkit::test_name!();
                $crate::support::caller::as_ordinary_user(test, || {
                    $crate::support::room::run(test, $crate::support::room::local, super::$name);
                });
            })*
        }
        mod docker {
            $(#[test] fn $name() {
                $crate::support::room::in_rooms!(@run $name, docker $(, $own)?);
            })*
        }
    };
}
pub(crate) use in_rooms;

/// A number of this process that `/proc/self/status` tells.
pub(crate) fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How many files this process has open.
pub(crate) fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Whether a process with `word` in its command line runs on the host.
pub(crate) fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(word))
}

/// Waits until a process is gone; hangs, and thereby fails, if it stays.
pub(crate) async fn expect_gone(word: &str) {
    while runs(word) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
