//! `${VAR}` references: their shape always, and that they are set when an environment is given.

use fullsend_yaml::{Diagnostic, FromText, Located};

use crate::expand::{self, ExpandError, Variables};
use crate::rules;
use crate::schema::HarnessFile;
use crate::value::EnvName;

type Environment<'e> = Option<Variables<'e>>;

pub(super) fn check(harness: &HarnessFile, environment: Environment<'_>, problems: &mut Vec<Diagnostic>) {
    let env = harness.env.as_ref();
    let maps = [
        ("runner_env", harness.runner_env.as_ref()),
        ("env.runner", env.and_then(|env| env.runner.as_ref())),
        ("env.sandbox", env.and_then(|env| env.sandbox.as_ref())),
    ];
    for (key, map) in maps {
        for (name, value) in map.into_iter().flatten() {
            text(&format_args!("{key}.{name}"), value, environment, problems);
        }
    }
    for server in harness.api_servers.iter().flatten() {
        for (name, value) in server.env.iter().flatten() {
            text(&format_args!("api_servers env {name}"), value, environment, problems);
        }
    }
    if let Some(check) =
        harness.validation_loop.as_ref().and_then(|validation| validation.preflight_check.as_ref())
    {
        command(check, environment, problems);
    }
}

/// A shell command: `${NAME}` must be set, forms such as `${NAME:-none}` are the shell's own affair.
fn command(command: &Located<String>, environment: Environment<'_>, problems: &mut Vec<Diagnostic>) {
    let pieces = command.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    for (name, _) in pieces.filter(|(name, _)| EnvName::from_text(name).is_ok()) {
        let reference = Located { value: format!("${{{name}}}"), at: command.at };
        text(&"validation_loop.preflight_check", &reference, environment, problems);
    }
}

fn text(
    key: &dyn std::fmt::Display,
    value: &Located<String>,
    environment: Environment<'_>,
    problems: &mut Vec<Diagnostic>,
) {
    if !value.contains("${") {
        return;
    }
    let result = match environment {
        Some(lookup) => expand::expand(value, lookup).map(drop),
        None => expand::check(value),
    };
    if let Err(error) = result {
        problems.push(problem(&format!("`{key}`"), value.at, &error));
    }
}

/// The diagnostic for a bad or unset variable.
pub(super) fn problem(subject: &str, at: fullsend_yaml::Location, error: &ExpandError) -> Diagnostic {
    let rule = match error {
        ExpandError::Unset { .. } => &rules::UNSET_VARIABLE,
        ExpandError::Unclosed | ExpandError::BadName { .. } | ExpandError::Denied { .. } => &rules::VARIABLE,
    };
    Diagnostic::new(rule, at, format!("{subject} {error}")).with_help_if(error.help())
}
