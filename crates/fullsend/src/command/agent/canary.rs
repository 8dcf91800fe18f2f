//! The file of `--canary-file`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fullsend_agent::scene::Canaries;

use super::absolute;
use crate::cli::AgentExecArgs;
use crate::command::scan::canaries;

/// The tokens in the file that the command line names, if it does.
pub(super) fn asked(args: &AgentExecArgs, current: &Path) -> Result<Option<Canaries>> {
    asked_or(args, None, current)
}

/// The same, or else those in the file that is on record.
pub(super) fn asked_or(
    args: &AgentExecArgs,
    recorded: Option<&Path>,
    current: &Path,
) -> Result<Option<Canaries>> {
    let file = file_of(args, current).or_else(|| recorded.map(Path::to_owned));
    file.map(|file| Ok(Canaries { tokens: canaries(&file)?, file: Some(file) })).transpose()
}

/// The file by its real name: a link could be made to lead elsewhere.
fn file_of(args: &AgentExecArgs, current: &Path) -> Option<PathBuf> {
    let file = absolute(args.permission.canary_file.as_deref()?, current);
    Some(file.canonicalize().unwrap_or(file))
}
