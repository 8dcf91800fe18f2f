//! Harnesses, stages and directories for tests.

use std::fs;
use std::path::{Path, PathBuf};

use fullsend_harness::Library;
use fullsend_harness::schema::HarnessFile;
use fullsend_runtimes::Stage;
use fullsend_yaml::{Diagnostic, SourceMap};
use tempfile::TempDir;

/// A directory of a test's own.
#[derive(Debug)]
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix("runner-test").unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path().join(path).symlink_metadata().is_ok()
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// A copy of another one, apart from logs.
    pub(crate) fn new_from(other: &Self) -> Self {
        let folder = Self::new();
        fullsend_runner::assemble::copy_tree(other.path(), folder.path(), &[]).unwrap();
        let _missing = fs::remove_file(folder.path().join("findings.jsonl"));
        folder
    }

    /// A stage below it, for a repository called `repo`.
    pub(crate) fn stage(&self) -> Stage {
        Stage::create(&self.path().join("stage"), "repo").unwrap()
    }
}

/// A harness by its text, and the sources of its places.
pub(crate) fn harness(text: &str) -> (HarnessFile, SourceMap) {
    let folder = Folder::new();
    let file = folder.write("harness/code.yaml", text);
    let mut library = Library::new(folder.path());
    let mut problems = Vec::new();
    let loaded = library.try_harness(&file, &mut problems).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    (loaded.harness.unwrap().as_ref().clone(), library.into_sources())
}

/// Problems as `line:column message`.
pub(crate) fn shown(problems: &[Diagnostic], sources: &SourceMap) -> Vec<String> {
    let line = |problem: &Diagnostic| {
        let (_, start) = sources.resolve(problem.at).unwrap();
        format!("{}:{} {}", start.line, start.column, problem.message)
    };
    problems.iter().map(line).collect()
}
