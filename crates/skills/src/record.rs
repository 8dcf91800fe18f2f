//! What is kept of skills among the artifacts of a run.
//!
//! `skill-registry.json` is [`RegistryRecord`]; the records here are what was activated and read. None of them holds the
//! content of a file.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::registry::RegistryRecord;
use crate::{ContentDigest, ContentKind, ReadError, ReadStatus, ResourceKind, ResourceRead, Skill};

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
