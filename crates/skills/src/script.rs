//! Scripts of skills, ready to be run: checked, with exactly the bytes that were indexed.
//!
//! A script is fed to its program on standard input, never run by its path: what is run is what was checked, whatever
//! happens to the file in the meantime. The price is that a script cannot load files by paths relative to itself.

mod allowed;
mod program;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::allowed::{AllowedScript, AllowedScriptError};
use crate::beneath::OpenError;
use crate::content::{self, ContentError};
use crate::{ContentDigest, Registry, Resource, ResourceKind, ScriptRuntime, Skill, path};

/// The most bytes of a script.
const MAX_SCRIPT_BYTES: u64 = 4 * 1024 * 1024;

/// Where a script is to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionTarget {
    /// In the sandbox of the run.
    #[default]
    Sandbox,
    /// On the host itself.
    Host,
}

impl ExecutionTarget {
    /// The word used in output and in the environment.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Host => "host",
        }
    }
}

/// A script that somebody wants to run.
#[derive(Clone, Copy, Debug)]
pub struct ScriptRequest<'a> {
    /// The name of the skill.
    pub skill: &'a str,
    /// The path below the skill.
    pub path: &'a str,
    /// What to pass to the script.
    pub args: &'a [String],
    /// The run.
    pub run_id: &'a str,
    /// Where it is to run.
    pub target: ExecutionTarget,
}

/// Why a script is not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScriptErrorCode {
    /// Path or arguments are malformed.
    ScriptPathInvalid,
    /// No skill has been activated.
    SkillActivationsMissing,
    /// No skill has this name.
    SkillNotFound,
    /// The skill has not been activated.
    SkillNotActivated,
    /// The operator has not allowed this script.
    ScriptNotAllowlisted,
    /// The file was not there when the run started.
    ScriptNotIndexed,
    /// The file is no script.
    ResourceNotScript,
    /// The file is gone.
    ScriptNotFound,
    /// The file may not be read.
    PermissionDenied,
    /// The path leads out of the skill now.
    ScriptOutsideRoot,
    /// It is no regular file any more.
    ScriptNotFile,
    /// It has changed since the run started.
    ScriptSnapshotMismatch,
    /// There is no safe way to run it.
    UnsupportedRuntime,
    /// Something else.
    Unknown,
}

/// Why a script is not run, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("{message}")]
pub struct ScriptRefusal {
    /// For programs.
    pub code: ScriptErrorCode,
    /// For the model.
    pub message: String,
}

impl ScriptRefusal {
    /// A refusal with its reason.
    #[must_use]
    pub fn new(code: ScriptErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: fullsend_yaml::printable(message.into()) }
    }
}

/// A script that may be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedScript {
    /// The name of the skill.
    pub skill: String,
    /// The path below the skill.
    pub path: String,
    /// What it is for.
    pub runtime: ScriptRuntime,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The script itself, for the program's standard input.
    pub stdin: Vec<u8>,
    /// Variables to set.
    pub environment: Vec<(&'static str, String)>,
    /// Where the script is on the host.
    pub resource_path: PathBuf,
    /// Where the script is in the sandbox.
    pub sandbox_resource_path: PathBuf,
    /// Its digest: when the run started, and now.
    pub digest: ContentDigest,
    /// Its size: when the run started, and now.
    pub size_bytes: u64,
}

type Refused<T> = Result<T, ScriptRefusal>;

impl Registry {
    /// Prepares a script, if its skill is among `activated` and it is itself among `allowed`.
    ///
    /// # Errors
    /// The first check that fails, from the request over what is permitted to the file itself.
    pub fn script(
        &self,
        request: &ScriptRequest<'_>,
        activated: &BTreeSet<String>,
        allowed: &[AllowedScript],
    ) -> Refused<PreparedScript> {
        let path = checked_path(request)?;
        let skill = self.permitted(request, &path, activated, allowed)?;
        let resource = skill.resource(&path).ok_or_else(|| {
            refuse(ScriptErrorCode::ScriptNotIndexed, &path, "was not there when the run started")
        })?;
        if resource.kind != ResourceKind::Script {
            return Err(refuse(ScriptErrorCode::ResourceNotScript, &path, "is not below `scripts/`"));
        }
        let bytes = bytes(skill, resource)?;
        let argv = program::argv(resource, &bytes, request.args)
            .map_err(|reason| refuse(ScriptErrorCode::UnsupportedRuntime, &path, reason))?;
        Ok(PreparedScript {
            skill: skill.name().to_owned(),
            runtime: resource.script.as_ref().map_or(ScriptRuntime::Unknown, |facts| facts.runtime),
            argv,
            stdin: bytes,
            environment: environment(request, skill, resource),
            resource_path: resource.resource_path.clone(),
            sandbox_resource_path: resource.sandbox_resource_path.clone(),
            digest: resource.digest,
            size_bytes: resource.size_bytes,
            path,
        })
    }

