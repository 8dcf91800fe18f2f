//! What is kept of skills among the artifacts of a run.
//!
//! `skill-registry.json` is [`RegistryRecord`]; the three logs here are what was activated, read and executed. None of
//! them holds the content of a file or the output of a script.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::registry::RegistryRecord;
use crate::{
    ContentDigest, ContentKind, ExecutionTarget, PreparedScript, ReadError, ReadStatus, ResourceKind,
    ResourceRead, ScriptRefusal, ScriptRuntime, Skill,
};

/// How text of skills counts in a conversation.
const PROMPT_ROLE: &str = "context";

/// Who asked for a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActivationSource {
    /// The command line.
    CliPreload,
    /// The model.
    ModelTool,
    /// A person in the conversation.
    UserExplicit,
    /// The agent that started this one.
    SubagentInherit,
}

/// One activation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    /// The name of the skill.
    pub name: String,
    /// Who asked for it.
    pub source: ActivationSource,
    /// The run.
    pub run_id: String,
    /// Its `SKILL.md` on the host.
    pub skill_path: PathBuf,
    /// Its directory on the host.
    pub skill_dir: PathBuf,
    /// Its `SKILL.md` in the sandbox.
    pub sandbox_skill_path: PathBuf,
    /// Its directory in the sandbox.
    pub sandbox_skill_dir: PathBuf,
    /// The digest of the `SKILL.md` that was brought into the conversation.
    pub digest: ContentDigest,
    /// When.
    pub activated_at: String,
    /// How the text counts in the conversation.
    pub cfc_prompt_role: String,
}

impl Activation {
    /// The activation of `skill` in a run.
    #[must_use]
    pub fn new(skill: &Skill, source: ActivationSource, run_id: &str, activated_at: &str) -> Self {
        Self {
            name: skill.name().to_owned(),
            source,
            run_id: run_id.to_owned(),
            skill_path: skill.skill_path.clone(),
            skill_dir: skill.skill_dir.clone(),
            sandbox_skill_path: skill.sandbox_skill_path.clone(),
            sandbox_skill_dir: skill.sandbox_skill_dir.clone(),
            digest: skill.digest,
            activated_at: activated_at.to_owned(),
            cfc_prompt_role: PROMPT_ROLE.to_owned(),
        }
    }
}

/// One read of a resource, without its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReadRecord {
    #[serde(rename = "type")]
    kind_of_record: String,
    /// The number of the output.
    pub output_id: String,
    /// The run.
    pub run_id: String,
    /// The skill that was asked for.
    pub skill_name: String,
    /// The path.
    pub path: String,
    /// How it ended.
    pub status: ReadStatus,
    /// When.
    pub read_at: String,
    /// How the content counts in the conversation.
    pub cfc_prompt_role: String,
    /// What the resource is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ResourceKind>,
    /// Where it is on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_path: Option<PathBuf>,
    /// Where it is in the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_resource_path: Option<PathBuf>,
    /// Its digest when the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_digest: Option<ContentDigest>,
    /// Its digest when it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_digest: Option<ContentDigest>,
    /// Whether the two are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_matches_registry: Option<bool>,
    /// Its size when the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_size_bytes: Option<u64>,
    /// Its size when it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_size_bytes: Option<u64>,
    /// Whether it was text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_kind: Option<ContentKind>,
    /// How much was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
    /// Whether there was more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// What was odd.
    pub diagnostics: Vec<Value>,
    /// Why it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ReadError>,
}

impl ResourceReadRecord {
    /// The record of a read.
    #[must_use]
    pub fn new(read: &ResourceRead, output_id: &str, run_id: &str, read_at: &str) -> Self {
        let diagnostics = read.diagnostics.iter().filter_map(|note| serde_json::to_value(note).ok());
        Self {
            kind_of_record: "fullsend.skill-resource-read".to_owned(),
            output_id: output_id.to_owned(),
            run_id: run_id.to_owned(),
            skill_name: read.skill.clone(),
            path: read.path.clone(),
            status: read.status,
            read_at: read_at.to_owned(),
            cfc_prompt_role: read.cfc_prompt_role.to_owned(),
            kind: read.kind,
            resource_path: read.resource_path.clone(),
            sandbox_resource_path: read.sandbox_resource_path.clone(),
            registry_digest: read.registry_digest,
            observed_digest: read.observed_digest,
            digest_matches_registry: read.digest_matches_registry,
            registry_size_bytes: read.registry_size_bytes,
            observed_size_bytes: read.observed_size_bytes,
            content_kind: read.content_kind,
            max_bytes: read.max_bytes,
            truncated: read.truncated,
            diagnostics: diagnostics.collect(),
            error: read.error.clone(),
        }
    }
}

