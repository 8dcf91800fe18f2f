//! The values of a harness with their variables replaced, all of them before anything runs.

use std::collections::BTreeMap;
use std::path::Path;

use fullsend_harness::expand::{self, ExpandError, FULLSEND_DIR};
use fullsend_harness::rules;
use fullsend_harness::schema::HarnessFile;
use fullsend_harness::value::EnvName;
use fullsend_yaml::{Diagnostic, FromText as _, Located, Location};
use indexmap::IndexMap;

use super::Environment;

/// What the values of a harness say here and now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// For scripts on the host: `runner_env`, and `env.runner` over it.
    pub runner: BTreeMap<String, String>,
    /// For the sandbox: `env.sandbox`.
    pub sandbox: BTreeMap<String, String>,
    /// The sources of `host_files`, in order. None where an optional one has a variable that is not set.
    pub host_files: Vec<Option<String>>,
    /// The schema of the result.
    pub schema: Option<String>,
    /// The servers beside the sandbox, in order.
    pub api_servers: Vec<ExpandedServer>,
}

/// The variables of a server.
pub type ExpandedServer = BTreeMap<String, String>;

/// Replaces every variable in a harness, or says which are not set: all of them, each at its place.
///
/// `${FULLSEND_DIR}` is `fullsend_dir` whatever the environment says.
pub fn expand(
    harness: &HarnessFile,
    environment: &Environment,
    fullsend_dir: &Path,
) -> Result<Expanded, Vec<Diagnostic>> {
    let directory = fullsend_dir.to_string_lossy();
    let lookup = |name: &str| match name {
        FULLSEND_DIR => Some(directory.clone().into_owned()),
        _ => environment.get(name).map(str::to_owned),
    };
    let mut work = Work { lookup: &lookup, problems: Vec::new() };
    let env = harness.env.as_ref();
    let mut expanded = Expanded::default();
    work.map("runner_env", harness.runner_env.as_ref(), &mut expanded.runner);
    work.map("env.runner", env.and_then(|env| env.runner.as_ref()), &mut expanded.runner);
    work.map("env.sandbox", env.and_then(|env| env.sandbox.as_ref()), &mut expanded.sandbox);
    for name in env.and_then(|env| env.sandbox.as_ref()).into_iter().flatten() {
        work.sandbox_name(name);
    }
    for server in harness.api_servers.iter().flatten() {
        let mut variables = ExpandedServer::new();
        work.map("api_servers env", server.env.as_ref(), &mut variables);
        expanded.api_servers.push(variables);
    }
    expanded.host_files = work.host_files(harness);
    if let Some(validation) = &harness.validation_loop {
        let schema = validation.schema.as_ref();
        expanded.schema =
            schema.and_then(|schema| work.text("validation_loop.schema", schema.as_str(), schema.at));
        if let Some(check) = &validation.preflight_check {
            work.command(check);
        }
    }
    if work.problems.is_empty() { Ok(expanded) } else { Err(work.problems) }
}

struct Work<'w> {
    lookup: expand::Variables<'w>,
    problems: Vec<Diagnostic>,
}

impl Work<'_> {
    fn map(
        &mut self,
        key: &str,
        from: Option<&IndexMap<String, Located<String>>>,
        into: &mut BTreeMap<String, String>,
    ) {
        for (name, value) in from.into_iter().flatten() {
            if let Some(text) = self.text(&format!("{key}.{name}"), value, value.at) {
                into.insert(name.clone(), text);
            }
        }
    }

    fn host_files(&mut self, harness: &HarnessFile) -> Vec<Option<String>> {
        let files = harness.host_files.iter().flatten();
        let mut sources = Vec::new();
        for file in files {
            let optional = file.optional.as_ref().is_some_and(|optional| optional.value);
            sources.push(file.src.as_ref().and_then(|src| match expand::expand(src.as_str(), self.lookup) {
                Ok(text) if text.is_empty() && !optional => {
                    let message = "`host_files` has a `src` that is empty once its variables are replaced";
                    let problem = Diagnostic::new(&rules::UNSET_VARIABLE, src.at, message);
                    self.problems
                        .push(problem.with_help("give the variable a value, or add `optional: true`"));
                    None
                }
                Ok(text) => Some(text).filter(|text| !text.is_empty()),
                Err(ExpandError::Unset { .. }) if optional => None,
                Err(error) => {
                    self.problem("host_files src", src.at, &error);
                    None
                }
            }));
        }
        sources
    }

    /// A shell command: `${NAME}` must be set, forms such as `${NAME:-none}` are the shell's own affair.
    fn command(&mut self, command: &Located<String>) {
        let pieces = command.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
        for (name, _) in pieces.filter(|(name, _)| EnvName::from_text(name).is_ok()) {
            self.text("validation_loop.preflight_check", &format!("${{{name}}}"), command.at);
        }
    }

    /// A name that the run sets itself would take a hook or the proxy out of the way. Skipping it silently would leave
    /// whoever wrote it believing that it works.
    fn sandbox_name(&mut self, (name, value): (&String, &Located<String>)) {
        if expand::is_reserved(name) || EnvName::from_text(name).is_err() {
            let message = format!("`env.sandbox.{name}` cannot be set");
            self.problems.push(Diagnostic::new(&rules::RESERVED_VARIABLE, value.at, message));
        }
    }

    fn text(&mut self, key: &str, text: &str, at: Location) -> Option<String> {
        let refused = match expand::expand(text, self.lookup) {
            Ok(text) if !text.contains('\0') => return Some(text),
            Ok(_) => {
                let message = format!("`{key}` has a NUL character");
                self.problems.push(Diagnostic::new(&rules::VARIABLE, at, message));
                return None;
            }
            Err(error) => error,
        };
        self.problem(key, at, &refused);
        None
    }

    fn problem(&mut self, key: &str, at: Location, error: &ExpandError) {
        let unset = matches!(error, ExpandError::Unset { .. });
        let rule = if unset { &rules::UNSET_VARIABLE } else { &rules::VARIABLE };
        let problem = Diagnostic::new(rule, at, format!("`{key}` {error}"));
        self.problems.push(problem.with_help_if(error.help()));
    }
}
