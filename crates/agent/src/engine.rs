//! The loop: ask the model, make the calls it asks for, until it has nothing more to ask or a budget is used up.
//!
//! Everything that enters the conversation passes `Engine::say`, and every call passes the gate in `calls`. Both write
//! to the journal before anything follows from it.

mod calls;
mod finish;
mod pictures;
mod refusals;
mod results;
mod resume;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use fullsend_flow::{Label, LabelId, LabelTable, Policy, Source};
use fullsend_model::{
    AssistantMessage, Completion, Conversation, Message, ModelClient, ModelError, ModelRequest, Progress,
};

pub use self::finish::Finished;
pub use self::resume::ResumeError;
use crate::budget::{Budget, Exhausted};
use crate::event::Event;
use crate::flow::{Basis, Gatekeeper, Inspect, Place, Rules};
use crate::gate::{FlowMode, PromptRole};
use crate::hooks::CallHooks;
use crate::report::{PolicySnapshot, write_policy_snapshot};
use crate::sources::Sources;
use crate::store::{
    DanglingCall, EndStatus, Ending, FailureKind, FailureRecord, FailureSource, KeptMessage, Reminders, Row,
    RunStore, StoreError, TerminalReason,
};
use crate::structured::StructuredResult;
use crate::tool::ToolFault;
use crate::toolbox::Toolbox;
use crate::workspace::{CurrentDir, Workspace};

/// How long the end of a run waits for what goes on beside it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What one run works with.
#[derive(Debug)]
pub struct RunParts {
    /// Who answers.
    pub model: Arc<dyn ModelClient>,
    /// By which name.
    pub model_name: String,
    /// What may be called.
    pub toolbox: Toolbox,
    /// What the model's own side may do, by type.
    pub native_tools: Vec<String>,
    /// Where it is kept.
    pub store: RunStore,
    /// How strictly the rules of flow are applied.
    pub mode: FlowMode,
    /// What the prompt is.
    pub role: PromptRole,
    /// By which rules flows are judged.
    pub policy: Arc<Policy>,
    /// Where values come from, and what commands can read and reach.
    pub sources: Arc<Sources>,
    /// The directories of the run.
    pub workspace: Arc<Workspace>,
    /// What may be used.
    pub budget: Budget,
    /// What is expected at the end.
    pub structured: Option<StructuredResult>,
    /// Where commands start; kept across a crash.
    pub current_dir: CurrentDir,
    /// Who is asked about every call and its result.
    pub hooks: Option<Arc<dyn CallHooks>>,
}

/// Something to say before the model is asked: the message, and where it came from.
#[derive(Clone, Debug)]
pub struct Opening {
    /// As it is kept.
    pub kept: KeptMessage,
    /// Where it came from.
    pub label: Label,
    /// What else belongs on record: skills that come with it.
    pub rows: Vec<Row>,
}

/// Why a run cannot go on. Nothing that a model can cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A tool.
    #[error(transparent)]
    Tool(#[from] ToolFault),
}

