//! `fullsend hook config`: what a harness asks hooks to check.

mod canary;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fullsend_guard::Severity;
use fullsend_guard::hook::{
    AllowlistCheck, CanaryCheck, Checks, CommandCheck, HookConfig, SsrfCheck, TirithCheck,
};
use fullsend_harness::schema::{CommandHook, HarnessFile, SandboxHooks, Security, Tirith, ToolAllowlist};
use fullsend_harness::value::TirithLevel;
use fullsend_harness::{Library, path};
use fullsend_yaml::{Diagnostic, Located};

use crate::cli::HookConfigArgs;
use crate::command::{fullsend_directory, show};
use crate::exit::Exit;
use crate::output::{Advice, Output, diagnostics};

pub(super) fn run(args: &HookConfigArgs, output: &mut Output) -> Result<Exit> {
    let config = match &args.harness {
        Some(name) => of_harness(args, name, output)?,
        None => {
            let checks = checks(&Security::default(), args, Vec::new(), output)?;
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
    let tools = harness.as_ref().map(|harness| tools(&mut library, harness, &mut problems));
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

/// The tools that the agent definition lists, by name: `Bash(git *)` is the tool `Bash`.
fn tools(library: &mut Library, harness: &HarnessFile, problems: &mut Vec<Diagnostic>) -> Vec<String> {
    let agent = harness.agent.as_ref().and_then(|agent| path::resolve(library.root(), agent.local()?));
    let Some(definition) = agent.and_then(|agent| library.agent(&agent, problems)) else { return Vec::new() };
    let name = |tool: &Located<String>| {
        let written = tool.value.as_str();
        written.split_once('(').map_or(written, |(name, _)| name).trim().to_owned()
    };
    let refused: Vec<String> =
        definition.disallowed_tools.iter().flat_map(|list| &list.0).map(name).collect();
    let listed = definition.tools.iter().flat_map(|list| &list.0).map(name);
    listed.filter(|tool| !tool.is_empty() && !refused.contains(tool)).collect()
}

/// What a `security` block asks for. Every key is named here, so that none can be read and forgotten.
fn checks(
    security: &Security,
    args: &HookConfigArgs,
    tools: Vec<String>,
    output: &mut Output,
) -> Result<Checks> {
    let hooks = security.sandbox_hooks.clone().unwrap_or_default();
    let SandboxHooks {
        command_pretool,
        tirith: tirith_hook,
        ssrf_pretool,
        secret_redact_posttool,
        unicode_posttool,
        context_suppress_posttool,
        canary_pretool,
        canary_posttool,
        tool_allowlist_pretool,
    } = hooks;
    let on = is_on(security.enabled.as_ref());
    let canary = on && security.canary.as_ref().is_none_or(|canary| is_on(canary.enabled.as_ref()));
    let (pre, post) = (canary && is_on(canary_pretool.as_ref()), canary && is_on(canary_posttool.as_ref()));
    let places = security.canary.clone().unwrap_or_default();
    let tokens =
        if pre || post { canary::tokens(&places, args.canary_file.as_deref(), output)? } else { Vec::new() };
    Ok(Checks {
        command: command(command_pretool.unwrap_or_default(), on),
        tirith: ask_tirith(tirith_hook.unwrap_or_default(), on, args.tirith.as_deref())?,
        ssrf: SsrfCheck { enabled: on && is_on(ssrf_pretool.as_ref()), ..SsrfCheck::default() },
        canary: CanaryCheck { pre, post, tokens },
        tool_allowlist: allowlist(tool_allowlist_pretool.unwrap_or_default(), on, tools)?,
        suppress: on && is_on(context_suppress_posttool.as_ref()),
        unicode: on && is_on(unicode_posttool.as_ref()),
        secrets: on && is_on(secret_redact_posttool.as_ref()),
    })
}

/// What is not said is on.
fn is_on(flag: Option<&Located<bool>>) -> bool {
    flag.is_none_or(|flag| flag.value)
}

fn severity(level: Option<&Located<TirithLevel>>) -> Severity {
    match level.map(|level| level.value) {
        Some(TirithLevel::Critical) => Severity::Critical,
        Some(TirithLevel::High) | None => Severity::High,
        Some(TirithLevel::Medium) => Severity::Medium,
    }
}

fn command(CommandHook { enabled, fail_on }: CommandHook, on: bool) -> CommandCheck {
    CommandCheck { enabled: on && is_on(enabled.as_ref()), fail_on: severity(fail_on.as_ref()) }
}

/// Tirith is asked where the caller knows it to be.
fn ask_tirith(hook: Tirith, on: bool, program: Option<&Path>) -> Result<TirithCheck> {
    let Tirith { enabled, fail_on, required } = hook;
    let wanted = on && is_on(enabled.as_ref());
    let required = required.is_some_and(|required| required.value);
    ensure!(
        !(wanted && required) || program.is_some(),
        Advice::new(
            "the harness requires tirith, and it is not said where the program is",
            "name it with `--tirith /path/to/tirith`",
        )
    );
    let program: Option<PathBuf> = program.map(Path::to_owned);
    Ok(TirithCheck {
        enabled: wanted && program.is_some(),
        program,
        fail_on: severity(fail_on.as_ref()),
        required,
    })
}

fn allowlist(
    ToolAllowlist { enabled }: ToolAllowlist,
    on: bool,
    tools: Vec<String>,
) -> Result<AllowlistCheck> {
    let enabled = on && enabled.is_some_and(|enabled| enabled.value);
    ensure!(
        !enabled || !tools.is_empty(),
        Advice::new(
            "`tool_allowlist_pretool` is enabled, and the agent definition lists no tools",
            "add `tools:` to the agent definition, or switch the list off",
        )
    );
    Ok(AllowlistCheck { enabled, tools: if enabled { tools } else { Vec::new() } })
}
