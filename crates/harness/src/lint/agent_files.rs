//! Agent definitions that harnesses name: their front matter and that they say something.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fullsend_yaml::{Diagnostic, FileId, Location, Reader, front_matter, parse_part};

use crate::library::Library;
use crate::path;
use crate::rules;
use crate::schema::{AgentDefinition, HarnessFile};

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
            problems.push(without_front_matter(text, Location::new(file, 0..0)));
            0..text.len()
        }
    };
    if text.get(body.clone()).is_none_or(|body| body.trim().is_empty()) {
        let at = Location::new(file, body.start..body.start);
        problems.push(Diagnostic::new(&rules::AGENT_BODY, at, "the agent definition has no instructions"));
    }
}

fn without_front_matter(text: &str, start: Location) -> Diagnostic {
    let first = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
    if first.trim() == "---" {
        let message = "the agent definition's front matter is never closed";
        return Diagnostic::new(&rules::AGENT_FRONT_MATTER, start, message)
            .with_help("end it with a second `---` line");
    }
    Diagnostic::new(&rules::AGENT_FRONT_MATTER, start, "the agent definition has no front matter")
}
