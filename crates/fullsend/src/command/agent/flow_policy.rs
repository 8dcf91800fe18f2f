//! The file of `--flow-policy`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use fullsend_flow::Policy;
use fullsend_harness::Library;
use fullsend_harness::schema::FlowRules;

use super::absolute;
use crate::cli::AgentExecArgs;
use crate::environment;
use crate::output::{Advice, Output, diagnostics};

/// The policy that the command line or the environment names, if one does. All that is wrong with it is printed with its place.
pub(super) fn asked(args: &AgentExecArgs, current: &Path, output: &mut Output) -> Result<Option<Policy>> {
    let of_environment = || environment::agent_option("FLOW_POLICY").map(|(_, file)| PathBuf::from(file));
    let Some(file) = args.permission.flow_policy.clone().or_else(of_environment) else { return Ok(None) };
    let file = absolute(&file, current);
    let mut library = Library::new(current);
    let mut problems = Vec::new();
    let (_, rules) = library
        .document::<FlowRules>(&file, &mut problems)
        .map_err(|error| Advice::new(error.to_string(), error.help()))?;
    if let Some(rules) = &rules {
        rules.check(&mut problems);
    }
    match rules {
        Some(rules) if problems.is_empty() => Ok(Some(rules.policy())),
        _ => {
            problems.sort_by_key(|problem| problem.at.start);
            diagnostics::print_to_stderr(output, library.sources(), &problems);
            let what = if problems.len() == 1 { "an error" } else { "errors" };
            let message = format!("the flow policy `{}` has {what}", file.display());
            bail!(Advice::new(message, "correct the problems above; nothing was run"));
        }
    }
}
