//! Finding fullsend directories and the documents in them.

use std::path::{Path, PathBuf};

/// The usual name of a fullsend directory.
pub const DIRECTORY_NAME: &str = ".fullsend";

/// The fullsend directory that serves `start`: `.fullsend` in it or in the nearest ancestor that has one.
#[must_use]
pub fn discover(start: &Path) -> Option<PathBuf> {
    start.ancestors().map(|ancestor| ancestor.join(DIRECTORY_NAME)).find(|candidate| candidate.is_dir())
}

/// Whether a directory looks like a fullsend directory: it has harnesses or a configuration.
#[must_use]
pub fn is_fullsend_directory(path: &Path) -> bool {
    path.join("harness").is_dir() || path.join(crate::config::CONFIG_FILE).is_file()
}

/// The harness files of a fullsend directory, sorted.
#[must_use]
pub fn harness_files(root: &Path) -> Vec<PathBuf> {
    yaml_files(&root.join("harness"))
}

/// The YAML files directly in a directory, sorted; none when it cannot be read.
#[must_use]
pub fn yaml_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_yaml(path)).collect();
    files.sort();
    files
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// The fullsend directory that a harness file belongs to: the parent of `harness/`, else the file's own directory.
#[must_use]
pub fn root_of(harness: &Path) -> PathBuf {
    let directory = harness.parent().unwrap_or(Path::new(""));
    let root = if directory.file_name().is_some_and(|name| name == "harness") {
        directory.parent().unwrap_or(Path::new(""))
    } else {
        directory
    };
    if root.as_os_str().is_empty() { PathBuf::from(".") } else { root.to_owned() }
}
