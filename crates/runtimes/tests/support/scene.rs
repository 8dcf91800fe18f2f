//! A run of a real command-line agent in a sandbox: everything is real but the model.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fullsend_guard::hook::{CanaryCheck, Checks, Hook, HookConfig, Runtime};
use fullsend_guard::service::{Decide, Limits, SOCKET, Service, ServiceConfig};
use fullsend_guard::{FindingsLog, SystemClock, TraceId};
use fullsend_runtimes::{
    AgentRuntime, AgentText, Bootstrap, Cancel, Ended, Equipment, HOOK_SERVICE, HookDesk, Iteration,
    ModelService, Place, RuntimeError, RuntimeEvent, Stage, Wanted, cancellation,
};
use fullsend_sandbox::{FilesystemMount, LocalBackend, LocalConfig, SandboxBackend, SandboxSpec, Secret};
use fullsend_testkit::declare_skip;
use fullsend_testkit::gateway::{Dialect, GatewayRequest, ModelScript, ScriptedGateway};
use fullsend_testkit::programs::Program;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What is planted to be found where it must not be.
pub(crate) const CANARY: &str = "planted-4b1d7e0f92c64a55";
/// After this a program counts as hanging.
const PATIENCE: Duration = Duration::from_secs(240);

/// Makes a runtime from its program and the way to its model.
pub(crate) type Make = fn(&Path, ModelService) -> Result<Box<dyn AgentRuntime>, RuntimeError>;

/// A runtime under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) runtime: Runtime,
    pub(crate) program: Program,
    /// The model, for programs that behave differently with different ones.
    pub(crate) model: Option<&'static str>,
    pub(crate) make: Make,
}

impl Kind {
    /// A call of its shell.
    pub(crate) fn shell(&self, command: &str) -> (String, Value) {
        (self.program.shell)(command)
    }
}

/// What a test gives an agent.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) wanted: Wanted,
    pub(crate) agent: AgentText,
    /// Files of the repository, beside an ordinary one.
    pub(crate) files: Vec<(&'static str, String)>,
    pub(crate) feedback: Option<String>,
}

/// A run that is ready to begin.
pub(crate) struct Scene {
    pub(crate) runtime: Box<dyn AgentRuntime>,
    pub(crate) place: Place,
    pub(crate) gateway: ScriptedGateway,
    pub(crate) log: PathBuf,
    plan: Plan,
    dialect: Dialect,
    service: Service,
    root: TempDir,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) ended: Ended,
    pub(crate) events: Vec<RuntimeEvent>,
    /// Requests to the model.
    pub(crate) requests: Vec<GatewayRequest>,
    /// What the tools returned, as the model was last told.
    pub(crate) results: Vec<String>,
    /// The raw stream.
    pub(crate) stream: String,
}

/// Runs `body` with a runtime of its own; or says why this machine cannot.
pub(crate) fn with(
    test: &str,
    kind: &Kind,
    plan: impl FnOnce(&Kind) -> Plan,
    body: impl AsyncFnOnce(&Scene),
) {
    let program = match kind.program.find() {
        Ok(program) => program,
        Err(why) => return declare_skip(test, &why),
    };
    let hook = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("fullsend");
    if !hook.exists() {
        return declare_skip(
            test,
            &format!("`{}` is not there; `cargo build -p fullsend` makes it", hook.display()),
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        let config = LocalConfig { state_dir: state, ..LocalConfig::default() };
        let backend = match LocalBackend::start(config) {
            Ok(backend) => Arc::new(backend),
            Err(error) => return declare_skip(test, &error.to_string()),
        };
        let scene = Scene::new(kind, &program, &hook, plan(kind), backend, root).await;
        tokio::time::timeout(PATIENCE, body(&scene)).await.expect("the test hangs");
        scene.place.backend.terminate(&scene.place.session).await.unwrap();
    });
}

