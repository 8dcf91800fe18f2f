//! Agent definitions that harnesses name.

use std::collections::HashSet;
use std::path::PathBuf;

use fullsend_yaml::Diagnostic;

use crate::library::Library;
use crate::path;
use crate::schema::HarnessFile;

/// Checks each agent definition once.
#[derive(Debug, Default)]
pub(super) struct AgentFiles {
    checked: HashSet<String>,
    read: HashSet<PathBuf>,
}

impl AgentFiles {
    pub(super) fn check(
        &mut self,
        library: &mut Library,
        harness: &HarnessFile,
        problems: &mut Vec<Diagnostic>,
    ) {
        let Some(written) = harness.agent.as_ref().and_then(|agent| agent.local()) else { return };
        if self.checked.contains(written) {
            return;
        }
        self.checked.insert(written.to_owned());
        let path = path::resolve(library.root(), written).filter(|path| path.is_file());
        // Two spellings may name one file.
        if let Some(path) = path.filter(|path| self.read.insert(path.clone())) {
            library.agent(&path, problems);
        }
    }
}
