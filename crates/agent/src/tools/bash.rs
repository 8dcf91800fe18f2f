//! `bash`: a command line in the sandbox of the run.

mod script;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fullsend_flow::Deed;
use fullsend_sandbox::{ExecRequest, SandboxError};
use rustix::fs::{FileType, Mode, OFlags};
use serde_json::{Map, Value, json};

use super::outcome::{self, Protected};
use crate::execution::{Capture, CaptureLimits, Captured, Execution, Spill, Whereabouts};
use crate::sidecar::{Invocation, Operation};
use crate::sources::Sources;
use crate::tool::{
    Effect, Pending, Shown, Sink, Tool, ToolCallContext, ToolFailure, ToolFault, ToolOutput, ToolSpec,
};
use script::Script;

/// The shell, where there is one.
const BASH: &str = "/bin/bash";
/// The shell of every system.
const SH: &str = "/bin/sh";
/// The longest path that is taken for a directory.
const LONGEST_PATH: u64 = 4096;
/// How much of a command is shown.
const SHOWN: usize = 100;

/// How long commands may take, and how much of their output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BashLimits {
    /// When a call says nothing.
    pub default_timeout: Duration,
    /// Whatever a call says.
    pub max_timeout: Duration,
    /// How much is kept of each stream.
    pub output: CaptureLimits,
}

impl Default for BashLimits {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_secs(120),
            max_timeout: Duration::from_secs(600),
            output: CaptureLimits::default(),
        }
    }
}

/// The tool.
#[derive(Debug)]
pub struct Bash {
    spec: ToolSpec,
    execution: Execution,
    place: Arc<dyn Whereabouts>,
    spill: Arc<dyn Spill>,
    limits: BashLimits,
    sources: Arc<Sources>,
    /// Set once it is known that there is no bash.
    only_sh: AtomicBool,
}

impl Bash {
    /// Runs commands in `execution`, starting at `place`; `sources` know what they can read.
    pub fn new(
        execution: Execution,
        place: Arc<dyn Whereabouts>,
        spill: Arc<dyn Spill>,
        limits: BashLimits,
        sources: Arc<Sources>,
    ) -> Self {
        let spec = spec(limits, sources.has_network());
        Self { spec, execution, place, spill, limits, sources, only_sh: AtomicBool::new(false) }
    }

    async fn run(&self, context: ToolCallContext<'_>) -> Result<ToolOutput, ToolFault> {
        let text = |name: &str| context.input.get(name).and_then(Value::as_str);
        let command = text("command").unwrap_or_default();
        let asked = text("cwd");
        let start = asked.map_or_else(|| Some(self.place.current()), |asked| self.place.resolve(asked));
        let Some(start) = start else {
            let message = format!("cwd is outside the sandbox: {}", asked.unwrap_or_default());
            return Ok(self.refused(&context, command, 1, message));
        };
        if command.contains('\0') {
            return Ok(self.refused(&context, command, 1, "the command has a NUL character".to_owned()));
        }
        let timeout = self.timeout(context.input);
        let script = Script::new(command);
        let label = self.sources.command(context.label);
        self.sources.will_run(&label);
        match self.execute(&context, &script, &start, timeout).await {
            Ok(captured) => {
                let finished = self.finish(&context, command, &script, start, timeout, captured).await;
                finished.map(|output| ToolOutput { label: label.join(&output.label), ..output })
            }
            Err(ToolFault::Sandbox(SandboxError::InvalidRequest(message))) => {
                Ok(self.refused(&context, command, 1, message))
            }
            Err(ToolFault::Sandbox(SandboxError::NotPrepared(message))) => {
                Ok(self.refused(&context, command, 125, message))
            }
            Err(ToolFault::Sandbox(error @ SandboxError::NotStarted { .. })) => {
                Ok(self.refused(&context, command, 126, error.to_string()))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Runs it with bash; where that turns out to be missing, with the plain shell from then on.
    async fn execute(
        &self,
        context: &ToolCallContext<'_>,
        script: &Script<'_>,
        start: &str,
        timeout: Duration,
    ) -> Result<Captured, ToolFault> {
        if !self.only_sh.load(Ordering::Relaxed) {
            match self.execute_with(BASH, context, script, start, timeout).await {
                Err(ToolFault::Sandbox(SandboxError::NotStarted { source, .. }))
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    self.only_sh.store(true, Ordering::Relaxed);
                }
                other => return other,
            }
        }
        self.execute_with(SH, context, script, start, timeout).await
    }

    async fn execute_with(
        &self,
        shell: &str,
        context: &ToolCallContext<'_>,
        script: &Script<'_>,
        start: &str,
        timeout: Duration,
    ) -> Result<Captured, ToolFault> {
        let request = ExecRequest {
            cwd: Some(start.to_owned()),
            timeout: Some(timeout),
            ..ExecRequest::new(shell, script.arguments())
        };
        let capture = Capture {
            output_id: context.output_id,
            limits: self.limits.output,
            spill: self.spill.as_ref(),
            listener: None,
        };
        let command = script.arguments().join("\n");
        let invocation = Invocation {
            tool_id: "bash",
            tool_output_id: Some(context.output_id),
            operation: Operation::Shell,
            cwd: start,
            cwd_is_chosen: context.input.contains_key("cwd"),
            command: Some(&command),
            argv: None,
            args: None,
            stdin: None,
            env: None,
            label: context.label,
        };
        self.execution.run_labelled(request, capture, &invocation).await
    }

    async fn finish(
        &self,
        context: &ToolCallContext<'_>,
        command: &str,
        script: &Script<'_>,
        start: String,
        timeout: Duration,
        mut captured: Captured,
    ) -> Result<ToolOutput, ToolFault> {
        self.place.move_to(&start);
        if let (Some(word), Some(directory)) = (script.word(), self.execution.shell_directory().await?)
            && let Some(ended_in) = take_word(&directory, word)
            // Where a command ended is as secret as what it wrote.
            && captured.labels.as_ref().is_none_or(|labels| labels.withholds(labels.stdout).is_none())
        {
            self.place.move_to(&ended_in);
        }
        if captured.exit.timed_out {
            outcome::add_timeout_notice(&mut captured.stderr, timeout.as_millis());
        }
        let exit_code = captured.exit.exit_code;
        let failure = if captured.exit.timed_out {
            Some(failure("timeout", "the command ran out of time", exit_code))
        } else if script::is_missing_program(exit_code, &captured.stderr.text) {
            Some(failure("missing_binary", "a program is not there in the sandbox", exit_code))
        } else {
            None
        };
        let mut record = Map::new();
        record.insert("outputId".to_owned(), context.output_id.into());
        let (labels, compared) = (captured.labels.clone(), std::mem::take(&mut captured.compared));
        outcome::describe(captured, &mut record);
        let mut output = self.output(context, command, record, failure, exit_code);
        let mode = self.execution.protection_mode();
        outcome::protect(
            Protected { tool: "bash", compared: &compared, label: context.label, mode },
            &mut output,
        );
        Ok(outcome::mediate(labels.as_ref(), output))
    }

    /// The time that a call may take.
    fn timeout(&self, input: &Map<String, Value>) -> Duration {
        let asked = input.get("timeoutMs").and_then(Value::as_f64);
        let asked = asked.and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1000.0).ok());
        asked.unwrap_or(self.limits.default_timeout).min(self.limits.max_timeout)
    }

