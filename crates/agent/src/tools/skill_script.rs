//! `run_skill_script`: a script of an activated skill, in the sandbox of the run and nowhere else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fullsend_flow::{Deed, Label};
use fullsend_sandbox::{ByteString, ExecRequest, SandboxError};
use serde_json::{Map, Value, json};

use super::outcome::{self, Protected};
use crate::execution::{Capture, CaptureLimits, Captured, Execution, Spill, Whereabouts};
use crate::sidecar::{Invocation, Operation};
use crate::sources::Sources;
use crate::store::Row;
use crate::tool::{
    Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec,
};

/// When a call says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// Whatever a call says, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;
/// What every result is called.
const TYPE: &str = "fullsend.run-skill-script-output";

/// Knows the skills of the run, and which of their scripts may be run.
pub trait ScriptSource: fmt::Debug + Send + Sync {
    /// Checks that a script may be run and is what it was at the start of the run.
    fn prepare(&self, skill: &str, path: &str, args: &[String]) -> Result<Prepared, Refusal>;
}

/// A script that may be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// `deno` or `shebang`.
    pub runtime: String,
    /// The interpreter and its arguments.
    pub argv: Vec<String>,
    /// The text of the script. It is fed to the interpreter: the file could be changed after it was checked.
    pub stdin: Vec<u8>,
    /// Variables that tell the script who it is.
    pub environment: BTreeMap<String, String>,
    /// Where the sandbox sees the file.
    pub sandbox_path: String,
    /// `sha256:` and 64 digits, of the text; the same as at the start of the run.
    pub digest: String,
    /// Where the text came from.
    pub label: Label,
}

/// Why a script is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A stable name, such as `script_not_allowlisted`.
    pub code: String,
    /// In words.
    pub message: String,
}

/// The tool.
#[derive(Debug)]
pub struct SkillScript {
    spec: ToolSpec,
    execution: Execution,
    place: Arc<dyn Whereabouts>,
    spill: Arc<dyn Spill>,
    source: Arc<dyn ScriptSource>,
    sources: Arc<Sources>,
}

/// What a call asks for.
struct Call<'a> {
    skill: &'a str,
    path: &'a str,
    args: Vec<String>,
    cwd: Option<&'a str>,
    timeout: Duration,
}

impl<'a> Call<'a> {
    fn read(input: &'a Map<String, Value>) -> Self {
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        let args = input.get("args").and_then(Value::as_array).into_iter().flatten();
        let asked = input.get("timeoutMs").and_then(Value::as_u64);
        Self {
            skill: text("skill").unwrap_or_default(),
            path: text("path").unwrap_or_default(),
            args: args.filter_map(Value::as_str).map(str::to_owned).collect(),
            cwd: text("cwd"),
            timeout: asked.map_or(DEFAULT_TIMEOUT, |asked| Duration::from_millis(asked.min(MAX_TIMEOUT_MS))),
        }
    }
}

impl SkillScript {
    /// Runs the scripts of `source` in `execution`.
    pub fn new(
        execution: Execution,
        place: Arc<dyn Whereabouts>,
        spill: Arc<dyn Spill>,
        source: Arc<dyn ScriptSource>,
        sources: Arc<Sources>,
    ) -> Self {
        Self { spec: spec(sources.has_network()), execution, place, spill, source, sources }
    }

    async fn run(&self, context: ToolCallContext<'_>) -> Result<ToolOutput, ToolFault> {
        let call = Call::read(context.input);
        // Not the current directory: what a script does must not depend on what was done before.
        let start = call.cwd.map_or_else(|| Some(self.place.home()), |asked| self.place.resolve(asked));
        let Some(start) = start else {
            let message = format!("cwd is outside the sandbox: {}", call.cwd.unwrap_or_default());
            return Ok(refused(&context, &call, refusal("script_path_invalid", message)));
        };
        let prepared = match self.source.prepare(call.skill, call.path, &call.args) {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(refused(&context, &call, refusal)),
        };
        let label = self.sources.command(&context.label.join(&prepared.label));
        self.sources.will_run(&label);
        match self.execute(&context, &call, &prepared, &start).await {
            Ok(mut captured) => {
                let (labels, compared) = (captured.labels.clone(), std::mem::take(&mut captured.compared));
                let output = executed(&context, &call, &prepared, &start, captured);
                let mut output = ToolOutput { label, ..output };
                let mode = self.execution.protection_mode();
                let tool = self.spec.name;
                outcome::protect(
                    Protected { tool, compared: &compared, label: context.label, mode },
                    &mut output,
                );
                Ok(outcome::mediate(labels.as_ref(), output))
            }
            Err(ToolFault::Sandbox(SandboxError::NotPrepared(message))) => {
                Ok(refused(&context, &call, refusal("sandbox_not_prepared", message)))
            }
            Err(ToolFault::Sandbox(SandboxError::InvalidRequest(message))) => {
                Ok(refused(&context, &call, refusal("script_path_invalid", message)))
            }
            Err(ToolFault::Sandbox(error @ SandboxError::NotStarted { .. })) => {
                Ok(refused(&context, &call, refusal("unsupported_runtime", error.to_string())))
            }
            Err(fault) => Err(fault),
        }
    }

