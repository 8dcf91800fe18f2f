//! The rows of a journal.

use fullsend_flow::{Label, LabelId};
use fullsend_model::{Attempt, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::failure::FailureRecord;
use super::message::KeptMessage;
use super::policy::{PolicyDecision, PolicyEvent};
use super::run_id::RunId;
use super::settings::RecordedSettings;
use super::subagent::SubagentRun;
use crate::sources::Provenance;
use crate::tool::Effect;

/// One thing that happened, or is about to. Every row is written before what it announces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Row {
    /// The run begins. Always the first row, and only there.
    Started {
        /// The version of the journal.
        version: u32,
        /// The name of the run.
        run_id: RunId,
        /// What it may do.
        settings: Box<RecordedSettings>,
    },
    /// The run goes on in another process.
    Resumed {
        /// What it may do from here on.
        settings: Box<RecordedSettings>,
        /// How many bytes of an unfinished row were cut off.
        cut_bytes: u64,
    },
    /// A label, before its first use.
    Label {
        /// Its number.
        id: LabelId,
        /// The label.
        label: Label,
    },
    /// The conversation grows.
    Message {
        /// In which turn, from one; zero before the first.
        turn: u64,
        /// Where it came from.
        label: LabelId,
        /// What is said.
        message: KeptMessage,
    },
    /// What the run is judged by from here on; the document of `policy-snapshot.json`.
    PolicySnapshot {
        /// The document.
        snapshot: Map<String, Value>,
    },
    /// All that the run begins with is said; without this row the prompt may be missing.
    Opened,
    /// A gateway was asked.
    ModelAttempt {
        /// For which turn.
        turn: u64,
        /// How it went.
        attempt: Box<Attempt>,
    },
    /// What an answer used.
    Usage {
        /// In which turn.
        turn: u64,
        /// How much.
        usage: Usage,
    },
    /// A tool is about to run.
    CallStarted {
        /// The gateway's name for the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The number of its output, used for nothing else ever.
        output_id: String,
        /// What it does to the world.
        effect: Effect,
        /// The arguments, as sizes and digests.
        input: Map<String, Value>,
        /// The exceptions of the policy that it uses up.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        grants: Vec<String>,
    },
    /// A result is kept from the model, which gets its number as a handle.
    Hidden {
        /// The gateway's name for the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// The number of the output.
        output_id: String,
        /// Where the result came from.
        label: LabelId,
        /// A word for why.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The model looks at something that was kept from it.
    Inspected {
        /// The gateway's name for the call.
        call_id: String,
        /// The handle.
        handle: String,
        /// How much of it the model gets to see.
        bytes: u64,
    },
    /// A call is over.
    CallFinished(CallFinished),
    /// Whether a call may be made.
    Decision(Box<PolicyDecision>),
    /// Somebody should know about a call.
    PolicyEvent(Box<PolicyEvent>),
    /// Something failed.
    Failure(Box<FailureRecord>),
    /// Commands start elsewhere from here on.
    Cwd {
        /// Where, in the sandbox.
        path: String,
    },
    /// A skill is in use; an entry of `skill-activations.json`.
    SkillActivated {
        /// The entry.
        activation: Map<String, Value>,
    },
    /// A file of a skill was read; an entry of `skill-resource-reads.json`.
    SkillRead {
        /// The entry.
        read: Map<String, Value>,
    },
    /// A script of a skill ran; an entry of `skill-script-executions.json`.
    SkillExecuted {
        /// The entry.
        execution: Map<String, Value>,
    },
    /// A run that this one started, and how it stands; a later row about the same run replaces this one.
    Subagent(Box<SubagentRun>),
    /// Something about where the content of files comes from.
    Provenance(Provenance),
    /// A runtime that follows labels is about to be told of a command; an entry of `cfcInvocationContexts`.
    InvocationContext {
        /// The entry: sizes, digests and labels.
        context: Map<String, Value>,
    },
    /// The run is over, until somebody resumes it.
    Ended(Ending),
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFinished {
    /// The gateway's name for the call.
    pub call_id: String,
    /// The tool, as the model called it.
    pub tool: String,
    /// The number of its output; none when the call was refused before it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_id: Option<String>,
    /// What became of it.
    pub execution: Execution,
    /// How long it took.
    pub duration_ms: u64,
    /// The file with the whole result, relative to the directory of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// Why it did not do what was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_detail: Option<String>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Execution {
    /// It did what was asked.
    Completed,
    /// It did not.
    Failed,
    /// It never began.
    NotRun,
    /// It began, and nobody knows how far it came.
    Interrupted,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// In one word.
    pub status: EndStatus,
    /// Why.
    pub terminal_reason: TerminalReason,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// How a run ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndStatus {
    /// The model had nothing more to say.
    Completed,
    /// It could not go on.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalReason {
    /// The model answered without asking for a call.
    AssistantCompleted,
    /// A tool failed in a way that no model can mend.
    ToolError,
    /// The turns are used up.
    MaxModelTurns,
    /// Tokens, money or time are used up.
    BudgetExhausted,
    /// The gateway, or the loop itself, failed.
    PromptLoopError,
    /// A signal.
    ProcessInterrupted,
}