    /// The result of a call for which nothing was run.
    fn refused(
        &self,
        context: &ToolCallContext<'_>,
        command: &str,
        exit_code: i32,
        message: String,
    ) -> ToolOutput {
        let record = json!({
            "outputId": context.output_id,
            "stdout": "",
            "stderr": message,
            "exitCode": exit_code,
        });
        let record = if let Value::Object(record) = record { record } else { Map::new() };
        let kind = if exit_code == 1 { "workspace_path_confusion" } else { "unknown" };
        let failure = failure(kind, "nothing was run", exit_code);
        self.output(context, command, record, Some(failure), exit_code)
    }

    fn output(
        &self,
        context: &ToolCallContext<'_>,
        command: &str,
        mut record: Map<String, Value>,
        failure: Option<ToolFailure>,
        exit_code: i32,
    ) -> ToolOutput {
        record.insert("cwd".to_owned(), self.place.current().into());
        let first_line = command.trim_start().lines().next().unwrap_or_default();
        let line: String = first_line.chars().take(SHOWN).collect();
        ToolOutput {
            record: Value::Object(record),
            model_view: None,
            withheld: false,
            label: context.label.clone(),
            images: Vec::new(),
            failure,
            shown: Shown { line: format!("{line} (exit {exit_code})"), diff: None },
            rows: Vec::new(),
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(self.run(context))
    }
}

fn spec(limits: BashLimits, network: bool) -> ToolSpec {
    let (usual, most) = (limits.default_timeout.as_millis(), limits.max_timeout.as_millis());
    ToolSpec {
        name: "bash",
        description: format!(
            "Runs a command line in the sandbox with bash. The working directory carries over to the next call; \
             variables and background processes do not. Standard input is empty. \
             A command ends after {usual} ms unless `timeoutMs` says otherwise, at most {most}."
        ),
        effect: Effect::SideEffect,
        deed: Deed::Execute { network },
        sinks: &[Sink::Program("command"), Sink::Program("cwd")],
        parameters: json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "What to run." },
                "cwd": { "type": "string", "description": "The directory to run it in, absolute or relative to the current one." },
                "timeoutMs": { "type": "number", "minimum": 0, "maximum": u64::try_from(most).unwrap_or(u64::MAX) },
            },
            "required": ["command"],
            "additionalProperties": false,
        }),
    }
}

fn failure(kind: &str, detail: &str, exit_code: i32) -> ToolFailure {
    ToolFailure { kind: kind.to_owned(), detail: detail.to_owned(), exit_code: Some(exit_code) }
}

/// Reads and removes what a shell left.
fn take_word(directory: &Path, word: &str) -> Option<String> {
    let path = directory.join(word);
    let mut text = read_word(&path);
    // What cannot be removed is removed with the session.
    let _ = std::fs::remove_file(&path);
    let end = text.as_mut().and_then(String::pop);
    text.filter(|_| end == Some('\n'))
}

/// The command could put anything there: a link, a pipe that never ends, a gigabyte. Whatever is not a short file is
/// taken for nothing.
fn read_word(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let status = rustix::fs::fstat(&opened).ok()?;
    if !FileType::from_raw_mode(status.st_mode).is_file() {
        return None;
    }
    let mut text = String::new();
    std::fs::File::from(opened).take(LONGEST_PATH).read_to_string(&mut text).ok()?;
    Some(text)
}
