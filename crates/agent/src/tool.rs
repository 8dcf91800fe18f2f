//! What a tool is: a name, a schema, an effect, and a way to call it.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use fullsend_flow::{Deed, Label};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::Row;

/// The result of a call that takes time. Dropping it ends what is under way.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It looks. May run beside other reads, and again after an interruption.
    Read,
    /// It changes files of the workspace.
    Write,
    /// It may do anything that its sandbox allows.
    SideEffect,
}

/// Where an argument of a tool goes, by the name of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// It chooses what is looked at.
    Selector(&'static str),
    /// It is run.
    Program(&'static str),
    /// It is the path of a file that is changed.
    Target(&'static str),
    /// It becomes part of the file that the argument `path` names.
    Content(&'static str),
    /// It is an address, and its host gets to see it.
    Url(&'static str),
    /// Whoever is behind a page gets to see it.
    Page(&'static str),
    /// A child gets to see it.
    Child(&'static str),
}

/// What is said about a tool.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name, as models call it.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: String,
    /// What it does to the world.
    pub effect: Effect,
    /// The same, for the rules of flow.
    pub deed: Deed,
    /// Where its arguments go; one that is not named goes nowhere.
    pub sinks: &'static [Sink],
    /// The JSON Schema of its arguments, which are checked against it before the tool sees them.
    pub parameters: Value,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct ToolCallContext<'a> {
    /// The gateway's name for the call.
    pub call_id: &'a str,
    /// The number of this output: `<run>:<tool>:<sequence>`.
    pub output_id: &'a str,
    /// Arguments that satisfy the schema.
    pub input: &'a Map<String, Value>,
    /// What is already known about where these arguments came from.
    pub label: &'a Label,
}

/// An argument that cannot be used. Holds nothing that the model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadArgument {
    /// Which, as a JSON Pointer.
    pub field: String,
    /// What is expected.
    pub expected: String,
}

/// What a person sees of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// One line: what was done and what came of it.
    pub line: String,
    /// What changed, as a difference of lines.
    pub diff: Option<String>,
}

/// A picture that the model is to see after the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedImage {
    /// Where its bytes are kept, among the artifacts of the run.
    pub snapshot: PathBuf,
    /// The same bytes: they are large, and need not be read twice.
    pub bytes: Vec<u8>,
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: &'static str,
    /// `sha256:` and 64 digits.
    pub digest: String,
    /// What to call it in the conversation.
    pub name: String,
}

/// What came of a call. A failure that a model can cause is an output like any other.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The whole result, kept among the artifacts. Holds `outputId`.
    pub record: Value,
    /// What the model sees, where that is less than the record.
    pub model_view: Option<Value>,
    /// Whether the model gets a handle of it, also where its label would let it be seen: it would tell more than was agreed.
    pub withheld: bool,
    /// Where the result came from.
    pub label: Label,
    /// Pictures for the model.
    pub images: Vec<AttachedImage>,
    /// Why it did not do what was asked, if it did not.
    pub failure: Option<ToolFailure>,
    /// What a person sees.
    pub shown: Shown,
    /// What else belongs on record: uses of skills.
    pub rows: Vec<Row>,
}

/// Why a call did not do what was asked, for the report of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolFailure {
    /// `timeout`, `file_not_found`, `permission_denied`, `missing_binary`, `workspace_path_confusion`, `tool_not_allowed`,
    /// `not_a_file`, `harness_error` or `unknown`.
    pub kind: String,
    /// In words; nothing of the model's.
    pub detail: String,
    /// How a command ended.
    pub exit_code: Option<i32>,
}

/// What no model can cause or mend: the run ends, and can be resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFault {
    /// The sandbox is gone, or cannot do what it promised.
    #[error("the sandbox failed: {0}")]
    Sandbox(#[from] fullsend_sandbox::SandboxError),
    /// A child cannot be put on record.
    #[error(transparent)]
    Record(#[from] crate::store::StoreError),
    /// A child cannot be given what it works with.
    #[error(transparent)]
    Child(#[from] crate::subagent::Unequipped),
    /// A result cannot be kept, or is not what it was.
    #[error("cannot use `{}`: {source}", path.display())]
    Artifact {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// What a model may call.
pub trait Tool: fmt::Debug + Send + Sync {
    /// What is said about it.
    fn spec(&self) -> &ToolSpec;

    /// Calls it.
    fn call<'a>(&'a self, context: ToolCallContext<'a>) -> Pending<'a, Result<ToolOutput, ToolFault>>;

    /// What is wrong with arguments, in words that are better than those of the schema, which is asked afterwards.
    fn check(&self, _input: &Map<String, Value>) -> Result<(), BadArgument> {
        Ok(())
    }

    /// Whether the work is over with what came of a call.
    fn concludes(&self, _output: &ToolOutput) -> bool {
        false
    }

    /// Removes what a call with this input left unfinished in a process that was killed. What the call has done stays.
    fn clean_up(&self, _input: &Map<String, Value>) {}
}
