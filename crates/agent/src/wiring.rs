//! How the parts of a run see each other: commands and files share a current directory, tools keep what they make in the
//! artifacts of the run.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use fullsend_skills::{ExecutionTarget, PreparedScript, ScriptRequest};

use crate::execution::{Spill, Whereabouts};
use crate::store::Artifacts;
use crate::tools::{Prepared, Refusal, ScriptSource, SkillSet};
use crate::workspace::{CurrentDir, SandboxPath, Workspace};

impl Spill for Artifacts {
    fn spill(&self, output_id: &str, stream: &str) -> io::Result<(PathBuf, Box<dyn Write + Send>)> {
        let (path, file) = Self::spill(self, output_id, stream)?;
        Ok((path, Box::new(file)))
    }
}

/// The current directory of file tools, for commands.
#[derive(Debug)]
pub struct SharedDirectory {
    workspace: Arc<Workspace>,
    current: CurrentDir,
}

impl SharedDirectory {
    /// The directory of both.
    pub fn new(workspace: Arc<Workspace>, current: CurrentDir) -> Self {
        Self { workspace, current }
    }

    fn resolved(&self, path: &str) -> Option<SandboxPath> {
        self.workspace.resolve(path, &self.current.get()).ok()
    }
}

impl Whereabouts for SharedDirectory {
    fn current(&self) -> String {
        self.current.get().as_str().to_owned()
    }

    fn home(&self) -> String {
        let first = self.workspace.mounts().first();
        first.map_or_else(|| self.current(), |mount| mount.target().as_str().to_owned())
    }

    fn resolve(&self, path: &str) -> Option<String> {
        self.resolved(path).map(|path| path.as_str().to_owned())
    }

    fn move_to(&self, path: &str) {
        if let Some(path) = self.resolved(path) {
            self.current.set(path);
        }
    }
}

impl ScriptSource for SkillSet {
    fn prepare(&self, skill: &str, path: &str, args: &[String]) -> Result<Prepared, Refusal> {
        let run_id = self.run_id().as_str();
        let request = ScriptRequest { skill, path, args, run_id, target: ExecutionTarget::Sandbox };
        let registry = self.registry();
        let prepared = registry.script(&request, &self.active(), self.allowed());
        let PreparedScript { runtime, argv, stdin, environment, sandbox_resource_path, digest, .. } =
            prepared.map_err(|refusal| Refusal { code: word(&refusal.code), message: refusal.message })?;
        Ok(Prepared {
            runtime: word(&runtime),
            argv,
            stdin,
            environment: environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            sandbox_path: sandbox_resource_path.display().to_string(),
            digest: digest.to_string(),
            label: self.label(skill, Some(path)),
        })
    }
}

/// The name that a value has in records.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
