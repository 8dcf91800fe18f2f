//! `fullsend hook config`: what a harness asks hooks to check.

mod canary;

use std::path::Path;

use anyhow::Result;
use fullsend_guard::hook::{Checks, HookConfig, Runtime};
use fullsend_harness::schema::{HarnessFile, Security, ToolList};
use fullsend_harness::{Library, path};
use fullsend_runner::security::{HookInput, SecurityError, canary_plan, hook_checks};
use fullsend_yaml::{Diagnostic, Located};

use crate::cli::HookConfigArgs;
use crate::command::{fullsend_directory, show};
use crate::exit::Exit;
use crate::output::{Advice, Output, diagnostics};

pub(super) fn run(args: &HookConfigArgs, output: &mut Output) -> Result<Exit> {
    let config = match &args.harness {
        Some(name) => of_harness(args, name, output)?,
        None => {
            let checks = checks(&Security::default(), args, HookInput::default(), output)?;
            HookConfig { runtime: args.runtime.into(), checks, ..HookConfig::default() }
        }
    };
    config.validate()?;
    output.json(&serde_json::to_value(&config)?)?;
    Ok(Exit::Done)
}

/// The configuration for the harness that `name` leads to.
fn of_harness(args: &HookConfigArgs, name: &str, output: &mut Output) -> Result<HookConfig> {
    let root = match fullsend_directory(&args.directory) {
        Ok(root) => root,
        Err(_) if Path::new(name).is_file() => fullsend_harness::workspace::root_of(Path::new(name)),
        Err(error) => return Err(error),
    };
    let mut library = Library::new(&root);
    let mut problems = Vec::new();
    let configuration = library.configuration(&mut problems);
    let file = show::locate(&configuration, &root, name)?;
    let harness = library.compose(&file, &mut problems).map(|composition| composition.harness);
    let tools =
        harness.as_ref().map(|harness| tools(&mut library, harness, args.runtime.into(), &mut problems));
    let (Some(harness), Some(tools), false) = (harness, tools, problems.iter().any(Diagnostic::is_error))
    else {
        diagnostics::print_to_stderr(output, library.sources(), &problems);
        let help = "correct the problems above; `fullsend harness lint` lists all of them";
        return Err(Advice::new("the harness cannot be composed", help).into());
    };
    if let Some(base) = harness.base.as_ref().filter(|base| base.local().is_none()) {
        let message = format!("the base `{}` is remote and is not fetched here", base.value);
        return Err(Advice::new(message, "write the `security` block into the harness itself").into());
    }
    let checks = checks(&harness.security.clone().unwrap_or_default(), args, tools, output)?;
    Ok(HookConfig { runtime: args.runtime.into(), checks, ..HookConfig::default() })
}

/// What the agent definition says about tools.
fn tools(
    library: &mut Library,
    harness: &HarnessFile,
    runtime: Runtime,
    problems: &mut Vec<Diagnostic>,
) -> HookInput<'static> {
    let agent = harness.agent.as_ref().and_then(|agent| path::resolve(library.root(), agent.local()?));
    let Some(definition) = agent.and_then(|agent| library.agent(&agent, problems)) else {
        return HookInput::default();
    };
    let names = |list: &Option<ToolList>| -> Vec<String> {
        list.iter().flat_map(|list| &list.0).map(|tool: &Located<String>| tool.value.clone()).collect()
    };
    HookInput::of_agent(runtime, &names(&definition.tools), &names(&definition.disallowed_tools))
}

/// What a `security` block asks for.
fn checks(
    security: &Security,
    args: &HookConfigArgs,
    agent: HookInput<'_>,
    output: &mut Output,
) -> Result<Checks> {
    let tokens = canary::tokens(&canary_plan(security), args.canary_file.as_deref(), output)?;
    let checks = hook_checks(security, HookInput { tirith: args.tirith.as_deref(), tokens, ..agent });
    checks.map_err(|error| {
        let help = match &error {
            SecurityError::NoTirith => "name it with `--tirith /path/to/tirith`",
            SecurityError::NoTools => "add `tools:` to the agent definition, or switch the list off",
            SecurityError::NoClassifier | _ => "correct the `security` block",
        };
        Advice::new(error.to_string(), help).into()
    })
}
