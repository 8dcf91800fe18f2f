//! Agent definitions that harnesses name: their front matter and that they say something.

use std::collections::HashSet;
use std::path::Path;

use fullsend_yaml::{Diagnostic, FileId, Location, Reader, front_matter, parse_part};

use crate::library::Library;
use crate::path;
use crate::rules;
use crate::schema::{AgentDefinition, HarnessFile};

/// Checks each agent definition once.
#[derive(Debug, Default)]
pub(super) struct AgentFiles {
    checked: HashSet<String>,
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
        if let Some(path) = path::resolve(library.root(), written).filter(|path| path.is_file()) {
            definition(library, &path, problems);
        }
    }
}

fn definition(library: &mut Library, path: &Path, problems: &mut Vec<Diagnostic>) {
    match library.text(path, problems) {
        Ok(Some(file)) => check_text(library, file, problems),
        Ok(None) => {}
        Err(error) => problems.push(library.unreadable(path, &error)),
    }
}

fn check_text(library: &Library, file: FileId, problems: &mut Vec<Diagnostic>) {
    let text = library.sources().file(file).map_or("", |source| source.text());
    let body = match front_matter(text) {
        Some(found) => {
            let parsed = parse_part(library.sources(), file, found.yaml, library.limits());
            problems.extend(parsed.problems);
            if let Some(root) = parsed.root {
                AgentDefinition::read(&root, &mut Reader::new(problems));
            }
            found.body
        }
        None => {
            let start = Location::new(file, 0..0);
            let message = "the agent definition has no front matter";
            problems.push(Diagnostic::new(&rules::AGENT_FRONT_MATTER, start, message));
            0..text.len()
        }
    };
    if text.get(body.clone()).is_none_or(|body| body.trim().is_empty()) {
        let at = Location::new(file, body.start..body.start);
        problems.push(Diagnostic::new(&rules::AGENT_BODY, at, "the agent definition has no instructions"));
    }
}
