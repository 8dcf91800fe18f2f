//! What happens in a run: one stream of events, from which progress, trace and report are made.

use std::fmt;
use std::time::Duration;

use fullsend_runtimes::RuntimeEvent;
use serde::Serialize;

/// The steps of a run, in order. Steps from [`Step::Agent`] to [`Step::Validate`] are repeated for each iteration.
pub const STEPS: &[Step] = &[
    Step::Load,
    Step::Compose,
    Step::Check,
    Step::Resolve,
    Step::PreScript,
    Step::ScanInput,
    Step::Upload,
    Step::Provision,
    Step::ScanContext,
    Step::Agent,
    Step::Extract,
    Step::Validate,
    Step::ScanOutput,
    Step::PostScript,
    Step::Report,
];

/// One step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Configuration, and where the agent's harness is.
    Load,
    /// The harness with its bases.
    Compose,
    /// Whether the harness makes sense: files, variables, limits.
    Check,
    /// Remote references to verified local paths.
    Resolve,
    /// The harness's own preparation, on the host: what it makes is scanned and uploaded like the rest.
    PreScript,
    /// What the agent will read, before it enters the sandbox.
    ScanInput,
    /// Files put together for the sandbox.
    Upload,
    /// The sandbox.
    Provision,
    /// The same files, as the agent will see them.
    ScanContext,
    /// The agent's work.
    Agent,
    /// What the agent delivers, out of the sandbox.
    Extract,
    /// Whether it is what was asked for.
    Validate,
    /// Secrets and characters that mislead, in what is delivered.
    ScanOutput,
    /// The harness's own delivery, on the host.
    PostScript,
    /// The record of the run.
    Report,
}

impl Step {
    /// The name in traces and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Compose => "compose",
            Self::Check => "check",
            Self::Resolve => "resolve",
            Self::ScanInput => "scan_input",
            Self::PreScript => "pre_script",
            Self::Upload => "upload",
            Self::Provision => "provision",
            Self::ScanContext => "scan_context",
            Self::Agent => "agent",
            Self::Extract => "extract",
            Self::Validate => "validate",
            Self::ScanOutput => "scan_output",
            Self::PostScript => "post_script",
            Self::Report => "report",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As it should.
    Done,
    /// There was nothing to do.
    Skipped,
    /// Not as it should.
    Failed,
    /// A finding or a policy did not let it go on.
    Blocked,
    /// Somebody ended the run.
    Cancelled,
}

/// How something outside the sandbox was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// A resource, through the runner.
    Fetch,
    /// A connection, through the proxy of the sandbox.
    Network,
    /// A tool call, which hooks decided about.
    Tool,
    /// A tool call, which the rules of information flow decided about.
    Flow,
    /// A file or system call, in the sandbox.
    Sandbox,
    /// A file, through the tools of the built-in agent.
    Files,
    /// A tool that is not on the agent's list.
    Tools,
}

impl AccessKind {
    /// Who decides, in words.
    pub const fn decider(self) -> &'static str {
        match self {
            Self::Fetch => "fetch service",
            Self::Network => "egress",
            Self::Tool => "hook",
            Self::Flow => "flow",
            Self::Sandbox => "sandbox",
            Self::Files => "file tools",
            Self::Tools => "tool list",
        }
    }

    /// What a runtime calls it.
    pub(crate) fn of_runtime(by: &str) -> Self {
        match by {
            "flow" => Self::Flow,
            "files" => Self::Files,
            "tools" => Self::Tools,
            _ => Self::Sandbox,
        }
    }
}

/// Something happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A step begins.
    StepBegan {
        /// Which.
        step: Step,
        /// In which iteration, for steps that are repeated.
        iteration: Option<u32>,
    },
    /// A step has ended.
    StepEnded {
        /// Which.
        step: Step,
        /// In which iteration.
        iteration: Option<u32>,
        /// How.
        outcome: Outcome,
        /// What came of it, in a line.
        detail: String,
        /// How long it took.
        took: Duration,
    },
    /// Something that a person should know.
    Warning {
        /// In a line or two; harmless to print.
        text: String,
    },
    /// A scanner found something.
    Finding {
        /// In which step.
        step: Step,
        /// The rule, such as `context_injection/ignore_instructions`.
        rule: String,
        /// `critical`, `high`, `medium`, `low` or `info`.
        severity: String,
        /// Where: a file, a tool.
        place: String,
        /// What, without secrets.
        detail: String,
        /// What was done about it: `block`, `warn`, `redact`, `sanitize`.
        action: String,
    },
    /// The runtime.
    Runtime {
        /// In which iteration.
        iteration: u32,
        /// What it did.
        #[serde(flatten)]
        event: RuntimeEvent,
    },
    /// Something outside the sandbox was asked for.
    Access {
        /// How, and by that who decided.
        kind: AccessKind,
        /// What: a URL without its query, a host and port, a tool.
        target: String,
        /// Whether it was allowed.
        allowed: bool,
        /// Why, or what came of it, in a line.
        detail: String,
    },
    /// The agent is still at work.
    Waiting {
        /// In which iteration.
        iteration: u32,
        /// For how long.
        elapsed: Duration,
        /// How much time is left.
        left: Duration,
    },
    /// A script of the harness wrote something.
    Script {
        /// Which step it belongs to.
        step: Step,
        /// A line of it.
        line: String,
    },
}

impl Event {
    /// Every text in it that others had a part in.
    pub(crate) fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::StepBegan { .. } | Self::Waiting { .. } => Vec::new(),
            Self::StepEnded { detail: text, .. }
            | Self::Warning { text }
            | Self::Script { line: text, .. } => {
                vec![text]
            }
            Self::Finding { place, detail, .. } => vec![place, detail],
            Self::Access { target, detail, .. } => vec![target, detail],
            Self::Runtime { event, .. } => texts_of(event),
        }
    }
}

fn texts_of(event: &mut RuntimeEvent) -> Vec<&mut String> {
    match event {
        RuntimeEvent::Thinking { text } | RuntimeEvent::Text { text } => vec![text],
        RuntimeEvent::ToolUse { summary, .. } | RuntimeEvent::ToolResult { summary, .. } => vec![summary],
        RuntimeEvent::Denied { reason: text, .. }
        | RuntimeEvent::Result { message: text, .. }
        | RuntimeEvent::Error { message: text, .. }
        | RuntimeEvent::Retry { error: text, .. } => vec![text],
        RuntimeEvent::Init { .. } | RuntimeEvent::Tokens(_) => Vec::new(),
    }
}

/// Who is told of everything that happens.
pub type Sink<'s> = &'s mut (dyn FnMut(&Event) + Send);
