//! The tools of an agent definition, in the words of the built-in agent.

use std::collections::BTreeSet;

use fullsend_agent::scene::{NOT_BY_DEFAULT, TOOLS};
use fullsend_agent::subagent::{self, Profile};
use fullsend_guard::hook::{Runtime, ToolKind};

use crate::runtime::{AgentText, RuntimeError};
use crate::tools::whole_tools;

/// What an agent may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) tools: BTreeSet<String>,
    pub(super) profiles: Vec<Profile>,
}

/// What an agent definition lets the agent call. Tools that have no counterpart here, such as those of servers, are not
/// there to be called.
pub(super) fn allowed(agent: &AgentText, runtime: Runtime) -> Result<Allowed, RuntimeError> {
    whole_tools(runtime, &agent.tools)?;
    whole_tools(runtime, &agent.disallowed_tools)?;
    let usual = || TOOLS.into_iter().filter(|tool| !NOT_BY_DEFAULT.contains(tool));
    let mut tools: BTreeSet<&str> = match agent.tools.as_slice() {
        [] => usual().collect(),
        named => named.iter().flat_map(|entry| meant_by(entry.trim())).copied().collect(),
    };
    for entry in &agent.disallowed_tools {
        for tool in meant_by(entry.trim()) {
            tools.remove(tool);
        }
    }
    // A child of the only profile has these tools, whatever the agent has.
    let may_delegate =
        tools.contains(subagent::NAME) && Profile::Default.tools().iter().all(|tool| tools.contains(tool));
    let profiles = if may_delegate { vec![Profile::Default] } else { Vec::new() };
    Ok(Allowed { tools: tools.into_iter().map(str::to_owned).collect(), profiles })
}

/// The tools that a name means, in whichever vocabulary it is written.
fn meant_by(name: &str) -> &'static [&'static str] {
    if let Some(at) = TOOLS.iter().position(|tool| *tool == name) {
        return TOOLS.get(at..=at).unwrap_or_default();
    }
    match ToolKind::of(Runtime::Claude, name) {
        ToolKind::Shell => &["bash"],
        // Pictures are files that are read.
        ToolKind::Read => &["read_file", "view_image"],
        ToolKind::Write => &["write_file"],
        ToolKind::Edit => &["edit_file"],
        ToolKind::Search => &["search_files"],
        ToolKind::List => &["list_files"],
        ToolKind::Fetch => &["web_fetch"],
        ToolKind::Image => &["view_image"],
        ToolKind::Delegate => &["delegate_task"],
        ToolKind::Skill => &["load_skill", "read_skill_resource"],
        ToolKind::WebSearch | ToolKind::Mcp { .. } | ToolKind::Other => &[],
    }
}

#[cfg(test)]
mod tests {
    use fullsend_agent::subagent::Profile;
    use fullsend_guard::hook::Runtime;

    use super::allowed;
    use crate::runtime::AgentText;

    fn of(tools: &[&str], disallowed: &[&str]) -> Option<(Vec<String>, Vec<Profile>)> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let agent =
            AgentText { tools: owned(tools), disallowed_tools: owned(disallowed), ..AgentText::default() };
        let allowed = allowed(&agent, Runtime::Native).ok()?;
        Some((allowed.tools.into_iter().collect(), allowed.profiles))
    }

    #[test]
    fn names_of_every_vocabulary_mean_our_tools() {
        let cases: &[(&[&str], &[&str], &[&str])] = &[
            (&["Read", "Grep", "Glob"], &[], &["list_files", "read_file", "search_files", "view_image"]),
            (&["Bash", "Write", "Edit"], &[], &["bash", "edit_file", "write_file"]),
            (&["bash", "run_skill_script"], &["Write"], &["bash", "run_skill_script"]),
            (&["WebFetch", "mcp__x__y", "TodoWrite"], &[], &["web_fetch"]),
            (&["Read", "Bash"], &["shell"], &["read_file", "view_image"]),
            (&["Skill"], &[], &["load_skill", "read_skill_resource"]),
        ];
        for (tools, disallowed, expected) in cases {
            let (found, profiles) = of(tools, disallowed).unwrap();
            assert_eq!(found, *expected, "{tools:?} {disallowed:?}");
            assert_eq!(profiles, [], "{tools:?}");
        }
    }

    #[test]
    fn children_have_no_more_than_the_agent() {
        let (all, profiles) = of(&[], &[]).unwrap();
        assert!(all.contains(&"bash".to_owned()) && !all.contains(&"web_fetch".to_owned()), "{all:?}");
        assert_eq!(profiles, [Profile::Default]);
        assert_eq!(of(&[], &["Bash"]).unwrap().1, [], "a child would have a shell");
        assert_eq!(of(&["Task"], &[]).unwrap().1, []);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        assert_eq!(of(&["Bash(git:*)"], &[]), None);
        assert_eq!(of(&[], &["Bash(rm *)"]), None);
    }
}
