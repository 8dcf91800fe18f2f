//! Repositories in memory.

use std::collections::HashMap;

use super::object::{Objects, object_id};

/// A file, or something else that git can keep, at a path of a repository.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// Its path from the top of the repository.
    pub path: String,
    /// Its content, or where a link points.
    pub bytes: Vec<u8>,
    /// Its mode as APIs write it.
    pub mode: &'static str,
}

impl TestFile {
    /// A plain file.
    pub fn new(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.to_owned(), bytes: bytes.into(), mode: "100644" }
    }

    /// An executable file.
    pub fn executable(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { mode: "100755", ..Self::new(path, bytes) }
    }

    /// A symbolic link.
    pub fn symlink(path: &str, target: &str) -> Self {
        Self { mode: "120000", ..Self::new(path, target) }
    }

    /// A submodule.
    pub fn submodule(path: &str) -> Self {
        Self { mode: "160000", ..Self::new(path, "somewhere else") }
    }

    /// Something with a mode that git does not have.
    pub fn special(path: &str, mode: &'static str) -> Self {
        Self { mode, ..Self::new(path, "") }
    }
}

/// A repository with real object ids.
#[derive(Debug)]
pub struct TestRepo {
    pub(super) name: String,
    pub(super) objects: Objects,
    /// Trees by the id of their commit.
    pub(super) commits: HashMap<String, String>,
    /// Commits by the name of a branch or tag.
    pub(super) refs: HashMap<String, String>,
    pub(super) private: bool,
}

impl TestRepo {
    /// An empty public repository. The owner may be several groups, joined with `/`.
    pub fn new(owner: &str, name: &str) -> Self {
        Self {
            name: format!("{owner}/{name}"),
            objects: Objects::default(),
            commits: HashMap::new(),
            refs: HashMap::new(),
            private: false,
        }
    }

    /// The same repository, which only tokens that are made for it can see.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.private = true;
        self
    }

    /// Commits these files, and no others, to `main`. Gives the id of the commit.
    pub fn commit(&mut self, files: &[TestFile]) -> String {
        let paths: Vec<(&str, &TestFile)> = files.iter().map(|file| (file.path.as_str(), file)).collect();
        let tree = self.objects.add_tree(&paths);
        let count = self.commits.len();
        let who = format!("A U Thor <author@example.com> {count} +0000");
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\ncommit {count}\n");
        let id = object_id("commit", text.as_bytes());
        self.commits.insert(id.clone(), tree);
        self.refs.insert("main".to_owned(), id.clone());
        id
    }

    /// Names a commit.
    pub fn name_commit(&mut self, name: &str, commit: &str) {
        self.refs.insert(name.to_owned(), commit.to_owned());
    }

    /// The commit that a branch, a tag or an id names.
    pub(super) fn resolve(&self, reference: &str) -> Option<&str> {
        match self.commits.get_key_value(reference) {
            Some((id, _)) => Some(id),
            None => self.refs.get(reference).map(String::as_str),
        }
    }

    /// The tree of what `reference` names.
    pub(super) fn root(&self, reference: &str) -> Option<&str> {
        self.commits.get(self.resolve(reference)?).map(String::as_str)
    }
}
