//! What an agent runtime is to a run.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fullsend_agent::tools::SkillFetcher;
use fullsend_flow::Policy;
use fullsend_guard::hook::Runtime;
use fullsend_guard::service::Decide;
use fullsend_guard::{CanaryToken, FindingsLog};
use fullsend_sandbox::{
    Endpoint, FilesystemMount, SandboxBackend, SandboxError, SandboxSessionId, SandboxSpec,
};
use serde_json::Value;

use crate::cancel::Cancel;
use crate::event::{Metrics, Watch};
use crate::layout::Stage;

/// The result of something that takes time. Dropping it ends what is under way.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, RuntimeError>> + Send + 'a>>;

/// A program, or a loop of ours, that drives a model and calls tools in a sandbox.
///
/// The order of calls is: `bootstrap` once, before the sandbox exists; then for each iteration `clear_iteration` (from the
/// second on), `run` and `transcripts`.
pub trait AgentRuntime: fmt::Debug + Send + Sync {
    /// Which it is.
    fn id(&self) -> Runtime;

    /// Whose models it speaks to, as traces name it (`gen_ai.system`).
    fn system(&self) -> &'static str;

    /// Its own directory in the sandbox.
    fn config_dir(&self) -> String {
        format!("/sandbox/{}-config", self.id().as_str())
    }

    /// Whether a repository's `AGENTS.md` reaches it only by way of a `CLAUDE.md`.
    fn needs_claude_md_bridge(&self) -> bool {
        false
    }

    /// What its debug log is called among the artifacts.
    fn debug_log_name(&self) -> &'static str {
        "agent-debug.log"
    }

    /// Where the skills are, on the host, that the agent sees as `skills` in [`AgentRuntime::config_dir`]. What is put there
    /// while it works is there for it at once.
    fn skills_dir(&self, stage: &Stage) -> PathBuf {
        stage.config().join("skills")
    }

    /// Puts the agent, skills, plugins and hook wiring into the stage, and says what the sandbox must have for it. Any error
    /// ends the run.
    fn bootstrap(&self, input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError>;

    /// Lets the agent work once. A non-zero exit code is no error; an error is that nothing can be said about the work.
    fn run<'a>(
        &'a self,
        place: &'a Place,
        iteration: &'a Iteration<'a>,
        watch: Watch<'a>,
    ) -> Pending<'a, Ended>;

    /// The transcripts of the last iteration, on the host. They were written from within the sandbox: whoever reads them
    /// follows no links and believes nothing.
    fn transcripts(&self, stage: &Stage) -> Vec<PathBuf>;

    /// Removes what the last iteration left behind, so that the next one's is only its own. `output` is emptied by the
    /// caller.
    fn clear_iteration(&self, stage: &Stage) -> io::Result<()>;
}

/// What a runtime is set up with.
#[derive(Debug)]
pub struct Bootstrap<'a> {
    /// Where files go.
    pub stage: &'a Stage,
    /// The agent.
    pub agent: &'a AgentText,
    /// Skills by directory; the last part of the path is the name. No two have the same.
    pub skills: &'a [PathBuf],
    /// Plugins likewise.
    pub plugins: &'a [PathBuf],
    /// Whether hooks are wired up: [`crate::PROGRAM`] with [`crate::HOOK_CONFIG`].
    pub hooks: bool,
    /// What the harness asks for.
    pub wanted: &'a Wanted,
}

/// The agent definition.
#[derive(Clone, Debug, Default)]
pub struct AgentText {
    /// The name by which it is run, without `.md`.
    pub name: String,
    /// The whole file, which was scanned.
    pub source: String,
    /// Its instructions: the text below the front matter.
    pub instructions: String,
    /// The tools it may use; none means all.
    pub tools: Vec<String>,
    /// The tools it may not use.
    pub disallowed_tools: Vec<String>,
    /// The greatest number of turns.
    pub max_turns: Option<u32>,
}

/// What the harness asks of a runtime.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The model, by the runtime's name for it.
    pub model: Option<String>,
    /// How much thought the model spends: `low` to `max`.
    pub effort: Option<String>,
    /// What to log for debugging; `*` for everything.
    pub debug: Option<String>,
    /// The rules of information flow, for runtimes that follow it.
    pub flow: Option<Policy>,
    /// Project configuration of the repository that the harness allows by name, such as `.mcp.json`.
    pub repository_config: Vec<String>,
}

