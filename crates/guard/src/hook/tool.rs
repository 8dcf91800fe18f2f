//! The tools of every runtime, in one vocabulary.

mod names;

use std::fmt;

use serde::{Deserialize, Serialize};

/// The program whose tools are called; each has names of its own for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// The built-in loop.
    Native,
    /// Claude Code.
    #[default]
    Claude,
    /// opencode.
    OpenCode,
    /// Codex.
    Codex,
    /// A scripted run of the built-in loop.
    Replay,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Native, Self::Claude, Self::OpenCode, Self::Codex, Self::Replay];

    /// The name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Claude => "claude",
            Self::OpenCode => "opencode",
            Self::Codex => "codex",
            Self::Replay => "replay",
        }
    }

    /// Whether it keeps an agent to the tools of its definition by itself. Where it does not, the hook does.
    pub const fn limits_tools(self) -> bool {
        match self {
            Self::Native | Self::Claude | Self::Replay => true,
            Self::OpenCode | Self::Codex => false,
        }
    }
}

/// What a tool does, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// Runs shell commands.
    Shell,
    /// Reads a file.
    Read,
    /// Writes a file.
    Write,
    /// Changes a file.
    Edit,
    /// Searches in files.
    Search,
    /// Lists files.
    List,
    /// Requests a URL.
    Fetch,
    /// Asks a search engine.
    WebSearch,
    /// Shows an image to the model.
    Image,
    /// Hands work to another agent.
    Delegate,
    /// Loads or runs part of a skill.
    Skill,
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// The tool, as the server calls it.
        tool: String,
    },
    /// Anything else. It is checked all the same.
    Other,
}

impl ToolKind {
    /// What the tool called `name` does.
    ///
    /// Names mean what they mean in the runtime's vocabulary; one that is not in it means what it means in any other, in
    /// whatever case, so that no spelling of a known tool slips past a check.
    pub fn of(runtime: Runtime, name: &str) -> Self {
        if let Some(mcp) = Self::mcp(name) {
            return mcp;
        }
        names::exact(runtime, name).or_else(|| names::anywhere(name)).unwrap_or(Self::Other)
    }

    fn mcp(name: &str) -> Option<Self> {
        let prefix = name.get(..5).filter(|prefix| prefix.eq_ignore_ascii_case("mcp__"))?;
        let (server, tool) = name.get(prefix.len()..)?.split_once("__")?;
        Some(Self::Mcp { server: server.to_owned(), tool: tool.to_owned() })
    }

    /// Whether it runs shell commands, as far as its name tells.
    pub fn is_shell(&self) -> bool {
        match self {
            Self::Shell => true,
            Self::Mcp { tool, .. } => names::anywhere(tool) == Some(Self::Shell),
            Self::Read | Self::Write | Self::Edit | Self::Search | Self::List | Self::Fetch => false,
            Self::WebSearch | Self::Image | Self::Delegate | Self::Skill | Self::Other => false,
        }
    }
}

impl fmt::Display for ToolKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Shell => "shell",
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Search => "search",
            Self::List => "list",
            Self::Fetch => "fetch",
            Self::WebSearch => "web search",
            Self::Image => "image",
            Self::Delegate => "delegate",
            Self::Skill => "skill",
            Self::Mcp { .. } => "MCP",
            Self::Other => "other",
        })
    }
}

#[cfg(test)]
mod tests;
