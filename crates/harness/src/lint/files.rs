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
    /// A pipe, socket or device: reading it may never end.
    Other,
}

/// What was seen of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Fine,
    Outside,
    Missing(PathBuf),
    WrongKind(PathBuf),
    Incomplete(PathBuf, &'static str),
}

/// Checks files and remembers what it saw: harnesses share agents, skills and scripts.
#[derive(Debug)]
pub(super) struct FileCheck {
    root: PathBuf,
    seen: HashMap<ResourceKind, HashMap<String, Verdict>>,
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
                    Ok(expanded) if expanded.is_empty() && resource.kind == ResourceKind::OptionalFile => {}
                    Ok(expanded) => self.local(&resource, &expanded, problems),
                    Err(_) if resource.kind == ResourceKind::OptionalFile => {}
                    Err(error) => {
                        let subject = format!("`{}`", resource.field.key());
                        problems.push(variables::problem(&subject, resource.at, &error));
                    }
                },
                (Source::Template(_), None) | (Source::Remote(_), _) => {}
            }
        }
    }

    fn local(&mut self, resource: &ResourceUse<'_>, written: &str, problems: &mut Vec<Diagnostic>) {
        let seen = self.seen.entry(resource.kind).or_default();
        match seen.get(written) {
            Some(verdict) => problems.extend(problem(resource, written, verdict)),
            None => {
                let verdict = judge(&self.root, resource.kind, written);
                problems.extend(problem(resource, written, &verdict));
                seen.insert(written.to_owned(), verdict);
            }
        }
    }
}

fn judge(root: &Path, kind: ResourceKind, written: &str) -> Verdict {
    let Some(path) = path::resolve(root, written) else { return Verdict::Outside };
    match look(&path) {
        Found::Nothing if kind == ResourceKind::OptionalFile => Verdict::Fine,
        Found::Nothing => Verdict::Missing(path),
        found if found != expected(kind) => Verdict::WrongKind(path),
        Found::File | Found::Directory | Found::Other => match missing_marker(kind, &path) {
            Some(marker) => Verdict::Incomplete(path, marker),
            None => Verdict::Fine,
        },
    }
}

fn problem(resource: &ResourceUse<'_>, written: &str, verdict: &Verdict) -> Option<Diagnostic> {
    if *verdict == Verdict::Fine {
        return None;
    }
    let field = resource.field.key();
    let report = |rule, message: String| Diagnostic::new(rule, resource.at, message);
    match verdict {
        Verdict::Fine => None,
        Verdict::Outside => {
            Some(report(&rules::OUTSIDE, format!("`{field}`: `{written}` leaves the fullsend directory")))
        }
        Verdict::Missing(path) => {
            Some(report(&rules::MISSING_FILE, format!("`{field}`: `{}` does not exist", path.display())))
        }
        Verdict::WrongKind(path) => {
            let wanted = if expected(resource.kind) == Found::File { "a file" } else { "a directory" };
            let message = format!("`{field}`: `{}` is not {wanted}", path.display());
            Some(report(&rules::FILE_KIND, message).with_help(format!("name {wanted}")))
        }
        Verdict::Incomplete(path, marker) => {
            let message = format!("`{field}`: `{}` has no `{marker}`", path.display());
            let help = format!("add `{marker}`, or correct the path");
            Some(report(&rules::INCOMPLETE_DIRECTORY, message).with_help(help))
        }
    }
}

fn missing_marker(kind: ResourceKind, directory: &Path) -> Option<&'static str> {
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
    let complete = names.iter().any(|name| look(&directory.join(name)) == Found::File);
    if complete { None } else { names.first().copied() }
}

fn look(path: &Path) -> Found {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Found::Directory,
        Ok(metadata) if metadata.is_file() => Found::File,
        Ok(_) => Found::Other,
        Err(_) => Found::Nothing,
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
