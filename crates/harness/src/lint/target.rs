//! What a path on the command line stands for: harness files and the fullsend directory they belong to.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::config::registered_file;
use crate::library::Library;
use crate::workspace::{self, DIRECTORY_NAME};

/// Harness files that share a fullsend directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintTarget {
    /// The fullsend directory.
    pub root: PathBuf,
    /// The harness files.
    pub files: Vec<PathBuf>,
}

/// Why a path cannot be linted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Nothing is there.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// Something that is neither a file nor a directory.
    #[error("`{}` is neither a file nor a directory", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A directory without any harness file.
    #[error("`{}` has no harness files", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
}

impl LintTarget {
    /// The target that a path stands for: a harness file, a fullsend directory with the agents registered in it, a
    /// directory that contains one, or a directory of harness files. `root` overrides the fullsend directory that the path's place suggests.
    ///
    /// # Errors
    /// When nothing is there, or no harness file is found.
    pub fn from_path(path: &Path, root: Option<&Path>) -> Result<Self, TargetError> {
        let owned = |suggested: PathBuf| root.map_or(suggested, Path::to_owned);
        if path.is_file() {
            return Ok(Self { root: owned(workspace::root_of(path)), files: vec![path.to_owned()] });
        }
        if !path.is_dir() {
            let path = path.to_owned();
            return Err(if path.exists() {
                TargetError::NotAFile { path }
            } else {
                TargetError::Missing { path }
            });
        }
        let nested = path.join(DIRECTORY_NAME);
        let directory = if nested.is_dir() { nested } else { path.to_owned() };
        let (suggested, files) = if workspace::is_fullsend_directory(&directory) {
            (directory.clone(), every_harness(root.unwrap_or(&directory), &directory))
        } else {
            let files = workspace::yaml_files(&directory);
            (files.first().map_or_else(|| directory.clone(), |file| workspace::root_of(file)), files)
        };
        if files.is_empty() {
            return Err(TargetError::Empty { path: directory });
        }
        Ok(Self { root: owned(suggested), files })
    }
}

/// The files under `harness/`, then those that are registered from elsewhere: whatever can be run by its name.
fn every_harness(root: &Path, directory: &Path) -> Vec<PathBuf> {
    let mut files = workspace::harness_files(directory);
    // Its problems are reported when the target is linted.
    let agents = Library::new(root).configuration(&mut Vec::new()).agents;
    for agent in agents.iter().filter(|agent| agent.enabled()) {
        let file = registered_file(agent, root).filter(|file| file.is_file() && !files.contains(file));
        files.extend(file);
    }
    files
}