/// What watches a run.
pub type Watch<'w> = &'w mut (dyn FnMut(Event<'_>) + Send);

/// A run under way.
pub struct Engine<'w> {
    parts: RunParts,
    conversation: Conversation,
    labels: LabelTable,
    /// The label of everything the model has seen.
    context: LabelId,
    /// The label of all that the last answer was made of.
    answered: LabelId,
    /// Decides about calls and results.
    keeper: Gatekeeper,
    /// What the model was told about its last answers.
    reminders: Reminders,
    /// Where commands start, as far as it is on record.
    current_dir: String,
    /// Of a run that goes on: calls without a result, and what is new to say.
    dangling: Vec<DanglingCall>,
    more: Vec<Opening>,
    /// Whether a call has ended the work.
    concluded: bool,
    watch: Watch<'w>,
}

impl std::fmt::Debug for Engine<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Engine").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl<'w> Engine<'w> {
    /// A new run. Nothing is said yet.
    pub fn new(parts: RunParts, watch: Watch<'w>) -> Self {
        let mut parts = parts;
        let current_dir = parts.current_dir.get().as_str().to_owned();
        let rules = Rules {
            mode: parts.mode,
            role: parts.role,
            policy: parts.policy.clone(),
            sources: parts.sources.clone(),
        };
        let place = Place { workspace: parts.workspace.clone(), current_dir: parts.current_dir.clone() };
        let keeper = Gatekeeper::new(rules, place);
        if keeper.lets_inspect() {
            // Its schema is ours, and is one.
            let _offered = parts.toolbox.add(Arc::new(Inspect::new()), true);
        }
        Self {
            parts,
            keeper,
            answered: LabelId::BOTTOM,
            conversation: Conversation::default(),
            labels: LabelTable::default(),
            context: LabelId::BOTTOM,
            reminders: Reminders::default(),
            current_dir,
            dangling: Vec::new(),
            more: Vec::new(),
            concluded: false,
            watch,
        }
    }

    /// Puts on record what the run is judged by from here on. Without the file the run goes on: the journal has it.
    pub fn judged_by(&mut self, snapshot: &PolicySnapshot<'_>) -> Result<(), RunError> {
        let store = &mut self.parts.store;
        let snapshot = snapshot.document(store.run_id(), &store.now());
        let written = write_policy_snapshot(store, &snapshot);
        store.append(&Row::PolicySnapshot { snapshot })?;
        if let Err(error) = written {
            let failure = FailureRecord::of_run(FailureKind::HarnessError, error.to_string());
            let failure = FailureRecord { source: FailureSource::PolicySnapshot, ..failure };
            store.append(&Row::Failure(Box::new(failure)))?;
        }
        Ok(())
    }

    /// Says what a run begins with, and that this was all.
    pub fn open(&mut self, opening: Vec<Opening>) -> Result<(), RunError> {
        self.tell_model(opening)?;
        self.parts.store.append(&Row::Opened)?;
        Ok(())
    }

    /// Says something that is not the model's.
    fn tell_model(&mut self, opening: Vec<Opening>) -> Result<(), RunError> {
        for Opening { kept, label, rows } in opening {
            for row in &rows {
                self.parts.store.append(row)?;
            }
            let message = self.message_of(&kept)?;
            self.tell(&kept);
            self.say(0, kept, message, &label)?;
        }
        Ok(())
    }

    /// Runs to the end, or until `stop` is ready: its number is that of the signal. Whatever happens is on record. What goes
    /// on `beside` the run and belongs to its record is waited for, though not for long.
    pub async fn run(self, stop: impl Future<Output = i32>, beside: impl Future<Output = ()>) -> Finished {
        // The record is completed also when nobody waits for the end any more: that of a child whose parent was stopped.
        let mut under_way = scopeguard::guard(self, |engine| drop(engine.conclude(Ok(abandoned()))));
        let ended = tokio::select! {
            biased;
            signal = stop => Ok(stopped(signal)),
            ended = async {
                let ended = under_way.drive().await;
                let _nothing_depends_on_it = tokio::time::timeout(PATIENCE, beside).await;
                ended
            } => ended,
        };
        scopeguard::ScopeGuard::into_inner(under_way).conclude(ended)
    }

    async fn drive(&mut self) -> Result<Ending, RunError> {
        if let Some(ending) = self.take_up()? {
            return Ok(ending);
        }
        self.make_dangling_calls().await?;
        loop {
            if self.concluded {
                return Ok(finish::completed());
            }
            if let Some(which) = self.parts.budget.exhausted() {
                return self.exhausted(which);
            }
            let Some(completion) = self.ask().await? else { return self.exhausted(Exhausted::Time) };
            let turn = u64::from(self.parts.budget.turns());
            let calls = self.hear(turn, completion)?;
            if calls.is_empty() {
                if let Some(ending) = self.settle(turn)? {
                    return Ok(ending);
                }
            } else {
                self.make_calls(turn, &calls).await?;
            }
        }
    }

    /// Asks the model; nothing when the time is up.
    async fn ask(&mut self) -> Result<Option<Completion>, RunError> {
        let turn = self.parts.budget.begin_turn();
        (self.watch)(Event::TurnBegan { turn, budget: &self.parts.budget });
        let request = ModelRequest {
            model: &self.parts.model_name,
            conversation: &self.conversation,
            tools: self.parts.toolbox.descriptions(),
            native_tools: &self.parts.native_tools,
            max_output_tokens: None,
            reasoning_effort: None,
        };
        let watch = &mut self.watch;
        let mut progress = |piece: Progress<'_>| match piece {
            Progress::Text(text) => watch(Event::Text(text)),
            Progress::Reasoning(text) => watch(Event::Reasoning(text)),
            Progress::Restarted => watch(Event::Restarted),
        };
        let answer = self.parts.model.complete(request, &mut progress);
        let answer = tokio::time::timeout(self.parts.budget.time_left(), answer).await;
        let turn = u64::from(turn);
        match answer {
            Err(_elapsed) => Ok(None),
            Ok(Ok(completion)) => {
                self.keep_attempts(turn, &completion.attempts)?;
                Ok(Some(completion))
            }
            Ok(Err(error)) => {
                self.keep_attempts(turn, error.attempts())?;
                Err(error.into())
            }
        }
    }

    fn keep_attempts(&mut self, turn: u64, attempts: &[fullsend_model::Attempt]) -> Result<(), RunError> {
        for attempt in attempts {
            self.parts.store.append(&Row::ModelAttempt { turn, attempt: Box::new(attempt.clone()) })?;
        }
        Ok(())
    }

    /// Takes down an answer, and returns the calls it asks for.
    fn hear(&mut self, turn: u64, completion: Completion) -> Result<Vec<fullsend_model::ToolCall>, RunError> {
        let usage = completion.usage;
        self.parts.store.append(&Row::Usage { turn, usage })?;
        self.parts.budget.charge(&usage);
        self.parts.budget.shown(completion.message.content.len() as u64);
        let mut said = completion.message;
        let calls = std::mem::take(&mut said.tool_calls);
        said.tool_calls = calls.iter().map(shortened).collect();
        let arguments: usize = said.tool_calls.iter().map(|call| call.arguments.len()).sum();
        self.parts.budget.shown(arguments as u64);
        (self.watch)(Event::Answered { content: &said.content, calls: &said.tool_calls });
        let finish_reason = Some(completion.finish);
        let kept =
            KeptMessage::Assistant { content: said.content, tool_calls: said.tool_calls, finish_reason };
        // What a model says is made of all that it has seen, and what its own side has looked up is nowhere else to be seen.
        let native =
            self.parts.native_tools.iter().map(|kind| self.parts.policy.label_of(Source::Tool(kind)));
        let label = native.fold(self.context_label(), |label, native| label.join(&native));
        self.say_text(turn, kept, &label)?;
        Ok(calls)
    }

    /// Adds a message to the conversation: on record first, and with the label of where it came from.
    fn say(&mut self, turn: u64, kept: KeptMessage, message: Message, label: &Label) -> Result<(), RunError> {
        self.record(turn, kept, label)?;
        self.conversation.push(message);
        Ok(())
    }

    /// The same for a message without pictures, which may be long: it is moved, not copied.
    fn say_text(&mut self, turn: u64, kept: KeptMessage, label: &Label) -> Result<(), RunError> {
        let message = match self.record(turn, kept, label)? {
            KeptMessage::System { content } => Message::System { content },
            KeptMessage::User { content, .. } => Message::User { content, images: Vec::new() },
            KeptMessage::Assistant { content, tool_calls, .. } => {
                Message::Assistant(AssistantMessage { content, tool_calls })
            }
            KeptMessage::Tool { tool_call_id: call_id, content, .. } => Message::Tool { call_id, content },
        };
        self.conversation.push(message);
        Ok(())
    }

    fn record(&mut self, turn: u64, kept: KeptMessage, label: &Label) -> Result<KeptMessage, RunError> {
        let (id, _) = self.labels.number(label);
        // Both numbers are of this table.
        let context = self.labels.join(self.context, id).unwrap_or(id);
        self.parts.store.record_labels(&self.labels)?;
        let kept = self.parts.store.append_message(turn, id, kept)?;
        self.reminders.see(turn, &kept);
        self.context = context;
        self.keeper.state_mut().saw(label);
        Ok(kept)
    }

    /// The last thing the model said.
    fn last_answer(&self) -> &str {
        let said = self.conversation.messages().iter().rev().find_map(|message| match message {
            Message::Assistant(said) => Some(said.content.as_str()),
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => None,
        });
        said.unwrap_or_default()
    }

    fn context_label(&self) -> Label {
        self.basis(self.context).label
    }

    /// What calls were made of when the conversation had this label.
    fn basis(&self, id: LabelId) -> Basis {
        // The number is of this table.
        let label = self.labels.get(id).cloned().unwrap_or_else(|_| Label::untrusted());
        Basis { id, label }
    }

    fn tell(&mut self, kept: &KeptMessage) {
        match kept {
            KeptMessage::System { content } => {
                (self.watch)(Event::Told { role: "system", content, images: 0 });
            }
            KeptMessage::User { content, image_attachments } => {
                (self.watch)(Event::Told { role: "user", content, images: image_attachments.len() });
            }
            KeptMessage::Assistant { .. } | KeptMessage::Tool { .. } => {}
        }
    }

    fn exhausted(&mut self, which: Exhausted) -> Result<Ending, RunError> {
        let detail = which.describe(self.parts.budget.limits());
        let terminal_reason = match which {
            Exhausted::Turns => TerminalReason::MaxModelTurns,
            Exhausted::Tokens | Exhausted::Cost | Exhausted::Time | Exhausted::Output => {
                TerminalReason::BudgetExhausted
            }
        };
        let kind = if which == Exhausted::Time { FailureKind::Timeout } else { FailureKind::HarnessError };
        let failure = FailureRecord::of_run(kind, detail.clone());
        self.parts.store.append(&Row::Failure(Box::new(failure)))?;
        Ok(Ending { status: EndStatus::Failed, terminal_reason, detail: Some(detail) })
    }
}

fn stopped(signal: i32) -> Ending {
    Ending {
        status: EndStatus::Cancelled,
        terminal_reason: TerminalReason::ProcessInterrupted,
        detail: Some(format!("stopped by signal {signal}")),
    }
}

fn abandoned() -> Ending {
    Ending {
        status: EndStatus::Cancelled,
        terminal_reason: TerminalReason::ProcessInterrupted,
        detail: Some("ended with what it was a part of".to_owned()),
    }
}

/// A call as it is kept and sent back to the model with every request. Arguments that are too long to be used are left
/// out; whether they are is decided on the call itself.
fn shortened(call: &fullsend_model::ToolCall) -> fullsend_model::ToolCall {
    let length = call.arguments.len();
    let arguments = if length > crate::toolbox::LONGEST_ARGUMENTS {
        format!(r#"{{"omitted":"{length} bytes of arguments, which is too long"}}"#)
    } else {
        call.arguments.clone()
    };
    fullsend_model::ToolCall { id: call.id.clone(), name: call.name.clone(), arguments }
}
