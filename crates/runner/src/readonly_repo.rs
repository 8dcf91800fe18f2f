//! A repository that the agent can read and not change.
//!
//! Permissions would be the agent's to change back, since the files are its own; a read-only mount is not. Git needs to write
//! to its own directory all the same, for its index and locks.

use std::io;
use std::path::PathBuf;

use fullsend_runtimes::Stage;
use fullsend_sandbox::FilesystemMount;

/// Why the repository cannot be protected. The run does not go on without it, whatever `fail_mode` says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadonlyError {
    /// There is something in the place of `.git` that cannot be mounted.
    #[error(
        "`readonly_repo` cannot be kept: `.git` in the target repository is a link; replace it with what it leads to"
    )]
    Link,
    /// It cannot be looked at.
    #[error("`readonly_repo` cannot be kept: cannot look at `{}`", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The mounts that make the repository read-only, except for `.git`. They go on top of [`Stage::mounts`].
pub fn mounts(stage: &Stage) -> Result<Vec<FilesystemMount>, ReadonlyError> {
    let target = stage.repo_in_sandbox();
    let mut mounts = vec![FilesystemMount::read_only(stage.repo(), &target)];
    let git = stage.repo().join(".git");
    match std::fs::symlink_metadata(&git) {
        Ok(found) if found.is_symlink() => return Err(ReadonlyError::Link),
        Ok(_) => mounts.push(FilesystemMount::read_write(git, format!("{target}/.git"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(ReadonlyError::Io { path: git, source }),
    }
    Ok(mounts)
}
