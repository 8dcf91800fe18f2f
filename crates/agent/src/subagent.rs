//! Work that is given to another run: `delegate_task`.
//!
//! A child is a run of its own beside the one that starts it, with a conversation that begins with nothing but the task, the
//! tools of one profile, and what is left of the budget. Where its task came from is where its conversation comes from, and
//! what it says comes back with the label of all that it has seen: delegation launders nothing, in neither direction.

mod child;
mod outcome;
mod profile;
mod prompt;
mod returned;
mod task;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fullsend_flow::{Argument, Call, Deed, Destination, GrantLedger, Label, Policy, Verdict, decide};
use fullsend_model::ModelClient;
use serde_json::{Map, Value, json};

pub(crate) use self::outcome::text_of;
pub use self::profile::Profile;
pub(crate) use self::profile::{is_about_profile, profile_named_in, profile_of};
use self::task::{MOST_TURNS, Task};
use crate::budget::Budget;
use crate::hooks::CallHooks;
use crate::sources::Sources;
use crate::store::{Recorded, RecordedSettings, Recorder, RunId, RunStore};
use crate::tool::{
    BadArgument, Effect, Pending, Sink, Tool, ToolCallContext, ToolFault, ToolOutput, ToolSpec,
};
use crate::toolbox::Toolbox;
use crate::workspace::{CurrentDir, Workspace};

/// The name of the tool.
pub const NAME: &str = "delegate_task";

/// The model that searches the web, where no other is named.
pub const SEARCH_MODEL: &str = "gemini-3.5-flash";

/// Why a child has no tools.
#[derive(Debug, thiserror::Error)]
#[error("the tools of the subagent cannot be made: {0}")]
pub struct Unequipped(pub String);

/// Makes the tools of children, in the same workspace and the same sandbox session as those of the run.
pub trait Outfitter: fmt::Debug + Send + Sync {
    /// The tools of these names and no others, for the run that is kept in `store` and is in `current`.
    fn toolbox(
        &self,
        tools: &[&'static str],
        store: &RunStore,
        current: &CurrentDir,
    ) -> Result<Toolbox, Unequipped>;
}

/// What a run gives to its children.
#[derive(Debug)]
pub struct Parent {
    /// Its name.
    pub run_id: RunId,
    /// Where runs are kept, theirs as well.
    pub artifact_root: PathBuf,
    /// What it may do: they may do no more.
    pub settings: RecordedSettings,
    /// Who answers.
    pub model: Arc<dyn ModelClient>,
    /// By which name, when the web is searched.
    pub search_model: String,
    /// By which rules flows are judged.
    pub policy: Arc<Policy>,
    /// Where values come from.
    pub sources: Arc<Sources>,
    /// The directories they work in.
    pub workspace: Arc<Workspace>,
    /// Who pays.
    pub budget: Budget,
    /// Where they are put on record.
    pub recorder: Recorder,
    /// Where they start.
    pub current_dir: CurrentDir,
    /// Who makes their tools.
    pub outfitter: Arc<dyn Outfitter>,
    /// Who is asked about their calls.
    pub hooks: Option<Arc<dyn CallHooks>>,
}

/// The tool.
#[derive(Debug)]
pub struct Delegate {
    spec: ToolSpec,
    parent: Parent,
    allowed: Vec<Profile>,
    next: AtomicU64,
}

impl Delegate {
    /// Starts children with one of the `allowed` profiles. `recorded` is what is on record of a run that goes on: the name of a
    /// child is never used again.
    pub fn new(parent: Parent, allowed: Vec<Profile>, recorded: Option<&Recorded>) -> Self {
        let next = AtomicU64::new(first_number(&parent, recorded));
        Self { spec: spec(&allowed), parent, allowed, next }
    }

    fn next_child(&self) -> Result<RunId, crate::store::InvalidRunId> {
        self.parent.run_id.child(self.next.fetch_add(1, Ordering::Relaxed))
    }

