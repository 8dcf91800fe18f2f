//! Local resources: inside the fullsend directory, there, and of the right kind.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fullsend_yaml::Diagnostic;

use crate::expand::{self, Variables};
use crate::lint::variables;
use crate::path;
use crate::resources::{ResourceKind, ResourceUse, Source, resources};
use crate::rules;
use crate::schema::HarnessFile;

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    File,
    Directory,
}

/// Checks files and remembers what it saw: harnesses share agents, skills and policies.
#[derive(Debug)]
pub(super) struct FileCheck {
    root: PathBuf,
    seen: HashMap<PathBuf, Found>,
}

impl FileCheck {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), seen: HashMap::new() }
    }

    pub(super) fn check(
        &mut self,
        harness: &HarnessFile,
        environment: Option<Variables<'_>>,
        problems: &mut Vec<Diagnostic>,
    ) {
        for resource in resources(harness) {
            match (resource.source, environment) {
                (Source::Local(written), _) => self.local(&resource, written, problems),
                (Source::Template(written), Some(lookup)) => match expand::expand(written, lookup) {
                    Ok(expanded) => self.local(&resource, &expanded, problems),
                    Err(_) if resource.kind == ResourceKind::OptionalFile => {}
                    Err(error) => {
                        problems.push(variables::problem(
                            &format!("`{}`", resource.field),
                            resource.at,
                            &error,
                        ));
                    }
                },
                (Source::Template(_), None) | (Source::Remote(_), _) => {}
            }
        }
    }

    fn local(&mut self, resource: &ResourceUse<'_>, written: &str, problems: &mut Vec<Diagnostic>) {
        let Some(path) = path::resolve(&self.root, written) else {
            let message = format!("`{}`: `{written}` leaves the fullsend directory", resource.field);
            problems.push(Diagnostic::new(&rules::OUTSIDE, resource.at, message));
            return;
        };
        let found = self.look(&path);
        let report = |rule, message: String| Diagnostic::new(rule, resource.at, message);
        match (resource.kind, found) {
            (ResourceKind::OptionalFile, Found::Nothing) => {}
            (_, Found::Nothing) => {
                let message = format!("`{}`: `{}` does not exist", resource.field, path.display());
                problems.push(report(&rules::MISSING_FILE, message));
            }
            (kind, found) if found != expected(kind) => {
                let wanted = if expected(kind) == Found::File { "a file" } else { "a directory" };
                let message = format!("`{}`: `{}` is not {wanted}", resource.field, path.display());
                problems.push(report(&rules::FILE_KIND, message).with_help(format!("name {wanted}")));
            }
            (kind, _) => {
                if let Some(marker) = self.missing_marker(kind, &path) {
                    let message = format!("`{}`: `{}` has no `{marker}`", resource.field, path.display());
                    let help = format!("add `{marker}`, or correct the path");
                    problems.push(report(&rules::INCOMPLETE_DIRECTORY, message).with_help(help));
                }
            }
        }
    }

    fn missing_marker(&mut self, kind: ResourceKind, directory: &Path) -> Option<&'static str> {
        let names: &[&'static str] = match kind {
            ResourceKind::Skill => &["SKILL.md", "skill.md"],
            ResourceKind::Plugin => &["plugin.json", ".claude-plugin/plugin.json"],
            ResourceKind::Agent
            | ResourceKind::File
            | ResourceKind::Profile
            | ResourceKind::Script
            | ResourceKind::Directory
            | ResourceKind::OptionalFile => return None,
        };
        let complete = names.iter().any(|name| self.look(&directory.join(name)) == Found::File);
        if complete { None } else { names.first().copied() }
    }

    fn look(&mut self, path: &Path) -> Found {
        if let Some(found) = self.seen.get(path) {
            return *found;
        }
        let found = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Found::Directory,
            Ok(_) => Found::File,
            Err(_) => Found::Nothing,
        };
        self.seen.insert(path.to_owned(), found);
        found
    }
}

fn expected(kind: ResourceKind) -> Found {
    match kind {
        ResourceKind::Skill | ResourceKind::Plugin | ResourceKind::Directory => Found::Directory,
        ResourceKind::Agent
        | ResourceKind::File
        | ResourceKind::Profile
        | ResourceKind::Script
        | ResourceKind::OptionalFile => Found::File,
    }
}
