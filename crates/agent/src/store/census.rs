//! Which files the directory of a run has, and what is in them.

use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use fullsend_origin::{Sha256Digest, Sha256Hasher};
use rustix::fs::{FileType, OFlags};
use serde::de::DeserializeOwned;

use super::artifacts::MANIFEST;
use super::error::{ArtifactError, StoreError};
use super::files::{self, UNFINISHED};
use super::journal::JOURNAL;
use super::lock::LOCK;
use super::{open_run, run_dir_of};
use crate::protect::QUARANTINE;

/// A run has directories in its directory, and none in those.
const DEEPEST: usize = 4;
/// How much of a list of files is read.
const LARGEST_MANIFEST: u64 = 256 * 1024 * 1024;

/// A file and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Its name, from the directory of the run on.
    pub(crate) path: String,
    /// How many bytes were looked at.
    pub(crate) bytes: u64,
    /// Their digest.
    pub(crate) digest: Sha256Digest,
    /// Whether it may grow.
    pub(crate) append_only: bool,
}

/// Counts the files of a run, in the order of their names, but for the lock, the list of files and the quarantine. Of a file with a limit,
/// only so many bytes are looked at. Whatever is neither a file nor a directory is an error.
pub(crate) fn count_files(
    run: &Path,
    limit: impl Fn(&str) -> Option<u64>,
) -> Result<Vec<Counted>, StoreError> {
    let run_dir = run_dir_of(run)?;
    let directory = open_run(&run_dir)?;
    let mut census = Census { run_dir: &run_dir, limit: &limit, found: Vec::new() };
    census.visit(&directory, "", 0)?;
    census.found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(census.found)
}

struct Census<'a> {
    run_dir: &'a Path,
    limit: &'a dyn Fn(&str) -> Option<u64>,
    found: Vec<Counted>,
}

impl Census<'_> {
    fn visit(&mut self, directory: impl AsFd, prefix: &str, depth: usize) -> Result<(), StoreError> {
        let names = files::names(directory.as_fd()).map_err(|source| self.failed(prefix, source))?;
        for name in names {
            let name = name.to_string_lossy().into_owned();
            // What commands have left is as they left it, with links and whatever else.
            let is_own = depth == 0 && (name == LOCK || name == MANIFEST || name == QUARANTINE);
            if is_own || (name.starts_with('.') && name.ends_with(UNFINISHED)) {
                continue;
            }
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let kind = files::kind(directory.as_fd(), &name).map_err(|source| self.failed(&path, source))?;
            if kind == FileType::Directory && depth < DEEPEST {
                let inner =
                    files::subdir(directory.as_fd(), &name).map_err(|source| self.failed(&path, source))?;
                self.visit(inner, &path, depth + 1)?;
            } else if kind == FileType::RegularFile {
                let counted = self.count(directory.as_fd(), &name, path.clone());
                self.found.push(counted.map_err(|source| self.failed(&path, source))?);
            } else {
                return Err(StoreError::NotPlain { path: self.run_dir.join(path), expected: "a file" });
            }
        }
        Ok(())
    }

    fn count(&self, directory: impl AsFd, name: &str, path: String) -> io::Result<Counted> {
        let file = files::open_file(directory, name, OFlags::RDONLY)?;
        let mut reader = file.take((self.limit)(&path).unwrap_or(u64::MAX));
        let (mut hasher, mut bytes, mut buffer) = (Sha256Hasher::new(), 0, vec![0; 64 * 1024]);
        loop {
            let read = reader.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(buffer.get(..read).unwrap_or_default());
            bytes += u64::try_from(read).unwrap_or(u64::MAX);
        }
        let append_only = path == JOURNAL;
        Ok(Counted { path, bytes, digest: hasher.finish(), append_only })
    }

    fn failed(&self, path: &str, source: io::Error) -> StoreError {
        StoreError::Io { action: "read", path: self.run_dir.join(path), source }
    }
}

/// Reads the list of files of a run.
pub(crate) fn read_manifest<T: DeserializeOwned>(run: &Path) -> Result<T, StoreError> {
    let run_dir = run_dir_of(run)?;
    let directory = open_run(&run_dir)?;
    let path: PathBuf = run_dir.join(MANIFEST);
    let read = || {
        let mut text = Vec::new();
        files::open_file(&directory, MANIFEST, OFlags::RDONLY)?
            .take(LARGEST_MANIFEST)
            .read_to_end(&mut text)?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    };
    read().map_err(|source| StoreError::Artifact(ArtifactError { path, source }))
}
