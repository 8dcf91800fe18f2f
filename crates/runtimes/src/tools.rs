//! The tools of an agent definition, for a runtime that leaves the keeping of them to the hook.

use fullsend_guard::hook::Runtime;

use crate::runtime::{Bootstrap, RuntimeError};

/// Refuses a definition whose limits nobody would keep.
pub(crate) fn can_be_limited(runtime: Runtime, input: &Bootstrap<'_>) -> Result<(), RuntimeError> {
    whole_tools(runtime, &input.agent.tools)?;
    whole_tools(runtime, &input.agent.disallowed_tools)?;
    let limited = !(input.agent.tools.is_empty() && input.agent.disallowed_tools.is_empty());
    if limited && !input.hooks {
        return Err(RuntimeError::Unsupported {
            runtime: runtime.as_str(),
            problem: "is kept to the tools of the agent definition by hooks, which are off; leave `security.enabled` on, or \
                      use the runtime `native`"
                .to_owned(),
        });
    }
    Ok(())
}

/// Refuses `Bash(git *)`: without its limit the tool would be more than was allowed, or less than was forbidden.
pub(crate) fn whole_tools(runtime: Runtime, entries: &[String]) -> Result<(), RuntimeError> {
    match entries.iter().find(|entry| entry.contains('(')) {
        None => Ok(()),
        Some(entry) => Err(RuntimeError::Unsupported {
            runtime: runtime.as_str(),
            problem: format!(
                "cannot limit a tool to some of its uses, as `{}` asks; name the tool alone, or leave it out",
                entry.escape_debug()
            ),
        }),
    }
}
