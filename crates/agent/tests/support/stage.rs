//! A run with a scripted model and tools whose results have known labels.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use fullsend_agent::budget::{Budget, Limits};
use fullsend_agent::engine::{Engine, Finished, Opening, RunParts};
use fullsend_agent::gate::{FlowMode, PromptRole};
use fullsend_agent::hooks::CallHooks;
use fullsend_agent::sources::{Provenance, Sources};
use fullsend_agent::store::{
    KeptMessage, PolicyDecision, PolicyEvent, Recorded, RecordedSettings, Row, RunStore,
};
use fullsend_agent::tool::{AttachedImage, Pending, Sink};
use fullsend_agent::toolbox::Toolbox;
use fullsend_agent::workspace::{Access, CurrentDir, WorkspacePlan};
use fullsend_agent::{
    Effect, Shown, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec, Workspace,
};
use fullsend_flow::{Deed, Label, Policy, Source};
use fullsend_guard::SystemClock;
use fullsend_model::{
    AssistantMessage, Completion, FinishReason, Message, ModelClient, ModelError, ModelRequest, Progress,
    ToolCall, Usage,
};
use serde_json::{Map, Value, json};

/// What is in `.env`.
pub(crate) const SECRET: &str = "swordfish-4711";

/// The calls of one answer: tools and arguments.
pub(crate) type Answer = Vec<(&'static str, Value)>;

/// A tool that was called, and with what.
type MadeCall = (String, Map<String, Value>);

/// What a run is given, besides its script.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) root: PathBuf,
    pub(crate) held: Arc<tempfile::TempDir>,
    pub(crate) policy: Policy,
    pub(crate) mode: FlowMode,
    pub(crate) role: PromptRole,
    pub(crate) network: bool,
    pub(crate) hooks: Option<Arc<dyn CallHooks>>,
    pub(crate) script: Vec<Answer>,
    /// The calls that reached a tool.
    pub(crate) made: Arc<Mutex<Vec<MadeCall>>>,
}

impl Stage {
    pub(crate) fn new(script: Vec<Answer>) -> Self {
        let held = tempfile::tempdir().unwrap();
        let root = held.path().canonicalize().unwrap();
        let work = root.join("work");
        std::fs::create_dir_all(work.join(".github")).unwrap();
        std::fs::create_dir_all(work.join("docs")).unwrap();
        std::fs::write(work.join(".github/ci.yml"), "on: push\n").unwrap();
        std::os::unix::fs::symlink("../.github/ci.yml", work.join("docs/notes.md")).unwrap();
        std::fs::create_dir_all(root.join("runs")).unwrap();
        Self {
            root,
            held: Arc::new(held),
            policy: Policy::default(),
            mode: FlowMode::EnforceExplicit,
            role: PromptRole::DirectCommand,
            network: false,
            hooks: None,
            script,
            made: Arc::default(),
        }
    }

    pub(crate) fn policy(mut self, policy: Value) -> Self {
        self.policy = serde_json::from_value(policy).unwrap();
        assert_eq!(self.policy.problems(), []);
        self
    }

    fn settings(&self) -> RecordedSettings {
        RecordedSettings {
            start_dir: "/workspace".to_owned(),
            flow_mode: self.mode,
            prompt_role: self.role,
            flow_policy: self.policy.clone(),
            ..RecordedSettings::default()
        }
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.root.join("runs/run-1")
    }

    fn parts(&self, store: RunStore, budget: Budget, facts: &[Provenance]) -> RunParts {
        let workspace = Workspace::open(&WorkspacePlan {
            root: &self.root.join("work"),
            target: fullsend_agent::workspace::WORKSPACE_TARGET,
            access: Access::Writable,
            mounts: &[],
            relative_to: &self.root,
            reserved: &[self.root.join("runs")],
        });
        let artifacts = store.artifacts().clone();
        let mut toolbox = Toolbox::default();
        for kind in Prop::ALL {
            let prop = kind.tool(self.policy.clone(), self.made.clone(), artifacts.clone());
            toolbox.add(Arc::new(prop), true).unwrap();
        }
        let (policy, workspace) = (Arc::new(self.policy.clone()), Arc::new(workspace.unwrap()));
        let hosts = self.network.then(|| "internal.example".to_owned()).into_iter().collect();
        let sources = Sources::new(policy.clone(), workspace.clone()).with_hosts(&hosts);
        RunParts {
            model: Arc::new(Scripted(self.script.clone())),
            model_name: "scripted".to_owned(),
            toolbox,
            native_tools: Vec::new(),
            store,
            mode: self.mode,
            role: self.role,
            policy,
            sources: Arc::new(sources.recalling(facts)),
            workspace,
            budget,
            structured: None,
            current_dir: CurrentDir::default(),
            hooks: self.hooks.clone(),
        }
    }

