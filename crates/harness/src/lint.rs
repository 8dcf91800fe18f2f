//! Linting: every problem of a set of harness files and the documents around them, in one pass, without a network.

mod agent_files;
mod files;
mod meaning;
mod provider_files;
mod remote;
mod target;
mod variables;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fullsend_yaml::{Diagnostic, Location, Severity, SourceMap};

pub use target::{LintTarget, TargetError};

use crate::compose::{Composition, apply};
use crate::config::Configuration;
use crate::expand::{self, Variables};
use crate::library::Library;
use crate::rules;
use crate::schema::HarnessFile;
use agent_files::AgentFiles;
use files::FileCheck;
use provider_files::ProviderFiles;

/// What linting looks at beyond the files themselves.
#[derive(Default)]
pub struct LintOptions<'o> {
    /// The environment, when variables must be set and the paths built from them must exist.
    pub environment: Option<Variables<'o>>,
}

impl std::fmt::Debug for LintOptions<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LintOptions").field("environment", &self.environment.is_some()).finish()
    }
}

/// What linting found.
#[derive(Debug)]
pub struct LintReport {
    /// The files, for showing places.
    pub sources: SourceMap,
    /// The problems, by file and place.
    pub problems: Vec<Diagnostic>,
    /// The harness files that were linted.
    pub files: Vec<PathBuf>,
}

impl LintReport {
    /// How many problems have this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.rule.severity == severity).count()
    }
}

/// Lints the harness files of a target and the configuration, agents, providers and profiles around them.
#[must_use]
pub fn lint(target: &LintTarget, options: &LintOptions<'_>) -> LintReport {
    let mut linter = Linter::new(target, options);
    for file in &target.files {
        linter.harness(file);
    }
    let Linter { library, mut problems, .. } = linter;
    let mut seen = HashSet::new();
    problems.retain(|problem| seen.insert(identity(problem)));
    problems.sort_by_key(|problem| problem.at);
    LintReport { sources: library.into_sources(), problems, files: target.files.clone() }
}

/// What makes two reports the same problem: an overlay repeats those of its harness, a child those of its base. A base
/// that lets two children down is two problems, told apart by the related place.
fn identity(problem: &Diagnostic) -> (&'static str, Location, String, Vec<Location>) {
    let related = problem.related.iter().map(|related| related.at).collect();
    (problem.rule.code, problem.at, problem.message.clone(), related)
}

struct Linter<'o> {
    options: &'o LintOptions<'o>,
    library: Library,
    configuration: Configuration,
    providers: ProviderFiles,
    agents: AgentFiles,
    files: FileCheck,
    problems: Vec<Diagnostic>,
}

impl<'o> Linter<'o> {
    fn new(target: &LintTarget, options: &'o LintOptions<'o>) -> Self {
        let mut library = Library::new(&target.root);
        let mut problems = Vec::new();
        let configuration = library.configuration(&mut problems);
        let providers = ProviderFiles::read(&mut library, &mut problems);
        let files = FileCheck::new(&target.root);
        Self { options, library, configuration, providers, agents: AgentFiles::default(), files, problems }
    }

    fn harness(&mut self, path: &Path) {
        let Some(composition) = self.library.compose(path, &mut self.problems) else { return };
        self.composed(&composition, &composition.harness);
        self.overlaid(&composition);
    }

    /// Checks the harness as each platform sees it; a disabled overlay changes nothing.
    fn overlaid(&mut self, composition: &Composition) {
        let Some(forge) = &composition.harness.forge else { return };
        let without_forge = HarnessFile { forge: None, ..composition.harness.as_ref().clone() };
        for overlay in forge.platforms.values().flatten() {
            self.composed(composition, &apply(without_forge.clone(), overlay.clone()));
        }
    }

    fn composed(&mut self, composition: &Composition, harness: &HarnessFile) {
        let (root, outer) = (self.library.root().to_owned(), self.options.environment);
        let lookup = |name: &str| match name {
            expand::FULLSEND_DIR => {
                Some(std::path::absolute(&root).unwrap_or(root.clone()).display().to_string())
            }
            _ => outer.and_then(|outer| outer(name)),
        };
        let environment: Option<Variables<'_>> = if outer.is_some() { Some(&lookup) } else { None };
        meaning::check(composition, harness, &mut self.problems);
        variables::check(harness, environment, &mut self.problems);
        remote::check(composition, harness, &self.configuration, &mut self.problems);
        self.files.check(harness, environment, &mut self.problems);
        self.agents.check(&mut self.library, harness, &mut self.problems);
        self.providers.check_uses(&mut self.library, harness, &mut self.problems);
    }
}

/// A problem of the whole harness: a key that stands nowhere.
fn missing_key(composition: &Composition, key: &str, help: &str) -> Diagnostic {
    let message = format!("the harness has no `{key}`");
    Diagnostic::new(&rules::MISSING_KEY, composition.start(), message).with_help(help)
}
