//! Where the run of a session is kept: by its real name, so that no link decides later whose record is believed.
//!
//! A link in the workspace, such as one that a repository brings along, is the agent's to replace: a record that is found
//! through it may be one that the agent has written, without the labels of what it has read.

use std::io;
use std::path::{Path, PathBuf};

use super::{ARTIFACTS, SessionKit};
use crate::protocol::{ChatError, ErrorCode, StartSession};

/// The directory for the run of a session that begins.
pub(super) fn of(kit: &SessionKit, ask: &StartSession, workspace: &Path) -> Result<PathBuf, ChatError> {
    let of_service = kit.artifact_root.as_deref();
    let (named, bounds): (PathBuf, Vec<&Path>) = match (&ask.artifact_root, of_service) {
        (Some(asked), _) => {
            let bounds = kit.within.as_deref().map(|within| [Some(within), of_service]);
            (workspace.join(asked), bounds.into_iter().flatten().flatten().collect())
        }
        (None, Some(root)) => (root.to_owned(), Vec::new()),
        // Nobody has asked for another place: a link to one is somebody else's.
        (None, None) => (workspace.join(ARTIFACTS), vec![workspace]),
    };
    let wrong = |problem: String| {
        let message = format!("`params.artifactRoot` is wrong: `{}` {problem}", named.display());
        ChatError::new(ErrorCode::InvalidRequest, message).with("path", "params.artifactRoot")
    };
    let root = real(&named).map_err(|error| wrong(format!("cannot be used: {error}")))?;
    if workspace.starts_with(&root) {
        return Err(wrong("has the workspace in it, which would be out of reach".to_owned()));
    }
    let is_within = |bound: &&Path| real(bound).is_ok_and(|bound| root.starts_with(bound));
    match bounds.first() {
        Some(bound) if !bounds.iter().any(is_within) => {
            let (named, bound) = (named.display(), bound.display());
            let message = format!("the directory for runs, `{named}`, is not in `{bound}`");
            Err(ChatError::new(ErrorCode::PolicyDenied, message))
        }
        Some(_) | None => Ok(root),
    }
}

/// Whether the directory is another than the one that the session began with.
pub(super) fn leads_elsewhere(root: &Path) -> bool {
    root.canonicalize().is_ok_and(|real| real != root)
}

/// The real name of a directory of which the last parts may not be there yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        // A link that leads nowhere yet may lead anywhere later.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            Ok(real(parent)?.join(name))
        }
        found => found,
    }
}
