//! A fullsend directory on disk, and what linting and showing say about it.

use std::path::{Path, PathBuf};

use fullsend_harness::expand::Variables;
use fullsend_harness::{LintOptions, LintReport, LintTarget, ShowError, ShowOptions, Shown, lint, show};
use fullsend_yaml::Diagnostic;
use serde_json::Value;
use tempfile::TempDir;

/// A digest that nothing has.
pub(crate) const PIN: &str = "#sha256=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// An agent definition without problems.
pub(crate) const AGENT: &str = "---\nname: code\ndescription: Writes code.\n---\nWrite code.\n";

/// The smallest harness without problems, given `agents/code.md`.
pub(crate) const HARNESS: &str = "agent: agents/code.md\nrole: coder\n";

/// A temporary fullsend directory.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// An empty one.
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// One with `agents/code.md` and these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::empty();
        folder.write("agents/code.md", AGENT);
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    /// One whose only harness is `harness/code.yaml` with the required keys and these lines.
    pub(crate) fn of(lines: &str) -> Self {
        Self::with(&[("harness/code.yaml", &format!("{HARNESS}{lines}"))])
    }

    /// Writes a file, or makes a directory when the path ends in `/`.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let full = self.path(path);
        if path.ends_with('/') {
            std::fs::create_dir_all(full).unwrap();
            return;
        }
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn report(&self, environment: Option<Variables<'_>>) -> LintReport {
        let target = LintTarget::from_path(self.root(), Some(self.root())).unwrap();
        lint(&target, &LintOptions { environment })
    }

    /// `code file:line:column message | help` of every problem of the whole directory.
    pub(crate) fn lint(&self) -> Vec<String> {
        self.described(&self.report(None))
    }

    /// As [`Folder::lint`], with these variables set and no others.
    pub(crate) fn lint_with(&self, set: &[(&str, &str)]) -> Vec<String> {
        let lookup =
            |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
        self.described(&self.report(Some(&lookup)))
    }

    /// As [`Folder::lint`], without the help.
    pub(crate) fn lint_briefly(&self) -> Vec<String> {
        self.lint().iter().map(|line| line.split(" | ").next().unwrap().to_owned()).collect()
    }

    /// The codes alone.
    pub(crate) fn codes(&self) -> Vec<&'static str> {
        self.report(None).problems.iter().map(|problem| problem.rule.code).collect()
    }

    pub(crate) fn described(&self, report: &LintReport) -> Vec<String> {
        let describe = |problem: &Diagnostic| {
            let (path, place) = report.sources.resolve(problem.at).unwrap();
            let line = format!(
                "{} {}:{}:{} {} | {}",
                problem.rule.code,
                path.display(),
                place.line,
                place.column,
                problem.message,
                problem.help()
            );
            self.relative(&line)
        };
        report.problems.iter().map(describe).collect()
    }

    /// The text with the directory's own path taken out.
    pub(crate) fn relative(&self, text: &str) -> String {
        let root = format!("{}", self.root().display());
        text.replace(&format!("{root}/"), "").replace(&root, "<root>")
    }

    pub(crate) fn show(&self, name: &str, options: ShowOptions) -> Result<Shown, ShowError> {
        show(self.root(), name, options)
    }

    /// The harness `code` with its bases merged in.
    pub(crate) fn resolved(&self) -> Value {
        self.composed(ShowOptions { resolved_base: true, forge: None })
    }

    pub(crate) fn composed(&self, options: ShowOptions) -> Value {
        match self.show("code", options) {
            Ok(shown) => shown.harness,
            Err(ShowError::Broken { problems, .. }) => panic!("{problems:#?}"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// No problems at all.
pub(crate) const CLEAN: &[&str] = &[];