    /// The skill, if it and the script may be used.
    fn permitted(
        &self,
        request: &ScriptRequest<'_>,
        path: &str,
        activated: &BTreeSet<String>,
        allowed: &[AllowedScript],
    ) -> Refused<&Skill> {
        let name = request.skill;
        if activated.is_empty() {
            let message = "no skill has been activated in this run";
            return Err(ScriptRefusal::new(ScriptErrorCode::SkillActivationsMissing, message));
        }
        let Some(skill) = self.skill(name) else {
            let message = format!("there is no skill `{name}`");
            return Err(ScriptRefusal::new(ScriptErrorCode::SkillNotFound, message));
        };
        if !activated.contains(skill.name()) {
            let message = format!("the skill `{name}` has not been activated");
            return Err(ScriptRefusal::new(ScriptErrorCode::SkillNotActivated, message));
        }
        if !allowed.iter().any(|entry| entry.skill() == skill.name() && entry.path() == path) {
            let message =
                format!("`{}:{path}` is not among the scripts that the operator allows", skill.name());
            return Err(ScriptRefusal::new(ScriptErrorCode::ScriptNotAllowlisted, message));
        }
        Ok(skill)
    }
}

fn refuse(code: ScriptErrorCode, path: &str, reason: impl AsRef<str>) -> ScriptRefusal {
    ScriptRefusal::new(code, format!("`{path}` {}", reason.as_ref()))
}

fn checked_path(request: &ScriptRequest<'_>) -> Refused<String> {
    let invalid = |message: String| ScriptRefusal::new(ScriptErrorCode::ScriptPathInvalid, message);
    let path = path::normalize(request.path).map_err(|error| invalid(error.to_string()))?;
    if request.args.iter().any(|argument| argument.contains('\0')) {
        return Err(invalid("an argument holds a NUL character".to_owned()));
    }
    Ok(path)
}

/// The bytes of the script, if they are those that were indexed.
fn bytes(skill: &Skill, resource: &Resource) -> Refused<Vec<u8>> {
    let path = &resource.path;
    let file = skill
        .open()
        .and_then(|directory| directory.file(&resource.real))
        .map_err(|error| open_error(path, error))?;
    let changed =
        || refuse(ScriptErrorCode::ScriptSnapshotMismatch, path, "has changed since the run started");
    if resource.size_bytes > MAX_SCRIPT_BYTES {
        let reason = format!("has more than {MAX_SCRIPT_BYTES} bytes");
        return Err(refuse(ScriptErrorCode::UnsupportedRuntime, path, reason));
    }
    let keep = usize::try_from(resource.size_bytes).unwrap_or(usize::MAX);
    let content = content::examine(file, keep, resource.size_bytes).map_err(|error| match error {
        ContentError::TooLarge => changed(),
        ContentError::Io(error) => open_error(path, OpenError::Io(error)),
    })?;
    if content.digest != resource.digest || content.size != resource.size_bytes {
        return Err(changed());
    }
    Ok(content.head)
}

fn open_error(path: &str, error: OpenError) -> ScriptRefusal {
    match error {
        OpenError::Outside => refuse(ScriptErrorCode::ScriptOutsideRoot, path, "leads out of the skill now"),
        OpenError::NotFile => refuse(ScriptErrorCode::ScriptNotFile, path, "is not a regular file now"),
        OpenError::Io(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse(ScriptErrorCode::ScriptNotFound, path, "is gone")
        }
        OpenError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            refuse(ScriptErrorCode::PermissionDenied, path, "may not be read")
        }
        OpenError::Io(error) => refuse(ScriptErrorCode::Unknown, path, format!("cannot be read: {error}")),
    }
}

fn environment(
    request: &ScriptRequest<'_>,
    skill: &Skill,
    resource: &Resource,
) -> Vec<(&'static str, String)> {
    let (directory, script) = match request.target {
        ExecutionTarget::Sandbox => (&skill.sandbox_skill_dir, &resource.sandbox_resource_path),
        ExecutionTarget::Host => (&skill.skill_dir, &resource.resource_path),
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    vec![
        ("FULLSEND_RUN_ID", request.run_id.to_owned()),
        ("SKILL_NAME", skill.name().to_owned()),
        ("SKILL_DIR", text(directory)),
        ("SKILL_SCRIPT", text(script)),
        ("FULLSEND_SKILL_SCRIPT_EXECUTION_TARGET", request.target.as_str().to_owned()),
    ]
}
