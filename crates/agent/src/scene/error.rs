//! Why there is no scene.

use std::io;
use std::path::PathBuf;

use fullsend_fetch::get::RulesError;
use fullsend_sandbox::SandboxError;
use fullsend_skills::UnknownSkills;

use crate::engine::{ResumeError, RunError};
use crate::schema::SchemaError;
use crate::sidecar::SidecarError;
use crate::store::{ArtifactError, StoreError, Widened};
use crate::structured::StructuredError;
use crate::workspace::{FileProblem, HostPathError, PathProblem, WorkspaceError};

/// Why a run cannot begin, go on, or come to an end. Nothing that a model can cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The directory of runs.
    #[error("cannot make the directory for runs, `{}`", path.display())]
    ArtifactRoot {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A directory of the run.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// There is no container to run in another way.
    #[error("a runtime of containers needs an image")]
    RuntimeWithoutImage,
    /// Commands could write labels.
    #[error("`{}` is in `{}`, where commands reach it", path.display(), within.display())]
    SidecarsInReach {
        /// The directory of labels.
        path: PathBuf,
        /// What commands see.
        within: PathBuf,
    },
    /// The run could change what tokens are looked for.
    #[error("the list of canary tokens `{}` is where the agent reaches it", .0.display())]
    CanariesInReach(PathBuf),
    /// The structured result is nowhere.
    #[error("the structured result `{}` cannot be used", path.display())]
    ResultPath {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: HostPathError,
    },
    /// The structured result could not be written.
    #[error("the structured result `{}` is where the agent may not write", .0.display())]
    ResultReadOnly(PathBuf),
    /// The structured result cannot be expected.
    #[error(transparent)]
    Result(#[from] StructuredError),
    /// A directory of skills is missing.
    #[error("the skills in `{}` cannot be used", .0.display())]
    NoSkills(PathBuf),
    /// A directory of skills is where the sandbox does not see it.
    #[error("the skills in `{}` cannot be used", path.display())]
    SkillsPath {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: HostPathError,
    },
    /// Skills are named, and there is no directory of skills.
    #[error("a skill is named, and no directory of skills")]
    PreloadWithoutSkills,
    /// Scripts of skills are allowed, and there is no directory of skills.
    #[error("a script of a skill is allowed, and no directory of skills is named")]
    ScriptsWithoutSkills,
    /// A skill that does not exist.
    #[error(transparent)]
    UnknownSkills(#[from] UnknownSkills),
    /// The run cannot start where it should.
    #[error("the agent cannot begin in `{}`", .0.display())]
    NoStart(PathBuf),
    /// The run would start outside of what the sandbox sees.
    #[error("the agent cannot begin in `{}`", path.display())]
    StartPath {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: HostPathError,
    },
    /// The place to look first is outside of what the sandbox sees.
    #[error("the agent cannot be told to look in `{}` first", path.display())]
    Focus {
        /// The place.
        path: PathBuf,
        /// Why not.
        source: HostPathError,
    },
    /// A picture without a name.
    #[error("a picture has no name")]
    UnnamedPicture,
    /// A picture that is outside of what the sandbox sees.
    #[error("the picture `{}` cannot be used", path.display())]
    PicturePath {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: HostPathError,
    },
    /// A picture that cannot be read.
    #[error("the picture `{}` cannot be used", path.display())]
    PictureFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: FileProblem,
    },
    /// A file that is no picture.
    #[error("`{}` is no PNG, JPEG, GIF or WebP picture", .0.display())]
    NoPicture(PathBuf),
    /// A run that goes on would do more.
    #[error(transparent)]
    Widened(#[from] Widened),
    /// A path on record that is none.
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// The files beside the container.
    #[error(transparent)]
    Sidecars(#[from] SidecarError),
    /// The rules by which pages are requested.
    #[error(transparent)]
    Web(#[from] RulesError),
    /// The schema of a tool.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the record.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The record of a run that goes on.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The loop.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl SceneError {
    /// What to do about it, where that can be said.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::RuntimeWithoutImage => Some("name an image"),
            Self::SidecarsInReach { .. } => Some("use a directory that the agent does not see"),
            Self::CanariesInReach(_) => Some("keep it in a directory that the agent does not see"),
            Self::NoSkills(_) => Some("name a directory in the workspace or in a mounted directory"),
            Self::PreloadWithoutSkills | Self::ScriptsWithoutSkills => Some("name a directory of skills"),
            Self::NoStart(_) => Some("name a directory in the workspace"),
            Self::ArtifactRoot { .. }
            | Self::Workspace(_)
            | Self::ResultPath { .. }
            | Self::ResultReadOnly(_)
            | Self::Result(_)
            | Self::SkillsPath { .. }
            | Self::UnknownSkills(_)
            | Self::StartPath { .. }
            | Self::Focus { .. }
            | Self::UnnamedPicture
            | Self::PicturePath { .. }
            | Self::PictureFile { .. }
            | Self::NoPicture(_)
            | Self::Widened(_)
            | Self::Path(_)
            | Self::Sidecars(_)
            | Self::Web(_)
            | Self::Schema(_)
            | Self::Sandbox(_)
            | Self::Store(_)
            | Self::Artifact(_)
            | Self::Resume(_)
            | Self::Run(_) => None,
        }
    }
}