impl Scene {
    async fn new(
        kind: &Kind,
        program: &Path,
        hook: &Path,
        plan: Plan,
        backend: Arc<dyn SandboxBackend>,
        root: TempDir,
    ) -> Self {
        let gateway = ScriptedGateway::start(ModelScript::new(kind.program.dialect, plan.calls.clone()));
        let model = ModelService {
            upstream: format!("{}{}", gateway.url(), kind.program.base),
            headers: vec![(kind.program.header.0.to_owned(), Secret::new(kind.program.authorization()))],
        };
        let runtime = (kind.make)(program, model).unwrap();
        let stage = Stage::create(&root.path().join("stage"), "repo").unwrap();
        for (name, content) in &plan.files {
            let path = stage.repo().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let skill = root.path().join("skills/careful");
        fs::create_dir_all(&skill).unwrap();
        fs::write(
            skill.join("SKILL.md"),
            "---\nname: careful\ndescription: SKILL-OF-THE-HARNESS\n---\nWork.\n",
        )
        .unwrap();
        let input = Bootstrap {
            stage: &stage,
            agent: &plan.agent,
            skills: &[skill],
            plugins: &[],
            hooks: true,
            wanted: &plan.wanted,
        };
        let equipment = runtime.bootstrap(&input).unwrap();
        let log_path = root.path().join("findings.jsonl");
        let log = FindingsLog::create(&log_path, TraceId::generate(), Arc::new(SystemClock)).unwrap();
        let (service, decide) = serve(kind, root.path(), &log);
        deliver(&stage, hook, &equipment);
        let spec = spec(&*runtime, &stage, equipment, &service);
        let session = backend.provision(spec.clone()).await.unwrap().id;
        let place = Place {
            stage,
            backend,
            session,
            spec,
            env: [("FULLSEND_OUTPUT_DIR".to_owned(), "/sandbox/workspace/output".to_owned())].into(),
            hooks: Some(HookDesk { decide, log }),
            records: root.path().join("records"),
            fetcher: None,
            canaries: Vec::new(),
        };
        Self { runtime, place, gateway, log: log_path, plan, dialect: kind.program.dialect, service, root }
    }

    /// One iteration.
    pub(crate) async fn run(&self, timeout: Duration, cancel: Cancel) -> Trial {
        let (stream, debug_log) = (self.root.path().join("output.jsonl"), self.root.path().join("debug.log"));
        let iteration = Iteration {
            number: 1,
            agent: &self.plan.agent,
            prompt: "Run the agent task".to_owned(),
            feedback: self.plan.feedback.clone(),
            wanted: &self.plan.wanted,
            result: None,
            timeout,
            cancel,
            stream: &stream,
            debug_log: &debug_log,
        };
        let mut events = Vec::new();
        let mut watch = |event| events.push(event);
        let ended = self.runtime.run(&self.place, &iteration, &mut watch).await.unwrap();
        let requests = self.gateway.requests();
        let results = requests.iter().map(|request| self.dialect.results(request)).max_by_key(Vec::len);
        let results = results.unwrap_or_default();
        Trial { ended, events, requests, results, stream: fs::read_to_string(&stream).unwrap() }
    }

    /// One iteration to its end.
    pub(crate) async fn run_to_end(&self) -> Trial {
        let (_canceller, cancel) = cancellation();
        self.run(Duration::from_secs(200), cancel).await
    }

    /// The file that the debug log is kept in.
    pub(crate) fn debug_log(&self) -> PathBuf {
        self.root.path().join("debug.log")
    }

    /// Questions that hooks asked so far.
    pub(crate) fn asked(&self) -> u64 {
        self.service.counts().answered
    }
}

/// The service that decides, as a run has it.
fn serve(kind: &Kind, root: &Path, log: &FindingsLog) -> (Service, Arc<Decide>) {
    let canary = CanaryCheck { tokens: vec![CANARY.to_owned()], ..CanaryCheck::default() };
    let config = HookConfig {
        runtime: kind.runtime,
        checks: Checks { canary, ..Checks::default() },
        ..HookConfig::default()
    };
    let hook = Hook::new(config).unwrap();
    let decide: Arc<Decide> = Arc::new(move |phase, input: &[u8]| hook.decide(phase, input));
    let directory = root.join("service");
    let config = ServiceConfig { directory, limits: Limits::default() };
    (Service::start(config, Arc::clone(&decide), log.clone()).unwrap(), decide)
}

/// What a run puts into the stage beside what the runtime does.
fn deliver(stage: &Stage, hook: &Path, equipment: &Equipment) {
    let program = stage.fixed().join("bin/fullsend");
    fs::hard_link(hook, &program).or_else(|_| fs::copy(hook, &program).map(drop)).unwrap();
    let mut env = String::from("export PATH=/sandbox/workspace/bin:$PATH\n");
    for (name, value) in &equipment.env {
        env.push_str(&format!("export {name}='{value}'\n"));
    }
    fs::write(stage.fixed().join("env"), env).unwrap();
    let config = json!({ "service": format!("{HOOK_SERVICE}/{SOCKET}") });
    fs::write(stage.hooks().join("hook.json"), config.to_string()).unwrap();
    fs::set_permissions(stage.hooks().join("hook.json"), fs::Permissions::from_mode(0o644)).unwrap();
}

fn spec(runtime: &dyn AgentRuntime, stage: &Stage, equipment: Equipment, service: &Service) -> SandboxSpec {
    let mut mounts = stage.mounts(&runtime.config_dir());
    mounts.push(FilesystemMount::read_only(service.mount(), HOOK_SERVICE));
    mounts.extend(equipment.mounts);
    SandboxSpec { mounts, endpoints: equipment.endpoints, ..SandboxSpec::default() }
}
