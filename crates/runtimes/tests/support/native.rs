//! What a test of the built-in agent starts with: a stage, a session, a script, and ears for what the model is sent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fullsend_agent::budget::Limits;
use fullsend_agent::gate::FlowMode;
use fullsend_agent::scene::ChosenModel;
use fullsend_flow::Policy;
use fullsend_guard::hook::{Checks, Hook, HookConfig, Runtime};
use fullsend_guard::{FindingsLog, SystemClock, TraceId};
use fullsend_model::{Completion, Message, ModelClient, ModelError, ModelRequest, Pending, Progress, Replay};
use fullsend_runtimes::{
    AgentRuntime as _, AgentText, Bootstrap, Cancel, Ended, HookDesk, Iteration, Native, NativeConfig, Place,
    RuntimeError, RuntimeEvent, SkillFetcher, Stage, Wanted, cancellation,
};
use fullsend_sandbox::{
    LocalBackend, LocalConfig, NetworkPolicy, ResourceLimits, SandboxBackend, SandboxError, SandboxSpec,
};
use fullsend_testkit::declare_skip;
use serde_json::Value;

/// What the model was sent: the messages of each request, and the names of the tools of the last.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) requests: Vec<Vec<Message>>,
    pub(crate) tools: Vec<String>,
}

impl Heard {
    /// The last request, as text.
    pub(crate) fn last(&self) -> String {
        format!("{:?}", self.requests.last().unwrap())
    }
}

/// A script, and ears.
#[derive(Debug)]
struct Overheard {
    script: Replay,
    heard: Arc<Mutex<Heard>>,
}

impl ModelClient for Overheard {
    fn provider(&self) -> &'static str {
        self.script.provider()
    }

    fn complete<'a>(
        &'a self,
        request: ModelRequest<'a>,
        progress: &'a mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Pending<'a, Result<Completion, ModelError>> {
        let mut heard = self.heard.lock().unwrap();
        heard.requests.push(request.conversation.messages().to_vec());
        heard.tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
        drop(heard);
        self.script.complete(request, progress)
    }
}

/// What a test may change before the agent runs.
pub(crate) struct Setup {
    pub(crate) script: String,
    pub(crate) agent: AgentText,
    pub(crate) checks: Checks,
    pub(crate) hooks: bool,
    /// Files of the repository.
    pub(crate) repo: Vec<(&'static str, String)>,
    /// Skills of the harness: name and text.
    pub(crate) skills: Vec<(&'static str, String)>,
    pub(crate) timeout: Duration,
    pub(crate) mode: FlowMode,
    pub(crate) policy: Policy,
    pub(crate) result: Option<Value>,
    pub(crate) runtime: Runtime,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            script: String::new(),
            agent: AgentText {
                name: "triage".to_owned(),
                source: "---\nname: triage\n---\nBe thorough.\n".to_owned(),
                instructions: "Be thorough.".to_owned(),
                ..AgentText::default()
            },
            checks: Checks::default(),
            hooks: true,
            repo: vec![("README.md", "hello\n".to_owned())],
            skills: Vec::new(),
            timeout: Duration::from_secs(120),
            mode: FlowMode::EnforceExplicit,
            policy: Policy::default(),
            result: None,
            runtime: Runtime::Native,
        }
    }
}

/// A run under way.
pub(crate) struct Room {
    pub(crate) native: Native,
    pub(crate) place: Place,
    pub(crate) heard: Arc<Mutex<Heard>>,
    pub(crate) findings: PathBuf,
    agent: AgentText,
    timeout: Duration,
    result: Option<Value>,
    root: tempfile::TempDir,
}

/// How one iteration went.
pub(crate) struct Went {
    pub(crate) ended: Result<Ended, RuntimeError>,
    pub(crate) events: Vec<RuntimeEvent>,
}

/// Runs `body` in a room.
pub(crate) fn with_room(test: &'static str, setup: Setup, body: impl AsyncFnOnce(&mut Room)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let root = tempfile::tempdir().unwrap();
        let state_dir = root.path().join("state");
        fs::create_dir(&state_dir).unwrap();
        let backend = match LocalBackend::start(LocalConfig { state_dir, ..LocalConfig::default() }) {
            Ok(backend) => Arc::new(backend),
            Err(error @ SandboxError::Unsupported { .. }) => return declare_skip(test, &error.to_string()),
            Err(error) => panic!("the backend does not start: {error}"),
        };
        let mut room = Room::new(setup, backend, root).await;
        tokio::time::timeout(Duration::from_secs(300), body(&mut room)).await.expect("the test hangs");
        room.place.backend.terminate(&room.place.session).await.unwrap();
    });
}

