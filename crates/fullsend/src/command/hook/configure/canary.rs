//! The token that hooks look for, and where a harness wants it planted.

use std::path::Path;

use anyhow::Result;
use fullsend_runner::security::CanaryPlan;

use crate::command::scan::canaries;
use crate::output::Output;

/// The tokens to look for: those in `file`, or a new one where the harness asks for one. Says where they are to be planted.
pub(super) fn tokens(plan: &CanaryPlan, file: Option<&Path>, output: &mut Output) -> Result<Vec<String>> {
    if !plan.is_searched() {
        return Ok(Vec::new());
    }
    let tokens = match (file, plan.generate()) {
        (Some(file), _) => canaries(file)?.iter().map(|token| token.reveal().to_owned()).collect(),
        (None, Some(token)) => vec![token.reveal().to_owned()],
        (None, None) => return Ok(Vec::new()),
    };
    let mut places: Vec<String> = plan.env.iter().map(|name| format!("the variable `{name}`")).collect();
    places.extend(plan.files.iter().map(|path| format!("the file `{path}`")));
    if places.is_empty() {
        output.note("note: nothing in the harness says where the canary token is planted; name `security.canary.env` or `files`, or plant it yourself");
    } else {
        output.note(&format!(
            "note: plant the canary token (`checks.canary.tokens`) in the sandbox, in {}",
            places.join(" and ")
        ));
    }
    Ok(tokens)
}
