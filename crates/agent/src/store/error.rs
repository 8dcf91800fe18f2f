//! What can go wrong with the record of a run.

use std::io;
use std::path::{Path, PathBuf};

use fullsend_flow::LabelId;

use super::run_id::RunId;
use crate::tool::ToolFault;

/// A file among the artifacts of a run that cannot be kept or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep `{}`: {source}", path.display())]
pub struct ArtifactError {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

impl ArtifactError {
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { path: path.to_owned(), source }
    }
}

impl From<ArtifactError> for ToolFault {
    fn from(ArtifactError { path, source }: ArtifactError) -> Self {
        Self::Artifact { path, source }
    }
}

/// Why the record of a run cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is such a run already.
    #[error("there is a run `{run_id}` already in `{}`: resume it, or choose another name", run_dir.display())]
    Exists {
        /// Its name.
        run_id: RunId,
        /// Its directory.
        run_dir: PathBuf,
    },
    /// Another process runs it.
    #[error("the run in `{}` is under way{}: wait for it or end it first", run_dir.display(), holder_words(holder.as_deref()))]
    InUse {
        /// Its directory.
        run_dir: PathBuf,
        /// Which process says so of itself.
        holder: Option<String>,
    },
    /// There is no run.
    #[error("there is no run in `{}`: name the directory of a run, or the `run-state.json` in it", path.display())]
    NoRun {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The process died before the first line was whole: nothing happened in this run.
    #[error("the run in `{}` never began, there is nothing to resume: start it again", run_dir.display())]
    NeverBegan {
        /// Its directory.
        run_dir: PathBuf,
    },
    /// A directory or a file of the run is a link, or not what it should be.
    #[error("`{}` is not {expected}: links and special files are not followed", path.display())]
    NotPlain {
        /// What was looked at.
        path: PathBuf,
        /// `a directory` or `a file`.
        expected: &'static str,
    },
    /// There is no room for the next row. What is on record stays readable.
    #[error("cannot write `{}`, there is no room left: make room and resume the run ({source})", path.display())]
    Full {
        /// The journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write`, `create`, `lock`.
        action: &'static str,
        /// What.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// An earlier write broke off and could not be taken back: whatever follows would be lost.
    #[error("`{}` ends in the middle of a row and is not written any more: resume the run", path.display())]
    Broken {
        /// The journal.
        path: PathBuf,
    },
    /// A row is not what this program writes.
    #[error("line {line} of `{}` is damaged: {problem}", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Which line, from one.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The run was recorded by a newer version of this program.
    #[error(
        "line {line} of `{}` has {what}, which this version does not know: use the version that made the run",
        path.display()
    )]
    Newer {
        /// The journal.
        path: PathBuf,
        /// Which line, from one.
        line: u64,
        /// What is unknown.
        what: String,
    },
    /// A message has a label that is not on record.
    #[error("label {} is not on record yet: record the labels before the message", .0.number())]
    UnknownLabel(LabelId),
    /// A value has no JSON form, such as a path that is not UTF-8.
    #[error("cannot put {what} on record: {source}")]
    Unwritable {
        /// What.
        what: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// A rendered file cannot be kept.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

fn holder_words(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |holder| format!(" in process {holder}"))
}