    /// Runs the script to its end.
    pub(crate) fn run(&self) -> Ran {
        let store = RunStore::create(
            &self.root.join("runs"),
            "run-1".parse().unwrap(),
            &self.settings(),
            Arc::new(SystemClock),
        );
        let limits = Limits { turns: 50, ..Limits::default() };
        let budget = Budget::new(limits, 0, Usage::default(), 0, std::time::Duration::ZERO);
        let parts = self.parts(store.unwrap(), budget, &[]);
        let commanded = self.role == PromptRole::DirectCommand;
        let say = |kept, label| Opening { kept, label, rows: Vec::new() };
        let prompt = KeptMessage::User { content: "Do it.".to_owned(), image_attachments: Vec::new() };
        let opening = vec![
            say(KeptMessage::System { content: "You are an agent.".to_owned() }, Label::bottom()),
            say(prompt, self.policy.label_of(Source::Prompt { commanded })),
        ];
        let mut watch = |_: fullsend_agent::event::Event<'_>| {};
        let mut engine = Engine::new(parts, &mut watch);
        engine.open(opening).unwrap();
        self.finish(engine)
    }

    /// Goes on with the run in a directory.
    pub(crate) fn resume(&self, run: &Path) -> Ran {
        let (store, recorded) = RunStore::reopen(run, Arc::new(SystemClock)).unwrap();
        let turns = u32::try_from(recorded.turns).unwrap();
        let limits = Limits { turns: 50, ..Limits::default() };
        let budget = Budget::new(limits, turns, Usage::default(), 0, std::time::Duration::ZERO);
        let parts = self.parts(store, budget, &recorded.provenance);
        let mut watch = |_: fullsend_agent::event::Event<'_>| {};
        self.finish(Engine::resume(parts, recorded, &self.settings(), Vec::new(), &mut watch).unwrap())
    }

    fn finish(&self, engine: Engine<'_>) -> Ran {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let finished = runtime.block_on(engine.run(std::future::pending(), async {}));
        assert!(finished.error.is_none(), "{:?}", finished.error);
        assert!(finished.unrecorded.is_none());
        let rows = finished.store.entries().unwrap().into_iter().map(|entry| entry.row).collect();
        Ran { finished, rows, held: self.held.clone() }
    }

    /// The calls that reached a tool, by name.
    pub(crate) fn made(&self) -> Vec<String> {
        self.made.lock().unwrap().iter().map(|(name, _)| name.clone()).collect()
    }
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) finished: Finished,
    pub(crate) rows: Vec<Row>,
    held: Arc<tempfile::TempDir>,
}

impl Ran {
    /// What the model was told about its calls, in order.
    pub(crate) fn results(&self) -> Vec<Value> {
        let content = |row: &Row| {
            let Row::Message { message: KeptMessage::Tool { content, .. }, .. } = row else { return None };
            Some(serde_json::from_str(content).unwrap())
        };
        self.rows.iter().filter_map(content).collect()
    }

    pub(crate) fn decisions(&self) -> Vec<PolicyDecision> {
        let decision = |row: &Row| {
            let Row::Decision(decision) = row else { return None };
            Some((**decision).clone())
        };
        self.rows.iter().filter_map(decision).collect()
    }

    pub(crate) fn events(&self) -> Vec<PolicyEvent> {
        let event = |row: &Row| {
            let Row::PolicyEvent(event) = row else { return None };
            Some((**event).clone())
        };
        self.rows.iter().filter_map(event).collect()
    }

    /// All that the journal and the files that are made of it say, but not the results themselves.
    pub(crate) fn records(&self) -> String {
        let run_dir = self.finished.store.run_dir();
        assert!(run_dir.exists() && self.held.path().exists());
        let mut all = String::new();
        for entry in std::fs::read_dir(run_dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                all.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
        all
    }

    pub(crate) fn recorded(&self) -> Recorded {
        Recorded::read(self.finished.store.run_dir()).unwrap()
    }
}

/// Answers one after the other; `$HANDLE` in an argument is the first handle of the conversation.
#[derive(Debug)]
struct Scripted(Vec<Answer>);

impl ModelClient for Scripted {
    fn complete<'a>(
        &'a self,
        request: ModelRequest<'a>,
        _progress: &'a mut (dyn FnMut(Progress<'_>) + Send),
    ) -> fullsend_model::Pending<'a, Result<Completion, ModelError>> {
        let messages = request.conversation.messages();
        let answered = messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
        let handle = messages.iter().find_map(|message| {
            let Message::Tool { content, .. } = message else { return None };
            let told: Value = serde_json::from_str(content).ok()?;
            Some(told.pointer("/handle/handleId")?.as_str()?.to_owned())
        });
        let handle = handle.unwrap_or_default();
        let calls = self.0.get(answered).cloned().unwrap_or_default();
        let call = |(index, (name, arguments)): (usize, &(&str, Value))| ToolCall {
            id: format!("call-{}-{index}", answered + 1),
            name: (*name).to_owned(),
            arguments: arguments.to_string().replace("$HANDLE", &handle),
        };
        let tool_calls: Vec<ToolCall> = calls.iter().enumerate().map(call).collect();
        let finish = if tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        let message = AssistantMessage { content: format!("answer {}", answered + 1), tool_calls };
        let completion = Completion { message, finish, usage: Usage::default(), attempts: Vec::new() };
        Box::pin(async move { Ok(completion) })
    }

    fn provider(&self) -> &'static str {
        "scripted"
    }
}