    async fn run(&self, context: ToolCallContext<'_>) -> Result<ToolOutput, ToolFault> {
        match Task::read(context.input, &self.allowed) {
            Ok(task) if self.would_tell(&task, context.label) => Ok(outcome::refused(
                context.output_id,
                "what this task was made of may not be sent to a search of the web; delegate it before reading anything else",
            )),
            Ok(task) => self.give(&task, &context).await,
            // Checked before the call was made.
            Err(problem) => Ok(outcome::refused(context.output_id, &problem.expected)),
        }
    }
}

impl Delegate {
    /// Whether the task may not leave: the model's own side looks things up on the web in words that it makes of the task, and no
    /// gate is in between.
    fn would_tell(&self, task: &Task, label: &Label) -> bool {
        let mode = self.parent.settings.flow_mode;
        task.profile.native_tools().iter().any(|kind| {
            let destination = Destination::Host(kind);
            let arguments = [Argument { name: "goal", value: None, label, destination }];
            let inputs = &Label::bottom();
            let call = Call { tool: kind, deed: Deed::Send, context: label, arguments: &arguments, inputs };
            let now = self.parent.recorder.clock().now();
            let decision = decide(&call, &self.parent.policy, mode, &GrantLedger::default(), now);
            decision.verdict == Verdict::Denied
        })
    }
}

impl Tool for Delegate {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>> {
        Box::pin(self.run(context))
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), BadArgument> {
        Task::read(input, &self.allowed).map(drop)
    }
}

/// One more than any number that was given to a child, by any of three witnesses: each of them may be lost.
fn first_number(parent: &Parent, recorded: Option<&Recorded>) -> u64 {
    let number = |name: &str| {
        name.strip_prefix(parent.run_id.as_str())?.strip_prefix(".subagent.")?.parse::<u64>().ok()
    };
    let on_record = recorded.into_iter().flat_map(|recorded| &recorded.subagents);
    let on_record = on_record.filter_map(|run| number(run.child_run_id.as_str()));
    let begun = recorded.map_or(0, |recorded| recorded.delegated);
    let on_disk = directories(&parent.artifact_root).into_iter().filter_map(|name| number(&name));
    on_record.chain(on_disk).fold(begun, u64::max).saturating_add(1)
}

fn directories(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn spec(allowed: &[Profile]) -> ToolSpec {
    let names: Vec<&str> = allowed.iter().map(|profile| profile.as_str()).collect();
    let profiles: Vec<String> =
        allowed.iter().map(|profile| format!("`{}` {}", profile.as_str(), profile.purpose())).collect();
    ToolSpec {
        name: NAME,
        description: format!(
            "Gives one task to a subagent that starts without any of this conversation, and returns what it says at the end. \
             Put everything it needs to know into `goal` and `context`. Several of these calls in one answer run beside each \
             other. Profiles: {}.",
            profiles.join("; ")
        ),
        effect: Effect::SideEffect,
        deed: Deed::Delegate,
        sinks: &[Sink::Child("goal"), Sink::Child("context"), Sink::Child("returnSchema")],
        parameters: json!({
            "type": "object",
            "properties": {
                "goal": {"type": "string", "description": "What to do, and how to tell that it is done."},
                "context": {"type": "string", "description": "What it has to know besides."},
                "profile": {"type": "string", "enum": names, "description": "What it may do. Default: default."},
                "maxModelTurns": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_TURNS,
                    "description": "How often its model is asked at most. Default: 8.",
                },
                "returnSchema": {
                    "type": ["object", "boolean", "string"],
                    "description": "A JSON Schema for the answer, or its JSON text. Only what it pins comes back: numbers, \
                                    booleans, and texts that it lists with `enum` or `const`; other texts are sealed.",
                },
            },
            "required": ["goal"],
            "additionalProperties": false,
        }),
    }
}
