//! From the `security` block to the checks of tool hooks.

use std::path::{Path, PathBuf};

use fullsend_guard::Severity;
use fullsend_guard::hook::{
    AgentTools, AllowlistCheck, CanaryCheck, Checks, CommandCheck, Runtime, SsrfCheck, TirithCheck,
};
use fullsend_harness::schema::{CommandHook, SandboxHooks, Security, Tirith, ToolAllowlist};
use fullsend_harness::value::TirithLevel;
use fullsend_yaml::Located;

use super::{SecurityError, canary_plan, is_on};

/// What the block itself does not say.
#[derive(Clone, Debug, Default)]
pub struct HookInput<'a> {
    /// The tools that the agent definition lists, by name.
    pub tools: Vec<String>,
    /// What the agent definition says about tools, for a runtime that does not keep to it by itself.
    pub agent_tools: AgentTools,
    /// Whether the runtime has names of its own for its tools. A list of names would deny all of them; what is listed is kept
    /// to by the runtime itself, or as `agent_tools` says.
    pub other_names: bool,
    /// Where tirith is.
    pub tirith: Option<&'a Path>,
    /// Canary tokens to look for.
    pub tokens: Vec<String>,
}

impl HookInput<'_> {
    /// What an agent definition says about tools, for a runtime. `Bash(git *)` is the tool `Bash` in a list of names. Where the
    /// hook alone keeps to the definition it allows none of a tool that is allowed in part, and all of one that is denied in
    /// part is denied: hooks know tools by what they do, not by their arguments.
    pub fn of_agent(runtime: Runtime, allowed: &[String], denied: &[String]) -> Self {
        let name =
            |tool: &String| tool.split_once('(').map_or(tool.as_str(), |(name, _)| name).trim().to_owned();
        let refused: Vec<String> = denied.iter().map(name).collect();
        let agent_tools = match runtime.limits_tools() {
            true => AgentTools::default(),
            false => AgentTools { allowed: allowed.to_vec(), denied: refused.clone() },
        };
        let listed = allowed.iter().map(name).filter(|tool| !tool.is_empty() && !refused.contains(tool));
        Self {
            tools: listed.collect(),
            agent_tools,
            other_names: runtime != Runtime::Claude,
            ..Self::default()
        }
    }
}

/// What a `security` block asks hooks to check. Every key is named here, so that none can be read and forgotten.
pub fn hook_checks(security: &Security, input: HookInput<'_>) -> Result<Checks, SecurityError> {
    let canary = canary_plan(security);
    let SandboxHooks {
        command_pretool,
        tirith,
        ssrf_pretool,
        secret_redact_posttool,
        unicode_posttool,
        context_suppress_posttool,
        canary_pretool: _planned,
        canary_posttool: _planned_too,
        tool_allowlist_pretool,
    } = security.sandbox_hooks.clone().unwrap_or_default();
    let on = is_on(security.enabled.as_ref());
    let tokens = if canary.is_searched() { input.tokens } else { Vec::new() };
    let mut tool_allowlist = allowlist(tool_allowlist_pretool.unwrap_or_default(), on, input.tools)?;
    tool_allowlist.enabled &= !input.other_names;
    Ok(Checks {
        command: command(command_pretool.unwrap_or_default(), on),
        tirith: ask_tirith(tirith.unwrap_or_default(), on, input.tirith)?,
        ssrf: SsrfCheck { enabled: on && is_on(ssrf_pretool.as_ref()), ..SsrfCheck::default() },
        canary: CanaryCheck { pre: canary.pre, post: canary.post, tokens },
        tool_allowlist,
        agent_tools: input.agent_tools,
        suppress: on && is_on(context_suppress_posttool.as_ref()),
        unicode: on && is_on(unicode_posttool.as_ref()),
        secrets: on && is_on(secret_redact_posttool.as_ref()),
    })
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
fn ask_tirith(hook: Tirith, on: bool, program: Option<&Path>) -> Result<TirithCheck, SecurityError> {
    let Tirith { enabled, fail_on, required } = hook;
    let wanted = on && is_on(enabled.as_ref());
    let required = required.is_some_and(|required| required.value);
    if wanted && required && program.is_none() {
        return Err(SecurityError::NoTirith);
    }
    let program: Option<PathBuf> = program.map(Path::to_owned);
    let fail_on = severity(fail_on.as_ref());
    Ok(TirithCheck { enabled: wanted && program.is_some(), program, fail_on, required })
}

fn allowlist(hook: ToolAllowlist, on: bool, tools: Vec<String>) -> Result<AllowlistCheck, SecurityError> {
    let enabled = on && hook.enabled.is_some_and(|enabled| enabled.value);
    if enabled && tools.is_empty() {
        return Err(SecurityError::NoTools);
    }
    Ok(AllowlistCheck { enabled, tools: if enabled { tools } else { Vec::new() } })
}
