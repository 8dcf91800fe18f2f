//! Reading a resource for a model.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::beneath::OpenError;
use crate::content::{self, Content, ContentError};
use crate::{ContentDigest, ContentKind, Note, Registry, Resource, ResourceKind, Skill, path, rules};

/// How much is read when nothing is said.
pub const DEFAULT_READ_BYTES: usize = 64_000;
/// How much can be asked for.
pub const MAX_READ_BYTES: usize = 256_000;

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadStatus {
    /// There is content.
    Read,
    /// The file is not text; there is no content.
    Binary,
    /// The file was not read.
    Error,
}

/// Why a resource was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReadErrorCode {
    /// The path is absolute, leads out, or names nothing.
    ResourcePathInvalid,
    /// No skill has this name.
    SkillNotFound,
    /// The file was not there when the run started.
    ResourceNotIndexed,
    /// The file is gone.
    ResourceNotFound,
    /// The file may not be read.
    PermissionDenied,
    /// The path leads out of the skill now.
    ResourceOutsideRoot,
    /// It is no regular file any more.
    ResourceNotFile,
    /// It has grown beyond what is read.
    ResourceTooLarge,
    /// Something else.
    Unknown,
}

/// Why a resource was not read, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadError {
    /// For programs.
    pub code: ReadErrorCode,
    /// For the model.
    pub message: String,
}

/// What came of reading a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRead {
    /// The skill that was asked for.
    pub skill: String,
    /// The path, normalised if it could be.
    pub path: String,
    /// How it ended.
    pub status: ReadStatus,
    /// How the content counts in a conversation: as context, never as instruction.
    pub cfc_prompt_role: &'static str,
    /// What the resource is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ResourceKind>,
    /// Where it is on the host. For artifacts; a model is not shown paths of the host.
    #[serde(skip)]
    pub resource_path: Option<PathBuf>,
    /// Where it is in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_resource_path: Option<PathBuf>,
    /// Its digest when the run started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_digest: Option<ContentDigest>,
    /// Its digest now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_digest: Option<ContentDigest>,
    /// Whether the two are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest_matches_registry: Option<bool>,
    /// Its size when the run started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_size_bytes: Option<u64>,
    /// Its size now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_size_bytes: Option<u64>,
    /// Whether it is text now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_kind: Option<ContentKind>,
    /// How much was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
    /// Whether there is more than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// What was odd.
    pub diagnostics: Vec<Note>,
    /// Why there is no content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ReadError>,
}

impl ResourceRead {
    fn new(skill: &str, path: &str) -> Self {
        Self {
            skill: skill.to_owned(),
            path: path.to_owned(),
            status: ReadStatus::Error,
            cfc_prompt_role: "context",
            kind: None,
            resource_path: None,
            sandbox_resource_path: None,
            registry_digest: None,
            observed_digest: None,
            digest_matches_registry: None,
            registry_size_bytes: None,
            observed_size_bytes: None,
            content_kind: None,
            max_bytes: None,
            truncated: None,
            content: None,
            diagnostics: Vec::new(),
            error: None,
        }
    }

    fn failed(mut self, code: ReadErrorCode, message: String) -> Self {
        self.status = ReadStatus::Error;
        self.error = Some(ReadError { code, message: fullsend_yaml::printable(message) });
        self
    }

    fn about(&mut self, resource: &Resource, max_bytes: usize) {
        self.kind = Some(resource.kind);
        self.resource_path = Some(resource.resource_path.clone());
        self.sandbox_resource_path = Some(resource.sandbox_resource_path.clone());
        self.registry_digest = Some(resource.digest);
        self.registry_size_bytes = Some(resource.size_bytes);
        self.max_bytes = Some(max_bytes);
    }

    fn observed(&mut self, resource: &Resource, found: &Content, max_bytes: usize) {
        let matches = found.digest == resource.digest && found.size == resource.size_bytes;
        self.observed_digest = Some(found.digest);
        self.observed_size_bytes = Some(found.size);
        self.digest_matches_registry = Some(matches);
        self.content_kind = Some(found.kind);
        if !matches {
            let detail = format!("`{}` is not the file that was indexed when the run started", resource.path);
            let path = Some(resource.sandbox_resource_path.clone());
            self.diagnostics.push(Note::new(&rules::SNAPSHOT_MISMATCH, detail, path));
        }
        match found.kind {
            ContentKind::Binary => {
                self.status = ReadStatus::Binary;
                self.truncated = Some(false);
            }
            ContentKind::Text => {
                self.status = ReadStatus::Read;
                self.truncated = Some(found.size > max_bytes as u64);
                self.content = Some(content::text_within(&found.head, max_bytes));
            }
        }
    }
}

impl Registry {
    /// Reads a file of a skill, at most `max_bytes` of it and never more than [`MAX_READ_BYTES`].
    ///
    /// The skill need not be activated. A file that has changed since the run started is returned as it is now, with a
    /// diagnostic; one that was not there then is not read.
    #[must_use]
    pub fn read_resource(&self, skill: &str, path: &str, max_bytes: usize) -> ResourceRead {
        let max_bytes = max_bytes.min(MAX_READ_BYTES);
        let mut read = ResourceRead::new(skill, path);
        match path::normalize(path) {
            Ok(normalized) => read.path = normalized,
            Err(error) => return read.failed(ReadErrorCode::ResourcePathInvalid, error.to_string()),
        }
        let Some(found) = self.skill(skill) else {
            return read.failed(ReadErrorCode::SkillNotFound, format!("there is no skill `{skill}`"));
        };
        let Some(resource) = found.resource(&read.path) else {
            let message = format!("`{}` was not a file of the skill when the run started", read.path);
            return read.failed(ReadErrorCode::ResourceNotIndexed, message);
        };
        read.about(resource, max_bytes);
        // One byte more than asked for tells whether the end cuts a character.
        match examine(found, resource, max_bytes + 1, self.limits.resource_bytes) {
            Ok(content) => {
                read.observed(resource, &content, max_bytes);
                read
            }
            Err((code, message)) => {
                let message = format!("`{}` {message}", read.path);
                read.failed(code, message)
            }
        }
    }
}

fn examine(
    skill: &Skill,
    resource: &Resource,
    keep: usize,
    limit: u64,
) -> Result<Content, (ReadErrorCode, String)> {
    let file = skill.open().and_then(|directory| directory.file(&resource.real)).map_err(open_error)?;
    content::examine(file, keep, limit).map_err(|error| match error {
        ContentError::Io(error) => open_error(OpenError::Io(error)),
        ContentError::TooLarge => {
            (ReadErrorCode::ResourceTooLarge, format!("has more than {limit} bytes now"))
        }
    })
}

fn open_error(error: OpenError) -> (ReadErrorCode, String) {
    match error {
        OpenError::Outside => (ReadErrorCode::ResourceOutsideRoot, "leads out of the skill now".to_owned()),
        OpenError::NotFile => (ReadErrorCode::ResourceNotFile, "is not a regular file now".to_owned()),
        OpenError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            (ReadErrorCode::ResourceNotFound, "is gone".to_owned())
        }
        OpenError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            (ReadErrorCode::PermissionDenied, "may not be read".to_owned())
        }
        OpenError::Io(error) => (ReadErrorCode::Unknown, format!("cannot be read: {error}")),
    }
}
