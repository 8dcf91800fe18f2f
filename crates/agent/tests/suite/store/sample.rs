//! A run with something of everything.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use fullsend_agent::Effect;
use fullsend_agent::gate::{FlowMode, PromptRole, Verdict};
use fullsend_agent::mode::ModeSource;
use fullsend_agent::slot::PromptSlot;
use fullsend_agent::store::{
    CallFinished, EndStatus, Ending, EventSeverity, Execution, FailureKind, FailureRecord, KeptMessage,
    MountAccess, PolicyDecision, PolicyEvent, Provenance, RecordedGateway, RecordedLimits, RecordedManifest,
    RecordedMount, RecordedResult, RecordedRoot, RecordedSandbox, RecordedSettings, Row, RunStore,
    TerminalReason, ToolAllowance, ToolResultRef,
};
use fullsend_flow::{Label, LabelId, LabelTable};
use fullsend_guard::Clock;
use fullsend_model::{Attempt, AttemptOutcome, RequestSize, ToolCall, Usage};
use jiff::Timestamp;
use serde_json::{Map, json};

/// A clock that goes on by a second whenever somebody looks.
#[derive(Debug)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.fetch_add(1, Ordering::Relaxed)).unwrap()
    }
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(Ticking(AtomicI64::new(1_790_000_000)))
}