/// The kinds of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prop {
    Bash,
    Read,
    Fetch,
    Write,
    View,
}

#[derive(Debug)]
struct PropTool {
    kind: Prop,
    spec: ToolSpec,
    policy: Policy,
    made: Arc<Mutex<Vec<MadeCall>>>,
    artifacts: fullsend_agent::store::Artifacts,
}

impl Prop {
    const ALL: [Self; 5] = [Self::Bash, Self::Read, Self::Fetch, Self::Write, Self::View];

    fn tool(
        self,
        policy: Policy,
        made: Arc<Mutex<Vec<MadeCall>>>,
        artifacts: fullsend_agent::store::Artifacts,
    ) -> PropTool {
        let text = json!({"type": "string", "maxLength": 64});
        let (name, effect, deed, sinks, properties): (_, _, _, &'static [Sink], _) = match self {
            Self::Bash => (
                "bash",
                Effect::SideEffect,
                Deed::Execute { network: false },
                &[Sink::Program("command")],
                json!({"command": text}),
            ),
            Self::Read => (
                "read_file",
                Effect::Read,
                Deed::Look,
                &[Sink::Selector("path")],
                json!({"path": text, "kind": {"enum": ["plain", SECRET, "run-1:read_file:1"]}}),
            ),
            Self::Fetch => ("web_fetch", Effect::Read, Deed::Send, &[Sink::Url("url")], json!({"url": text})),
            Self::Write => (
                "write_file",
                Effect::Write,
                Deed::Change,
                &[Sink::Target("path"), Sink::Content("content")],
                json!({"path": text, "content": {}}),
            ),
            Self::View => {
                ("view_image", Effect::Read, Deed::Look, &[Sink::Selector("path")], json!({"path": text}))
            }
        };
        let parameters = json!({"type": "object", "properties": properties, "additionalProperties": false});
        let spec = ToolSpec { name, description: name.to_owned(), effect, deed, sinks, parameters };
        PropTool { kind: self, spec, policy, made, artifacts }
    }
}

impl PropTool {
    fn output(&self, context: ToolCallContext<'_>) -> ToolOutput {
        let text = |key: &str| context.input.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = context.output_id;
        let path = text("path");
        let (record, label) = match self.kind {
            Prop::Bash => (
                json!({"outputId": id, "stdout": "done\n", "stderr": "", "exitCode": 0}),
                context.label.join(&self.policy.label_of(Source::File(""))),
            ),
            Prop::Read if path.ends_with("missing/.env") => (
                json!({"outputId": id, "ok": false, "error": {"code": "file_not_found"}}),
                self.policy.label_of(Source::File(path)),
            ),
            Prop::Read => (
                json!({"outputId": id, "content": if path.ends_with(".env") { SECRET } else { "text" }}),
                self.policy.label_of(Source::File(path)),
            ),
            Prop::Fetch => {
                let host = text("url").trim_start_matches("https://").split('/').next().unwrap();
                (json!({"outputId": id, "text": "page"}), self.policy.label_of(Source::Web(host)))
            }
            Prop::Write => (json!({"outputId": id, "ok": true}), context.label.clone()),
            Prop::View => (
                json!({"outputId": id, "path": path, "mediaType": "image/png", "imageAttached": true}),
                self.policy.label_of(Source::File(path)),
            ),
        };
        let failure = record.get("error").map(|_| ToolFailure {
            kind: "file_not_found".to_owned(),
            detail: "read_file: the file does not exist".to_owned(),
            exit_code: None,
        });
        let images = if self.kind == Prop::View { vec![self.picture()] } else { Vec::new() };
        // Scripts of skills put their arguments on record, and so does this.
        let execution = json!({"argv": ["sh", context.input]}).as_object().unwrap().clone();
        let rows = if self.kind == Prop::Bash { vec![Row::SkillExecuted { execution }] } else { Vec::new() };
        let shown = Shown { line: format!("{:?}", context.input), diff: None };
        ToolOutput { record, model_view: None, withheld: false, label, images, failure, shown, rows }
    }

    fn picture(&self) -> AttachedImage {
        let bytes = b"\x89PNG\r\n\x1a\n";
        let snapshot = self.artifacts.keep_image(bytes, "image/png").unwrap();
        let name = snapshot.file_name().unwrap().to_str().unwrap();
        let digest = format!("sha256:{}", name.trim_end_matches(".png"));
        let (bytes, name) = (bytes.to_vec(), "picture.png".to_owned());
        AttachedImage { snapshot, bytes, media_type: "image/png", digest, name }
    }
}

impl Tool for PropTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        self.made.lock().unwrap().push((self.spec.name.to_owned(), context.input.clone()));
        let output = self.output(context);
        Box::pin(async move { Ok(output) })
    }
}
