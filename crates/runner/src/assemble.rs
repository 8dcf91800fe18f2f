//! Puts what the agent works with into the stage: the repository, its input, our program, the schema of the result.

mod copy;

use std::io;
use std::path::{Path, PathBuf};

use copy::copy_unless;
pub use copy::{Copied, CopyError, copy_tree};
use fullsend_runtimes::Stage;

use crate::beneath::Directory;

/// Asks our program whether a file satisfies the schema. A name of its own, because agent definitions call it by that.
const CHECK_OUTPUT: &str = "#!/bin/sh\nexec /sandbox/workspace/bin/fullsend check-output \"$@\"\n";

/// Why something is not in the stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The repository or the agent's input cannot be copied.
    #[error("cannot copy {what}")]
    Copy {
        /// Which.
        what: &'static str,
        /// Why.
        source: CopyError,
    },
    /// Another file cannot be put there.
    #[error("cannot put {what} `{}` into the sandbox", path.display())]
    File {
        /// What it is.
        what: &'static str,
        /// Where it comes from.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Copies the target repository into the stage, everything in it, `.git` too. Directories in `left_out`, by whatever path
/// they are named, are not copied: the directory of results may lie in the repository. Repositories can be large, so it stops
/// when `is_over` says so.
pub fn repository(
    repo: &Path,
    stage: &Stage,
    left_out: &[&Path],
    is_over: &dyn Fn() -> bool,
) -> Result<Copied, AssembleError> {
    let what = "the target repository";
    let left_out: Vec<&Path> = left_out.iter().copied().chain([stage.root()]).collect();
    copy_unless(repo, &stage.repo(), &left_out, is_over)
        .map_err(|source| AssembleError::Copy { what, source })
}

/// Copies the contents of the harness's input directory into the stage.
pub fn agent_input(input: &Path, stage: &Stage) -> Result<Copied, AssembleError> {
    let what = "the agent's input";
    copy_tree(input, &stage.agent_input(), &[]).map_err(|source| AssembleError::Copy { what, source })
}

/// Puts our program into the stage: `binary`, which runs in the sandbox. A hard link where that is possible, since the
/// directory is mounted read-only.
pub fn program(binary: &Path, stage: &Stage) -> Result<(), AssembleError> {
    let failed = |source| AssembleError::File { what: "the program", path: binary.to_owned(), source };
    let bin = stage.fixed().join("bin");
    let target = bin.join("fullsend");
    // A link to a link would be one that leads nowhere in the sandbox.
    let real = binary.canonicalize().map_err(failed)?;
    if std::fs::hard_link(&real, &target).is_err() {
        std::fs::copy(&real, &target).map_err(failed)?;
    }
    let bin = Directory::open(&bin).map_err(failed)?;
    bin.write("fullsend-check-output".as_ref(), CHECK_OUTPUT.as_bytes(), 0o755).map_err(failed)
}

/// Puts the schema of the result into the stage.
pub fn schema(schema: &[u8], from: &Path, stage: &Stage) -> Result<(), AssembleError> {
    let failed = |source| AssembleError::File { what: "the schema", path: from.to_owned(), source };
    let directory = Directory::open(&stage.fixed().join("fullsend")).map_err(failed)?;
    directory.write("output-schema.json".as_ref(), schema, 0o644).map_err(failed)
}
