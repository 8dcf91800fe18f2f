//! How the parts of a run see each other: commands and files share a current directory, tools keep what they make in the
//! artifacts of the run.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::execution::{Spill, Whereabouts};
use crate::store::Artifacts;
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

    fn resolve(&self, path: &str) -> Option<String> {
        self.resolved(path).map(|path| path.as_str().to_owned())
    }

    fn move_to(&self, path: &str) {
        if let Some(path) = self.resolved(path) {
            self.current.set(path);
        }
    }
}