/// Whether a script ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionStatus {
    /// It ran; how it ended is its exit code.
    Executed,
    /// It did not run.
    Error,
}

/// One execution of a script, without its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScriptExecutionRecord {
    #[serde(rename = "type")]
    kind_of_record: String,
    /// The number of the output.
    pub output_id: String,
    /// The run.
    pub run_id: String,
    /// The skill.
    pub skill_name: String,
    /// The path.
    pub path: String,
    /// Whether it ran.
    pub status: ExecutionStatus,
    /// When.
    pub executed_at: String,
    /// Where it ran, or was to run.
    pub execution_target: ExecutionTarget,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<ScriptRuntime>,
    /// The program and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// What was passed to the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Where the script is on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_path: Option<PathBuf>,
    /// Where the script is in the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_resource_path: Option<PathBuf>,
    /// Its digest when the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_digest: Option<ContentDigest>,
    /// Its digest when it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_digest: Option<ContentDigest>,
    /// Whether the two are the same; a script that has changed is not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest_matches_registry: Option<bool>,
    /// Its size when the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_size_bytes: Option<u64>,
    /// Its size when it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_size_bytes: Option<u64>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What was odd.
    pub diagnostics: Vec<Value>,
    /// Why it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ScriptRefusal>,
}

/// What identifies an execution, whatever came of it.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionContext<'a> {
    /// The number of the output.
    pub output_id: &'a str,
    /// The run.
    pub run_id: &'a str,
    /// When.
    pub executed_at: &'a str,
    /// Where.
    pub target: ExecutionTarget,
}

impl ScriptExecutionRecord {
    /// The record of a script that ran and ended with `exit_code`.
    #[must_use]
    pub fn executed(
        context: ExecutionContext<'_>,
        script: &PreparedScript,
        args: &[String],
        cwd: PathBuf,
        exit_code: i32,
    ) -> Self {
        Self {
            runtime: Some(script.runtime),
            argv: Some(script.argv.clone()),
            args: Some(args.to_vec()),
            cwd: Some(cwd),
            resource_path: Some(script.resource_path.clone()),
            sandbox_resource_path: Some(script.sandbox_resource_path.clone()),
            registry_digest: Some(script.digest),
            observed_digest: Some(script.digest),
            digest_matches_registry: Some(true),
            registry_size_bytes: Some(script.size_bytes),
            observed_size_bytes: Some(script.size_bytes),
            exit_code: Some(exit_code),
            ..Self::new(context, &script.skill, &script.path, ExecutionStatus::Executed)
        }
    }

    /// The record of a script that did not run.
    #[must_use]
    pub fn refused(context: ExecutionContext<'_>, skill: &str, path: &str, refusal: ScriptRefusal) -> Self {
        Self { error: Some(refusal), ..Self::new(context, skill, path, ExecutionStatus::Error) }
    }

    fn new(context: ExecutionContext<'_>, skill: &str, path: &str, status: ExecutionStatus) -> Self {
        Self {
            kind_of_record: "fullsend.skill-script-execution".to_owned(),
            output_id: context.output_id.to_owned(),
            run_id: context.run_id.to_owned(),
            skill_name: skill.to_owned(),
            path: path.to_owned(),
            status,
            executed_at: context.executed_at.to_owned(),
            execution_target: context.target,
            runtime: None,
            argv: None,
            args: None,
            cwd: None,
            resource_path: None,
            sandbox_resource_path: None,
            registry_digest: None,
            observed_digest: None,
            digest_matches_registry: None,
            registry_size_bytes: None,
            observed_size_bytes: None,
            exit_code: None,
            diagnostics: Vec::new(),
            error: None,
        }
    }
}

macro_rules! log {
    ($(#[$doc:meta])* $name:ident, $type:literal, $entries:ident: $entry:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            #[serde(rename = "type")]
            kind: String,
            version: u32,
            /// When it was last written.
            pub generated_at: String,
            /// The entries, oldest first.
            pub $entries: Vec<$entry>,
        }

        impl $name {
            /// A log with these entries.
            #[must_use]
            pub fn new(generated_at: impl Into<String>, $entries: Vec<$entry>) -> Self {
                Self { kind: $type.to_owned(), version: 1, generated_at: generated_at.into(), $entries }
            }
        }
    };
}

log!(
    /// `skill-activations.json`.
    ActivationLog, "fullsend.skill-activations", activations: Activation
);
log!(
    /// `skill-resource-reads.json`.
    ResourceReadLog, "fullsend.skill-resource-reads", reads: ResourceReadRecord
);
log!(
    /// `skill-script-executions.json`.
    ScriptExecutionLog, "fullsend.skill-script-executions", executions: ScriptExecutionRecord
);
