//! Git objects in memory, with the ids that git would give them.

use std::collections::{BTreeMap, HashMap};

use sha1::{Digest as _, Sha1};

use super::TestFile;

/// The mode of a directory.
pub(super) const DIRECTORY: &str = "040000";

/// An entry of a tree object.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The mode as APIs write it, with six digits.
    pub(super) mode: String,
    /// The last segment of its path.
    pub(super) name: String,
    /// The id of the object.
    pub(super) id: String,
    /// The size of a file.
    pub(super) size: Option<u64>,
}

impl Entry {
    /// The word that APIs have for the kind of object.
    pub(super) fn kind(&self) -> &'static str {
        match self.mode.as_str() {
            DIRECTORY => "tree",
            "160000" => "commit",
            _ => "blob",
        }
    }

    /// Git sorts directories as if their names ended in a slash.
    fn sort_key(&self) -> String {
        if self.mode == DIRECTORY { format!("{}/", self.name) } else { self.name.clone() }
    }
}

/// All objects of a repository.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) blobs: HashMap<String, Vec<u8>>,
    pub(super) trees: HashMap<String, Vec<Entry>>,
}

impl Objects {
    /// Stores the objects of a whole tree and gives its id.
    pub(super) fn add_tree(&mut self, files: &[(&str, &TestFile)]) -> String {
        let mut below: BTreeMap<&str, Vec<(&str, &TestFile)>> = BTreeMap::new();
        let mut entries = Vec::new();
        for (path, file) in files {
            match path.split_once('/') {
                Some((directory, rest)) => below.entry(directory).or_default().push((rest, file)),
                None => entries.push(self.add_file(path, file)),
            }
        }
        for (name, files) in below {
            let id = self.add_tree(&files);
            entries.push(Entry { mode: DIRECTORY.to_owned(), name: name.to_owned(), id, size: None });
        }
        entries.sort_by_key(Entry::sort_key);
        let id = object_id("tree", &entries.iter().flat_map(tree_line).collect::<Vec<u8>>());
        self.trees.insert(id.clone(), entries);
        id
    }

    /// Stores the object of one file.
    fn add_file(&mut self, name: &str, file: &TestFile) -> Entry {
        let (mode, name) = (file.mode.to_owned(), name.to_owned());
        if file.mode == "160000" {
            return Entry { mode, name, id: object_id("commit", &file.bytes), size: None };
        }
        let id = object_id("blob", &file.bytes);
        self.blobs.insert(id.clone(), file.bytes.clone());
        Entry { mode, name, id, size: Some(file.bytes.len() as u64) }
    }

    /// The tree at `path` below the tree `root`.
    pub(super) fn tree_at(&self, root: &str, path: &str) -> Option<String> {
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        segments.into_iter().try_fold(root.to_owned(), |tree, segment| {
            let entry = self.trees.get(&tree)?.iter().find(|entry| entry.name == segment)?;
            (entry.mode == DIRECTORY).then(|| entry.id.clone())
        })
    }

    /// The id of the file at `path` below the tree `root`.
    pub(super) fn blob_at(&self, root: &str, path: &str) -> Option<String> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let tree = self.tree_at(root, directory)?;
        let entry = self.trees.get(&tree)?.iter().find(|entry| entry.name == name)?;
        (entry.kind() == "blob").then(|| entry.id.clone())
    }

    /// The entries of a tree with their paths; with those below it if `recursive`.
    pub(super) fn list(&self, tree: &str, prefix: &str, recursive: bool) -> Vec<(String, Entry)> {
        let mut listed = Vec::new();
        for entry in self.trees.get(tree).into_iter().flatten() {
            let path = format!("{prefix}{}", entry.name);
            listed.push((path.clone(), entry.clone()));
            if recursive && entry.mode == DIRECTORY {
                listed.extend(self.list(&entry.id, &format!("{path}/"), recursive));
            }
        }
        listed
    }
}

/// The bytes of one entry inside a tree object.
fn tree_line(entry: &Entry) -> Vec<u8> {
    let head = format!("{} {}\0", entry.mode.trim_start_matches('0'), entry.name);
    let id = (0..20).map(|at| u8::from_str_radix(entry.id.get(at * 2..at * 2 + 2).expect("an id"), 16));
    head.into_bytes().into_iter().chain(id.map(|byte| byte.expect("an id"))).collect()
}

/// The id of an object: the SHA-1 over its kind, its length and its bytes.
pub(super) fn object_id(kind: &str, bytes: &[u8]) -> String {
    let mut hasher = Sha1::new();
    hasher.update(format!("{kind} {}\0", bytes.len()));
    hasher.update(bytes);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Objects, object_id};
    use crate::TestFile;

    #[test]
    fn ids_are_those_of_git() {
        assert_eq!(object_id("blob", b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(object_id("tree", b""), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        let file = TestFile::new("hello", "hello\n");
        let mut objects = Objects::default();
        // As `git hash-object` and `git write-tree` say.
        assert_eq!(objects.add_file("hello", &file).id, "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(objects.add_tree(&[("hello", &file)]), "b4d01e9b0c4a9356736dfddf8830ba9a54f5271c");
    }
}
