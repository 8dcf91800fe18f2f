//! Agent definitions as files: front matter, and instructions below it.

use std::path::Path;

use fullsend_yaml::{Diagnostic, FileId, Location, Reader, front_matter, parse_part};

use crate::library::Library;
use crate::rules;
use crate::schema::AgentDefinition;

impl Library {
    /// Reads the definition of an agent; `None` when it has no front matter that can be read.
    pub fn agent(&mut self, path: &Path, problems: &mut Vec<Diagnostic>) -> Option<AgentDefinition> {
        match self.text(path, problems) {
            Ok(file) => read(self, file?, problems),
            Err(error) => {
                problems.push(self.unreadable(path, &error));
                None
            }
        }
    }
}

fn read(library: &Library, file: FileId, problems: &mut Vec<Diagnostic>) -> Option<AgentDefinition> {
    let text = library.sources().file(file).map_or("", |source| source.text());
    let mut definition = None;
    let body = match front_matter(text) {
        Some(found) => {
            let parsed = parse_part(library.sources(), file, found.yaml, library.limits());
            problems.extend(parsed.problems);
            if let Some(root) = parsed.root {
                definition = AgentDefinition::read(&root, &mut Reader::new(problems));
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
    definition
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
