//! The variables of scripts on the host.

use std::collections::BTreeMap;
use std::path::Path;

use fullsend_harness::expand::DENIED;

use super::Environment;

/// Names the span to which the traces of a child belong.
const TRACEPARENT: &str = "TRACEPARENT";
/// The schema of the result, on the host.
const SCHEMA: &str = "FULLSEND_OUTPUT_SCHEMA";

/// Variables in the form that processes are started with.
pub type ScriptVariables = BTreeMap<String, String>;

/// What a script that delivers the result is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct PostScript<'a> {
    /// The schema of the result, on the host.
    pub schema: Option<&'a Path>,
    /// The repository as the agent left it; without one the variable is empty.
    pub repo: Option<&'a Path>,
    /// The iteration whose output was accepted.
    pub validated: Option<&'a Path>,
}

/// What a script that checks the result is told.
#[derive(Clone, Copy, Debug)]
pub struct Validation<'a> {
    /// The repository as the agent left it; without one the variable is empty.
    pub repo: Option<&'a Path>,
    /// The directory of the run.
    pub run: &'a Path,
    /// The schema of the result, on the host.
    pub schema: Option<&'a Path>,
}

/// The variables of any child on the host: the caller's, those that the harness adds, and the span it belongs to. A
/// `TRACEPARENT` from outside would tie it to another trace.
pub fn child(
    environment: &Environment,
    runner: &BTreeMap<String, String>,
    traceparent: Option<&str>,
) -> ScriptVariables {
    let mut variables = environment.variables.clone();
    let added = runner.iter().filter(|(name, _)| !DENIED.contains(&name.as_str()));
    variables.extend(added.map(|(name, value)| (name.clone(), value.clone())));
    variables.remove(TRACEPARENT);
    variables.extend(traceparent.map(|span| (TRACEPARENT.to_owned(), span.to_owned())));
    variables
}

impl PostScript<'_> {
    /// Adds what the script is told to the variables of a child.
    pub fn add_to(self, variables: &mut ScriptVariables) {
        put(variables, SCHEMA, self.schema);
        variables.insert("REPO_DIR".to_owned(), self.repo.map(text).unwrap_or_default());
        put(variables, "FULLSEND_VALIDATED_ITERATION_DIR", self.validated);
    }
}

impl Validation<'_> {
    /// Adds what the script is told to the variables of a child.
    pub fn add_to(self, variables: &mut ScriptVariables) {
        variables.insert("TARGET_REPO_DIR".to_owned(), self.repo.map(text).unwrap_or_default());
        variables.insert("FULLSEND_RUN_DIR".to_owned(), text(self.run));
        put(variables, SCHEMA, self.schema);
    }
}

/// What is not there is not inherited either: a script must not take a stale path for this run's.
fn put(variables: &mut ScriptVariables, name: &str, value: Option<&Path>) {
    match value {
        Some(path) => drop(variables.insert(name.to_owned(), text(path))),
        None => drop(variables.remove(name)),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
