//! What a run is asked to be, whoever asks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_guard::CanaryToken;
use fullsend_model::ModelClient;
use fullsend_skills::AllowedScript;
use serde_json::Value;

use super::error::SceneError;
use crate::browser::Lease;
use crate::gate::{FlowMode, PromptRole};
use crate::manifest::RunManifest;
use crate::store::Provenance;
use crate::subagent::Profile;
use crate::workspace::{Access, HostMount};

/// Every tool that a run may be given by name.
pub const TOOLS: [&str; 12] = [
    "bash",
    "read_file",
    "view_image",
    "web_fetch",
    "read_skill_resource",
    "run_skill_script",
    "load_skill",
    "edit_file",
    "write_file",
    "list_files",
    "search_files",
    "delegate_task",
];

/// Tools that have to be asked for.
pub const NOT_BY_DEFAULT: [&str; 2] = ["web_fetch", "run_skill_script"];

/// What a run is asked to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The directory that the run works in.
    pub workspace: PathBuf,
    /// Where the sandbox sees it.
    pub target: String,
    /// What tools may do in it.
    pub access: Access,
    /// Where the run starts; none for the workspace itself.
    pub cwd: Option<PathBuf>,
    /// Where the agent is told to look first.
    pub focus: Option<PathBuf>,
    /// Other directories of the host.
    pub mounts: Vec<HostMount>,
    /// Where runs are kept.
    pub artifact_root: PathBuf,
    /// The image of a container; none for the local sandbox.
    pub image: Option<String>,
    /// The runtime of a container.
    pub runtime: Option<String>,
    /// The directories of a runtime that follows labels itself.
    pub sidecars: SidecarDirs,
    /// The hosts that commands can reach.
    pub hosts: BTreeSet<String>,
    /// The tools that may be called.
    pub tools: BTreeSet<String>,
    /// What subagents may be.
    pub profiles: Vec<Profile>,
    /// The model that searches the web.
    pub search_model: String,
    /// The browser that subagents may drive.
    pub lease: Option<Lease>,
    /// The scripts of skills that may run.
    pub scripts: Vec<AllowedScript>,
    /// How strictly flows are judged.
    pub mode: FlowMode,
    /// What the prompt is to the agent.
    pub role: PromptRole,
    /// Who decided that.
    pub provenance: Provenance,
    /// What whoever started the run says about it.
    pub manifest: Option<RunManifest>,
    /// By which rules flows are judged.
    pub policy: fullsend_flow::Policy,
    /// The tokens that were planted, if any were.
    pub canaries: Option<Canaries>,
    /// Where skills are; the first has precedence.
    pub skills_roots: Vec<PathBuf>,
    /// Skills that are in use from the start.
    pub preload: Vec<String>,
    /// Whether the model is told which skills there are.
    pub catalogue: bool,
    /// Files of the project that are shown to the model as what they are: notes of others.
    pub notes: Vec<PathBuf>,
    /// The file that the run has to write, and its schema.
    pub structured: Option<(PathBuf, Value)>,
    /// How that file comes to be.
    pub delivery: Delivery,
    /// Instructions of the operator.
    pub system_prompt: Option<String>,
    /// Whether a person follows the run.
    pub operator: bool,
}

/// How the structured result of a run comes to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The agent writes the file.
    #[default]
    File,
    /// The agent may also call a tool for it, which ends the work.
    FileOrTool,
}

/// Tokens that were planted where nobody has business.
#[derive(Clone, Debug)]
pub struct Canaries {
    /// The file that they were read from, by its real name; none if they were made for this run.
    pub file: Option<PathBuf>,
    /// The tokens.
    pub tokens: Vec<CanaryToken>,
}

impl Canaries {
    /// Refuses a file that the run could write to: whoever can change the list can take tokens out of it.
    pub(super) fn keep_out_of<'a>(
        &self,
        mut reachable: impl Iterator<Item = &'a Path>,
    ) -> Result<(), SceneError> {
        let Some(file) = &self.file else { return Ok(()) };
        match reachable.any(|within| file.starts_with(within)) {
            true => Err(SceneError::CanariesInReach(file.clone())),
            false => Ok(()),
        }
    }
}

/// The directories of a runtime that follows labels itself; none of both is the usual case, in which the harness judges on
/// its own.
#[derive(Clone, Debug, Default)]
pub struct SidecarDirs {
    /// What the runtime is told.
    pub contexts: Option<PathBuf>,
    /// What it answers.
    pub results: Option<PathBuf>,
}

impl SidecarDirs {
    /// Whether there is any.
    pub fn is_wired(&self) -> bool {
        self.contexts.is_some() || self.results.is_some()
    }

    /// Refuses directories that commands could write to: they would say themselves what they have become.
    pub(super) fn keep_out_of<'a>(
        &self,
        reachable: impl Iterator<Item = &'a Path> + Clone,
    ) -> Result<(), SceneError> {
        for path in [&self.contexts, &self.results].into_iter().flatten() {
            if let Some(within) = reachable.clone().find(|within| path.starts_with(within)) {
                let (path, within) = (path.clone(), within.to_owned());
                return Err(SceneError::SidecarsInReach { path, within });
            }
        }
        Ok(())
    }
}

/// The model that a run asks, and what is on record about it.
#[derive(Clone, Debug)]
pub struct ChosenModel {
    /// Who answers.
    pub client: Arc<dyn ModelClient>,
    /// Its name, as the gateway knows it.
    pub name: String,
    /// Where it is asked.
    pub url: String,
    /// How: `bearer`, `none`, or `replay`.
    pub auth: &'static str,
}