    async fn execute(
        &self,
        context: &ToolCallContext<'_>,
        call: &Call<'_>,
        prepared: &Prepared,
        start: &str,
    ) -> Result<Captured, ToolFault> {
        let (program, arguments) =
            prepared.argv.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let request = ExecRequest {
            cwd: Some(start.to_owned()),
            timeout: Some(call.timeout),
            stdin: Some(ByteString(prepared.stdin.clone())),
            env: prepared.environment.clone(),
            ..ExecRequest::new(program, arguments.iter().cloned())
        };
        let capture = Capture {
            output_id: context.output_id,
            limits: CaptureLimits::default(),
            spill: self.spill.as_ref(),
            listener: None,
        };
        let invocation = Invocation {
            tool_id: "run_skill_script",
            tool_output_id: Some(context.output_id),
            operation: Operation::Command,
            cwd: start,
            cwd_is_chosen: call.cwd.is_some(),
            command: None,
            argv: Some(&prepared.argv),
            args: Some(&call.args),
            stdin: None,
            env: Some(&prepared.environment),
            label: context.label,
        };
        let mut captured = self.execution.run_labelled(request, capture, &invocation).await?;
        if captured.exit.timed_out {
            outcome::add_timeout_notice(&mut captured.stderr, call.timeout.as_millis());
        }
        Ok(captured)
    }
}

impl Tool for SkillScript {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(self.run(context))
    }
}

fn spec(network: bool) -> ToolSpec {
    ToolSpec {
        name: "run_skill_script",
        description:
            "Runs a script of an activated skill in the sandbox. Starts in the workspace, or in `cwd`."
                .to_owned(),
        effect: Effect::SideEffect,
        deed: Deed::Execute { network },
        sinks: &[Sink::Program("skill"), Sink::Program("path"), Sink::Program("args")],
        parameters: json!({
            "type": "object",
            "properties": {
                "skill": { "type": "string", "description": "The name of the skill." },
                "path": { "type": "string", "description": "The script, such as `scripts/check.sh`." },
                "args": { "type": "array", "items": { "type": "string" } },
                "cwd": { "type": "string" },
                "timeoutMs": { "type": "integer", "minimum": 0, "maximum": MAX_TIMEOUT_MS },
            },
            "required": ["skill", "path"],
            "additionalProperties": false,
        }),
    }
}

fn refusal(code: &str, message: String) -> Refusal {
    Refusal { code: code.to_owned(), message }
}

/// What every result starts with.
fn record(context: &ToolCallContext<'_>, call: &Call<'_>, status: &str) -> Map<String, Value> {
    let record = json!({
        "type": TYPE,
        "outputId": context.output_id,
        "skill": call.skill,
        "path": call.path,
        "status": status,
        "executionTarget": "sandbox",
    });
    if let Value::Object(record) = record { record } else { Map::new() }
}

fn refused(context: &ToolCallContext<'_>, call: &Call<'_>, refusal: Refusal) -> ToolOutput {
    let mut record = record(context, call, "error");
    let line = format!("{} of {}: {}", call.path, call.skill, refusal.code);
    let kind = match refusal.code.as_str() {
        "unsupported_runtime" => "missing_binary",
        "permission_denied" => "permission_denied",
        "script_not_allowlisted" | "skill_not_activated" => "tool_not_allowed",
        _ => "harness_error",
    };
    let failure = ToolFailure {
        kind: kind.to_owned(),
        detail: format!("the script was not run: {}", refusal.code),
        exit_code: None,
    };
    record.insert("error".to_owned(), json!({ "code": refusal.code, "message": refusal.message }));
    output(context, record, Some(failure), line)
}

fn executed(
    context: &ToolCallContext<'_>,
    call: &Call<'_>,
    prepared: &Prepared,
    start: &str,
    captured: Captured,
) -> ToolOutput {
    let mut record = record(context, call, "executed");
    for (name, value) in [
        ("runtime", json!(prepared.runtime)),
        ("argv", json!(prepared.argv)),
        ("args", json!(call.args)),
        ("cwd", json!(start)),
        ("sandboxResourcePath", json!(prepared.sandbox_path)),
        ("registryDigest", json!(prepared.digest)),
        ("observedDigest", json!(prepared.digest)),
        ("digestMatchesRegistry", json!(true)),
        ("sizeBytes", json!(prepared.stdin.len())),
    ] {
        record.insert(name.to_owned(), value);
    }
    let exit_code = captured.exit.exit_code;
    let failure = captured.exit.timed_out.then(|| ToolFailure {
        kind: "timeout".to_owned(),
        detail: "the script ran out of time".to_owned(),
        exit_code: Some(exit_code),
    });
    outcome::describe(captured, &mut record);
    output(context, record, failure, format!("{} of {} (exit {exit_code})", call.path, call.skill))
}

fn output(
    context: &ToolCallContext<'_>,
    mut record: Map<String, Value>,
    failure: Option<ToolFailure>,
    line: String,
) -> ToolOutput {
    record.insert("diagnostics".to_owned(), json!([]));
    // The log of executions does without what was printed.
    let mut execution = record.clone();
    execution.insert("type".to_owned(), json!("fullsend.skill-script-execution"));
    execution.retain(|key, _| key != "stdout" && key != "stderr");
    ToolOutput {
        record: Value::Object(record),
        model_view: None,
        withheld: false,
        label: context.label.clone(),
        images: Vec::new(),
        failure,
        shown: Shown { line, diff: None },
        rows: vec![Row::SkillExecuted { execution }],
    }
}