/// A directory for runs.
#[derive(Debug)]
pub(crate) struct Fixture {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        Self { _directory: directory, root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn create(&self, id: &str) -> RunStore {
        RunStore::create(&self.root, id.parse().unwrap(), &settings(), clock()).unwrap()
    }
}

fn words(words: &[&str]) -> std::collections::BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Settings with something in every list.
pub(crate) fn settings() -> RecordedSettings {
    let mount =
        |host: &str, access| RecordedMount { host: host.into(), sandbox: format!("/mnt{host}"), access };
    RecordedSettings {
        workspace: "/home/dev/project".into(),
        start_dir: "/workspace".to_owned(),
        tools: words(&["bash", "edit_file", "read_file"]),
        subagent_profiles: words(&["explore"]),
        skill_scripts: words(&["pdf:scripts/fill.sh"]),
        mounts: vec![mount("/data", MountAccess::ReadWrite), mount("/docs", MountAccess::ReadOnly)],
        sandbox: RecordedSandbox {
            backend: "local".to_owned(),
            image: None,
            runtime: None,
            network_hosts: words(&["api.example.com", "docs.example.com"]),
        },
        model: "model-1".to_owned(),
        gateway: RecordedGateway {
            url: "https://models.example.com/v1".to_owned(),
            auth: "bearer".to_owned(),
        },
        limits: RecordedLimits {
            model_turns: Some(40),
            tool_calls: Some(200),
            total_tokens: Some(1_000_000),
            output_tokens: None,
            cost_usd: Some(2.5),
            seconds: Some(3600),
            output_bytes: Some(1 << 20),
        },
        flow_mode: FlowMode::EnforceExplicit,
        flow_policy: fullsend_flow::Policy::default(),
        canary_file: Some("/canaries".into()),
        prompt_role: PromptRole::DirectCommand,
        skills_roots: vec![RecordedRoot { path: "/skills".into(), digest: "sha256:1".to_owned() }],
        structured_result: Some(RecordedResult {
            path: "/home/dev/project/result.json".into(),
            schema_digest: Some("sha256:2".to_owned()),
        }),
        provenance: Provenance {
            mode_source: ModeSource::RunManifest,
            tool_allowance: ToolAllowance::Restricted,
            prompt_slot: Some(PromptSlot::made_here(
                "cli",
                PromptRole::DirectCommand,
                "/home/dev/project",
                Map::from_iter([("type".to_owned(), "fullsend.cli-input".into())]),
            )),
            run_manifest: Some(RecordedManifest {
                path: "/home/dev/manifest.json".into(),
                digest: "sha256:3".to_owned(),
            }),
        },
    }
}

pub(crate) fn say(turn: u64, label: LabelId, message: KeptMessage) -> Row {
    Row::Message { turn, label, message }
}

pub(crate) fn user(content: &str) -> KeptMessage {
    KeptMessage::User { content: content.to_owned(), image_attachments: Vec::new() }
}

pub(crate) fn assistant(content: &str, calls: &[(&str, &str, &str)]) -> KeptMessage {
    let call = |(id, name, arguments): &(&str, &str, &str)| ToolCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    KeptMessage::Assistant {
        content: content.to_owned(),
        tool_calls: calls.iter().map(call).collect(),
        finish_reason: None,
    }
}

pub(crate) fn result(
    call_id: &str,
    tool: &str,
    content: &str,
    result_ref: Option<ToolResultRef>,
) -> KeptMessage {
    KeptMessage::Tool {
        tool_call_id: call_id.to_owned(),
        tool_name: tool.to_owned(),
        content: content.to_owned(),
        result_ref,
    }
}

pub(crate) fn started(call_id: &str, tool: &str, output_id: &str, effect: Effect) -> Row {
    let input = json!({ "type": "fullsend.tool-input-summary", "toolId": tool, "commandBytes": 2 });
    Row::CallStarted {
        call_id: call_id.to_owned(),
        tool: tool.to_owned(),
        output_id: output_id.to_owned(),
        effect,
        input: input.as_object().unwrap().clone(),
        grants: Vec::new(),
    }
}

pub(crate) fn finished(
    call_id: &str,
    tool: &str,
    output_id: Option<&str>,
    execution: Execution,
) -> CallFinished {
    CallFinished {
        call_id: call_id.to_owned(),
        tool: tool.to_owned(),
        output_id: output_id.map(str::to_owned),
        execution,
        duration_ms: 12,
        artifact: None,
        error_detail: None,
    }
}

pub(crate) fn decision(call_id: &str, tool: &str, verdict: Verdict) -> Row {
    Row::Decision(Box::new(PolicyDecision {
        tool_call_id: call_id.to_owned(),
        tool_id: tool.to_owned(),
        effect_class: Some(Effect::SideEffect),
        cfc_enforcement_mode: FlowMode::EnforceExplicit,
        decision: verdict,
        reason_codes: vec!["cfc_enforce_explicit_direct_command".to_owned()],
        detail: None,
        tool_input_summary: None,
        subagent_profile: None,
        flow: None,
    }))
}

pub(crate) fn attempt(turn: u64) -> Row {
    Row::ModelAttempt {
        turn,
        attempt: Box::new(Attempt {
            endpoint: "https://models.example.com/v1/chat/completions".to_owned(),
            attempt: 1,
            max_attempts: 3,
            started_at: "2026-09-21T13:33:20.000Z".to_owned(),
            ended_at: "2026-09-21T13:33:21.000Z".to_owned(),
            first_byte_ms: Some(700),
            duration_ms: 1000,
            request: RequestSize::default(),
            outcome: AttemptOutcome::HttpResponse,
            http_status: Some(200),
            request_id: None,
            response_headers: std::collections::BTreeMap::new(),
            response_body_bytes: None,
            response_body_excerpt: None,
            response_body_truncated: None,
            error_detail: None,
        }),
    }
}

pub(crate) fn usage(turn: u64, tokens: u64) -> Row {
    let usage = Usage { input_tokens: Some(tokens), cost_usd: Some(0.5), ..Usage::default() };
    Row::Usage { turn, usage }
}

/// A label that is not in every table, on record.
pub(crate) fn untrusted(store: &mut RunStore, table: &mut LabelTable) -> LabelId {
    let (id, _) = table.number(&Label::untrusted());
    store.record_labels(table).unwrap();
    id
}

/// A run with two calls, of which one is denied, that ends well.
pub(crate) fn full_run(store: &mut RunStore) {
    rows_of_a_run(store);
    store
        .end(&Ending {
            status: EndStatus::Completed,
            terminal_reason: TerminalReason::AssistantCompleted,
            detail: None,
        })
        .unwrap();
}

pub(crate) fn rows_of_a_run(store: &mut RunStore) {
    let mut table = LabelTable::default();
    let untrusted = untrusted(store, &mut table);
    let bash = store.next_output_id("bash");
    let artifact = store.write_output(&bash, "bash", &json!({ "outputId": bash })).unwrap();
    let artifact = store.artifacts().relative(&artifact);
    let reference = ToolResultRef {
        output_id: bash.clone(),
        tool_id: "bash".to_owned(),
        run_id: store.run_id().clone(),
        artifact_path: Some(artifact.clone()),
    };
    let denied = PolicyEvent {
        severity: EventSeverity::Denied,
        mode: FlowMode::EnforceExplicit,
        tool_id: "write_file".to_owned(),
        tool_call_id: Some("c2".to_owned()),
        detail: "not in the list of tools".to_owned(),
        tool_input_summary: None,
        observation_denied: None,
    };
    let activation = Map::from_iter([("name".to_owned(), json!("pdf"))]);
    let rows = [
        say(0, LabelId::BOTTOM, KeptMessage::System { content: "Be brief.".to_owned() }),
        Row::SkillActivated { activation },
        say(0, LabelId::BOTTOM, user("What is here?")),
        attempt(1),
        usage(1, 100),
        say(
            1,
            LabelId::BOTTOM,
            assistant("", &[("c1", "bash", "{\"command\":\"ls\"}"), ("c2", "write_file", "{")]),
        ),
        decision("c1", "bash", Verdict::Allowed),
        started("c1", "bash", &bash, Effect::SideEffect),
        Row::Cwd { path: "/workspace/src".to_owned() },
        Row::CallFinished(CallFinished {
            artifact: Some(artifact),
            ..finished("c1", "bash", Some(&bash), Execution::Completed)
        }),
        say(1, untrusted, result("c1", "bash", "{\"stdout\":\"a\\nb\"}", Some(reference))),
        decision("c2", "write_file", Verdict::Denied),
        Row::PolicyEvent(Box::new(denied)),
        Row::CallFinished(finished("c2", "write_file", None, Execution::NotRun)),
        say(1, LabelId::BOTTOM, result("c2", "write_file", "{\"error\":\"denied\"}", None)),
        Row::Failure(Box::new(FailureRecord::of_run(FailureKind::HarnessError, "nothing much"))),
        attempt(2),
        usage(2, 50),
        say(2, untrusted, assistant("Two files: ä and 界.", &[])),
    ];
    for row in &rows {
        store.append(row).unwrap();
    }
}
