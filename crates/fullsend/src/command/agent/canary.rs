//! The file of `--canary-file`.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fullsend_agent::workspace::Workspace;
use fullsend_guard::CanaryToken;

use super::absolute;
use crate::cli::AgentExecArgs;
use crate::command::scan::canaries;
use crate::output::Advice;

/// The file that the command line names, if it does, by its real name: a link could be made to lead elsewhere.
pub(super) fn file_of(args: &AgentExecArgs, current: &Path) -> Option<PathBuf> {
    let file = absolute(args.permission.canary_file.as_deref()?, current);
    Some(file.canonicalize().unwrap_or(file))
}

/// The tokens that were planted. Whoever can change the list can take them out of it.
pub(super) fn planted(file: &Path, workspace: &Workspace) -> Result<Vec<CanaryToken>> {
    let tokens = canaries(file)?;
    let within = workspace.mounts().iter().find(|mount| file.starts_with(mount.host()));
    ensure!(
        within.is_none(),
        Advice::new(
            format!("the list of canary tokens `{}` is where the agent reaches it", file.display()),
            "keep it in a directory that the agent does not see"
        )
    );
    Ok(tokens)
}
