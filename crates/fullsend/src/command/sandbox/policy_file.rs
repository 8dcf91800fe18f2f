//! Policy files, with all that is wrong in them printed at its place.

use std::path::Path;

use anyhow::{Result, anyhow};
use fullsend_harness::Library;
use fullsend_runner::policy_file::{PolicyFile, PolicyFileError};

use crate::output::{Advice, Output, diagnostics};

/// Reads a file whose relative entries start at `workspace`.
pub(super) fn read(path: &Path, workspace: &Path, output: &mut Output) -> Result<PolicyFile> {
    let mut library = Library::new(workspace);
    let mut problems = Vec::new();
    let policy = match PolicyFile::read(&mut library, path, workspace, &mut problems) {
        Err(PolicyFileError::Read(error)) => {
            return Err(Advice::new(error.to_string(), error.help()).into());
        }
        read => read?,
    };
    policy.ok_or_else(|| {
        diagnostics::print_to_stderr(output, library.sources(), &problems);
        let what = if problems.len() == 1 { "an error" } else { "errors" };
        let message = format!("the sandbox policy `{}` has {what}", path.display());
        anyhow!(Advice::new(message, "correct the problems above; nothing was run"))
    })
}
