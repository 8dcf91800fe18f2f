//! The tools that an agent definition allows, whatever the runtime calls them.

use serde::{Deserialize, Serialize};

use crate::hook::tool::{Runtime, ToolKind};

/// The tools of an agent definition. Names count by what the tool does: `Bash` is every shell of every runtime. A tool that
/// does several things needs all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentTools {
    /// Those that may be called; none means all.
    pub allowed: Vec<String>,
    /// Those that may not, even if they are among the others.
    pub denied: Vec<String>,
}

impl AgentTools {
    /// Whether every tool may be called.
    pub fn is_unlimited(&self) -> bool {
        self.allowed.is_empty() && self.denied.is_empty()
    }

    /// Whether a tool may be called.
    pub fn allows(&self, runtime: Runtime, name: &str) -> bool {
        let kind = ToolKind::of(runtime, name);
        // A patch makes files as well as it changes them.
        let also = (kind == ToolKind::Edit && name.contains("patch")).then_some(ToolKind::Write);
        let named = |list: &[String], kind: &ToolKind| list.iter().any(|entry| means(entry, kind, name));
        let mut does = std::iter::once(&kind).chain(&also);
        does.all(|kind| (self.allowed.is_empty() || named(&self.allowed, kind)) && !named(&self.denied, kind))
    }
}

/// Whether an entry of a definition means a tool. Definitions are written in the words of Claude Code, mostly.
fn means(entry: &str, kind: &ToolKind, name: &str) -> bool {
    let entry = entry.trim();
    let meant = ToolKind::of(Runtime::Claude, entry);
    match kind {
        _ if entry == name => true,
        // What two unknown tools do is not the same, and what tools of servers do is not known.
        ToolKind::Other => false,
        ToolKind::Mcp { server, tool } => {
            if let ToolKind::Mcp { server: of, tool: one } = &meant {
                server == of && (one == "*" || one == tool)
            } else {
                entry.strip_prefix("mcp__") == Some(server)
            }
        }
        // Pictures are files that are read.
        ToolKind::Image => matches!(meant, ToolKind::Image | ToolKind::Read),
        ToolKind::Shell
        | ToolKind::Read
        | ToolKind::Write
        | ToolKind::Edit
        | ToolKind::Search
        | ToolKind::List
        | ToolKind::Fetch
        | ToolKind::WebSearch
        | ToolKind::Delegate
        | ToolKind::Skill => meant == *kind,
    }
}

#[cfg(test)]
mod tests {
    use super::AgentTools;
    use crate::hook::tool::Runtime::{self, Claude, Codex, OpenCode};

    #[test]
    fn names_count_by_what_tools_do() {
        type Case = (&'static [&'static str], &'static [&'static str], Runtime, &'static str, bool);
        let cases: &[Case] = &[
            (&[], &[], Codex, "anything", true),
            (&["Bash"], &[], Codex, "exec_command", true),
            (&["Bash"], &[], Codex, "write_stdin", true),
            (&["Read", "Grep"], &[], Codex, "Bash", false),
            (&["Read"], &[], Codex, "view_image", true),
            (&["Edit"], &[], Codex, "apply_patch", false),
            (&["Edit", "Write"], &[], Codex, "apply_patch", true),
            (&[], &["Write"], Codex, "apply_patch", false),
            (&["Bash"], &[], Codex, "update_plan", false),
            (&["update_plan"], &[], Codex, "update_plan", true),
            (&["Bash", "Read"], &["Bash"], OpenCode, "bash", false),
            (&["Bash", "Read"], &["Bash"], OpenCode, "read", true),
            (&[], &["WebFetch"], OpenCode, "webfetch", false),
            (&[], &["WebFetch"], OpenCode, " WebFetch ", false),
            (&["Read"], &[], OpenCode, "todowrite", false),
            (&["mcp__a__*"], &[], Claude, "mcp__a__x", true),
            (&["mcp__a"], &[], Claude, "mcp__a__x", true),
            (&["mcp__a__x"], &[], Claude, "mcp__a__y", false),
            (&["mcp__ab"], &[], Claude, "mcp__a__y", false),
        ];
        for (allowed, denied, runtime, name, expected) in cases {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let tools = AgentTools { allowed: owned(allowed), denied: owned(denied) };
            assert_eq!(tools.allows(*runtime, name), *expected, "{allowed:?} {denied:?} {name}");
        }
    }
}
