//! What a run was started with, as far as it decides what the run may do.

mod narrowing;
mod provenance;

use std::collections::BTreeSet;
use std::path::PathBuf;

use fullsend_flow::Policy;
use serde::{Deserialize, Serialize};

pub use narrowing::{Widened, Widening};
pub use provenance::{Provenance, RecordedManifest, ToolAllowance};

use crate::budget::Limits;
use crate::gate::{FlowMode, PromptRole};

/// Everything that decides what a run may do. Lists are complete: what was left to a default is spelled out, so that a later
/// version with other defaults cannot widen the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedSettings {
    /// The workspace, on the host.
    pub workspace: PathBuf,
    /// Where commands start, in the sandbox.
    pub start_dir: String,
    /// The tools that may be called.
    pub tools: BTreeSet<String>,
    /// The profiles that subagents may have.
    pub subagent_profiles: BTreeSet<String>,
    /// The scripts of skills that may run: `<skill>:scripts/<path>`.
    pub skill_scripts: BTreeSet<String>,
    /// Directories of the host in the sandbox, besides the workspace.
    pub mounts: Vec<RecordedMount>,
    /// What confines commands.
    pub sandbox: RecordedSandbox,
    /// The model that answers.
    pub model: String,
    /// Who is asked for it.
    pub gateway: RecordedGateway,
    /// What the run may use.
    pub limits: RecordedLimits,
    /// How strictly flows are judged.
    pub flow_mode: FlowMode,
    /// By which rules.
    #[serde(default)]
    pub flow_policy: Policy,
    /// The file with the tokens that were planted, if any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_file: Option<PathBuf>,
    /// What the prompt is to the agent.
    pub prompt_role: PromptRole,
    /// Where skills were found, and what was there.
    pub skills_roots: Vec<RecordedRoot>,
    /// The file that the run has to write, if it has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_result: Option<RecordedResult>,
    /// Who decided, as far as it is not the command line alone.
    #[serde(default)]
    pub provenance: Provenance,
}

/// A directory of the host in the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedMount {
    /// On the host.
    pub host: PathBuf,
    /// In the sandbox.
    pub sandbox: String,
    /// What may be done there.
    pub access: MountAccess,
}

/// What may be done in a mounted directory, the lesser first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MountAccess {
    /// Looking.
    ReadOnly,
    /// Changing.
    ReadWrite,
}

/// What confines commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedSandbox {
    /// `local`, `docker`.
    pub backend: String,
    /// The image of a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The runtime of a container; none is the engine's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The hosts that may be reached, as they were written.
    pub network_hosts: BTreeSet<String>,
}

/// Who is asked for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedGateway {
    /// Its address, without a key.
    pub url: String,
    /// How the client shows who it is: `bearer`, `none`.
    pub auth: String,
}

/// What a run may use, all of its parts together. None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedLimits {
    /// Answers of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_turns: Option<u64>,
    /// Calls of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Tokens of requests and answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// Bytes of results that the model sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

impl RecordedLimits {
    /// What is on record of these limits.
    pub fn of(limits: &Limits) -> Self {
        Self {
            model_turns: Some(u64::from(limits.turns)),
            total_tokens: Some(limits.tokens),
            cost_usd: Some(limits.cost_usd),
            seconds: Some(limits.time.as_secs()),
            output_bytes: Some(limits.output_bytes),
            ..Self::default()
        }
    }
}

/// A directory of skills.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedRoot {
    /// On the host.
    pub path: PathBuf,
    /// The digest of what was in it.
    pub digest: String,
}

/// A file that a run has to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedResult {
    /// The file.
    pub path: PathBuf,
    /// The digest of the schema that it must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_digest: Option<String>,
}