/// What a sandbox must have for a runtime.
#[derive(Clone, Debug, Default)]
pub struct Equipment {
    /// Mounts besides those of [`Stage::mounts`]: programs, and read-only parts of the runtime's own directory.
    pub mounts: Vec<FilesystemMount>,
    /// Programs of those mounts that have to be run, where a policy lists programs. Each tells its version when asked.
    pub programs: Vec<String>,
    /// Variables, which end up in [`crate::ENV_FILE`].
    pub env: BTreeMap<String, String>,
    /// Services that are reached with keys which stay outside, the model's above all.
    pub endpoints: Vec<Endpoint>,
    /// Hosts that it cannot work without.
    pub hosts: Vec<String>,
    /// What the harness asks for and the runtime has no use for.
    pub warnings: Vec<String>,
}

/// Where a runtime works.
#[derive(Debug)]
pub struct Place {
    /// Its files.
    pub stage: Stage,
    /// What makes sandboxes.
    pub backend: Arc<dyn SandboxBackend>,
    /// The session of the run. Programs run in it.
    pub session: SandboxSessionId,
    /// What that session was made from, for a runtime that needs one with less.
    pub spec: SandboxSpec,
    /// Variables of every command.
    pub env: BTreeMap<String, String>,
    /// Who decides about tool calls, unless hooks are off.
    pub hooks: Option<HookDesk>,
    /// Who fetches skills that the agent asks for while it works, where the harness allows that.
    pub fetcher: Option<Arc<dyn SkillFetcher>>,
    /// Tokens that were planted in the sandbox: what holds one is for nobody.
    pub canaries: Vec<CanaryToken>,
    /// A directory of the host for records of the runtime's own; nothing in the sandbox sees it.
    pub records: PathBuf,
}

/// Who decides about tool calls, for a runtime that asks without a process.
#[derive(Clone)]
pub struct HookDesk {
    /// Decides.
    pub decide: Arc<Decide>,
    /// Where findings go, before the decision is acted on.
    pub log: FindingsLog,
}

impl fmt::Debug for HookDesk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HookDesk").field("log", &self.log).finish_non_exhaustive()
    }
}

/// One attempt of the agent.
#[derive(Debug)]
pub struct Iteration<'a> {
    /// From 1.
    pub number: u32,
    /// The agent.
    pub agent: &'a AgentText,
    /// What the agent is told to do.
    pub prompt: String,
    /// What was wrong with the last attempt.
    pub feedback: Option<String>,
    /// What the harness asks for.
    pub wanted: &'a Wanted,
    /// The JSON Schema of the result, and the name of its file in [`crate::OUTPUT`].
    pub result: Option<(&'a Value, &'a str)>,
    /// How long it may take.
    pub timeout: Duration,
    /// The wish to end it.
    pub cancel: Cancel,
    /// Where the runtime's raw stream is kept.
    pub stream: &'a Path,
    /// Where its debug log is kept, if one is asked for.
    pub debug_log: &'a Path,
}

/// How an iteration ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// The exit code; 124 after a timeout, 128 and the signal's number after a signal.
    pub exit_code: i32,
    /// What it used.
    pub metrics: Metrics,
    /// What the runtime itself calls an error although it exited with 0.
    pub error: Option<String>,
    /// Whether its time was over.
    pub timed_out: bool,
}

impl Ended {
    /// Whether the agent did its work, as far as the runtime knows.
    pub fn succeeded(&self) -> bool {
        self.exit_code == 0 && self.error.is_none() && !self.timed_out
    }
}

/// Why a runtime cannot work. Nothing that a model can cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// Its program is not on this machine.
    #[error("the runtime `{runtime}` needs the program `{program}`, which is not installed; {help}")]
    NoProgram {
        /// Which runtime.
        runtime: &'static str,
        /// Which program.
        program: String,
        /// How to get it.
        help: String,
    },
    /// It cannot do what the harness asks for.
    #[error("the runtime `{runtime}` {problem}")]
    Unsupported {
        /// Which runtime.
        runtime: &'static str,
        /// What it cannot do, and what to do instead.
        problem: String,
    },
    /// A file.
    #[error("cannot {doing}")]
    Io {
        /// What was being done, to which file.
        doing: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The built-in agent.
    #[error("the agent cannot work: {0}")]
    Agent(String),
}