impl Room {
    async fn new(setup: Setup, backend: Arc<dyn SandboxBackend>, root: tempfile::TempDir) -> Self {
        let stage_root = root.path().join("stage");
        fs::create_dir(&stage_root).unwrap();
        let stage = Stage::create(&stage_root, "project").unwrap();
        write(&stage.fixed().join("env"), "");
        for (path, text) in &setup.repo {
            write(&stage.repo().join(path), text);
        }
        let skills: Vec<PathBuf> = setup
            .skills
            .iter()
            .map(|(name, text)| {
                let directory = root.path().join("harness").join(name);
                write(&directory.join("SKILL.md"), text);
                directory
            })
            .collect();
        let heard = Arc::new(Mutex::default());
        let script = Replay::from_text(Path::new("script.yaml"), setup.script.as_str()).unwrap();
        let client = Arc::new(Overheard { script, heard: Arc::clone(&heard) });
        let config = NativeConfig {
            model: ChosenModel {
                client,
                name: "scripted".to_owned(),
                url: "script".to_owned(),
                auth: "replay",
            },
            limits: Limits::default(),
            mode: setup.mode,
            policy: setup.policy,
            extra_roots: Vec::new(),
        };
        let native =
            if setup.runtime == Runtime::Replay { Native::replay(config) } else { Native::new(config) };
        let wanted = Wanted::default();
        let equipment = native
            .bootstrap(&Bootstrap {
                stage: &stage,
                agent: &setup.agent,
                skills: &skills,
                plugins: &[],
                hooks: setup.hooks,
                wanted: &wanted,
            })
            .unwrap();
        let mut mounts = stage.mounts(&native.config_dir());
        mounts.extend(equipment.mounts);
        let limits = ResourceLimits { wall_time: Some(Duration::from_secs(60)), ..ResourceLimits::default() };
        let spec =
            SandboxSpec { mounts, limits, network_policy: NetworkPolicy::none(), ..SandboxSpec::default() };
        let session = backend.provision(spec.clone()).await.unwrap().id;
        let findings = root.path().join("findings.jsonl");
        let log = FindingsLog::create(&findings, TraceId::generate(), Arc::new(SystemClock)).unwrap();
        let hook =
            Hook::new(HookConfig { runtime: setup.runtime, checks: setup.checks, ..HookConfig::default() });
        let hook = hook.unwrap();
        let desk = HookDesk { decide: Arc::new(move |phase, input| hook.decide(phase, input)), log };
        let records = root.path().join("records");
        let place = Place {
            stage,
            backend,
            session,
            spec,
            env: BTreeMap::from([("GIVEN".to_owned(), "by the run".to_owned())]),
            hooks: setup.hooks.then_some(desk),
            fetcher: None,
            canaries: Vec::new(),
            records,
        };
        let (agent, timeout, result) = (setup.agent, setup.timeout, setup.result);
        Self { native, place, heard, findings, agent, timeout, result, root }
    }

    /// The first iteration.
    pub(crate) async fn run(&self) -> Went {
        let (_canceller, cancel) = cancellation();
        self.iterate(1, None, cancel).await
    }

    /// Any iteration.
    pub(crate) async fn iterate(&self, number: u32, feedback: Option<&str>, cancel: Cancel) -> Went {
        let wanted = Wanted::default();
        let stream = self.root.path().join(format!("stream-{number}.jsonl"));
        let debug_log = self.root.path().join("debug.log");
        let iteration = Iteration {
            number,
            agent: &self.agent,
            prompt: "Do the task.".to_owned(),
            feedback: feedback.map(str::to_owned),
            wanted: &wanted,
            result: self.result.as_ref().map(|schema| (schema, "agent-result.json")),
            timeout: self.timeout,
            cancel,
            stream: &stream,
            debug_log: &debug_log,
        };
        let mut events = Vec::new();
        let mut watch = |event| events.push(event);
        let ended = self.native.run(&self.place, &iteration, &mut watch).await;
        Went { ended, events }
    }

    /// What is on record of the findings.
    pub(crate) fn findings(&self) -> String {
        fs::read_to_string(&self.findings).unwrap_or_default()
    }

    /// The journal, and every result that is kept.
    pub(crate) fn kept(&self) -> String {
        fn all(directory: &Path, text: &mut String) {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    all(&path, text);
                } else {
                    text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
                }
            }
        }
        let mut text = String::new();
        all(&self.place.records, &mut text);
        text
    }

    /// The messages of a request by its number.
    pub(crate) fn request(&self, number: usize) -> Vec<Message> {
        self.heard.lock().unwrap().requests[number].clone()
    }

    /// The last request, as text.
    pub(crate) fn last_request(&self) -> String {
        self.heard.lock().unwrap().last()
    }

    /// Lets the agent fetch skills.
    pub(crate) fn fetch_with(&mut self, fetcher: Arc<dyn SkillFetcher>) {
        self.place.fetcher = Some(fetcher);
    }

    /// Replaces who decides about calls.
    pub(crate) fn decide_with(&mut self, decide: Arc<fullsend_guard::service::Decide>) {
        self.place.hooks.as_mut().unwrap().decide = decide;
    }
}

/// Writes a file and the directories above it.
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
