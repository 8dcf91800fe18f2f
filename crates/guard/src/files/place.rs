//! Which files an agent reads as instructions or settings, by name and by the directories they lie in.

use std::ffi::OsStr;
use std::path::Path;

/// What a file is to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextKind {
    /// Instructions that are read at the start, such as `AGENTS.md`.
    Instructions,
    /// The description of a skill.
    Skill,
    /// Any other file of a skill.
    SkillFile,
    /// The definition of an agent.
    Agent,
    /// A command that people call by its name.
    Command,
    /// Settings of an agent runtime, which may start programs.
    RuntimeConfig,
    /// Any other file in the directory of an agent runtime.
    RuntimeFile,
}

impl ContextKind {
    /// What a file that was named is, going by its name and the directory it lies in; instructions if they say nothing.
    pub fn of_file(path: &Path) -> Self {
        let directories = path.parent().into_iter().flat_map(Path::iter);
        let place = directories.fold(Place::Anywhere, |place, part| place.below(&comparable(part)));
        place.kind(&comparable(path.file_name().unwrap_or_default())).unwrap_or(Self::Instructions)
    }

    /// Whether such a file may well be an image or an archive. Where only text makes sense, anything else is suspicious.
    pub(crate) const fn may_be_binary(self) -> bool {
        matches!(self, Self::SkillFile | Self::RuntimeFile)
    }
}

/// What a directory makes of the files in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// Nothing: names decide.
    Anywhere,
    /// `.github`, some of whose directories hold instructions.
    GitHub,
    /// `agents`, whose Markdown files are agent definitions.
    AgentDefinitions,
    /// The directory of a plugin: commands, hooks and agents lie below.
    Plugin,
    /// A skill: everything in it may be read or run.
    Skill,
    /// A directory all of whose files are of a kind.
    All(ContextKind),
}

/// Read wherever they lie. In lower case, as all names here: file systems and runtimes differ about case.
const INSTRUCTIONS: &[&str] = &[
    ".claude.md",
    ".clinerules",
    ".continuerules",
    ".cursorrules",
    ".gemini.md",
    ".goosehints",
    ".hermes.md",
    ".roorules",
    ".windsurfrules",
    "agent.md",
    "agents.md",
    "agents.override.md",
    "claude.local.md",
    "claude.md",
    "copilot-instructions.md",
    "crush.md",
    "gemini.md",
    "hermes.md",
    "qwen.md",
    "soul.md",
    "warp.md",
];

const RUNTIME_CONFIGS: &[&str] =
    &[".lsp.json", ".mcp.json", "hooks.json", "mcp.json", "opencode.json", "opencode.jsonc", "plugin.json"];

/// Directories that belong to an agent runtime.
const RUNTIME_DIRECTORIES: &[&str] = &[
    ".agents",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".fullsend",
    ".gemini",
    ".goose",
    ".opencode",
    ".roo",
    ".windsurf",
];

/// Directories of other people's code, where names mean less and files are many.
const DEPENDENCIES: &[&str] = &["node_modules", "vendor", "__pycache__", ".venv", "target"];

/// The name that makes a directory a skill.
const SKILL: &str = "skill.md";

impl Place {
    /// What the directory `name` in this place is, as far as its name says.
    pub(crate) fn below(self, name: &str) -> Self {
        match (self, name) {
            (Self::Skill, _) => Self::Skill,
            (Self::All(ContextKind::RuntimeFile) | Self::Plugin, "agents" | "agent") => {
                Self::All(ContextKind::Agent)
            }
            (Self::All(ContextKind::RuntimeFile) | Self::Plugin, "commands" | "command") => {
                Self::All(ContextKind::Command)
            }
            (Self::All(ContextKind::RuntimeFile) | Self::Plugin, "hooks") => {
                Self::All(ContextKind::RuntimeFile)
            }
            (Self::All(kind), _) => Self::All(kind),
            (Self::GitHub, "instructions" | "prompts" | "chatmodes") => Self::All(ContextKind::Instructions),
            (_, ".clinerules") => Self::All(ContextKind::Instructions),
            (_, ".github") => Self::GitHub,
            (_, "agents") => Self::AgentDefinitions,
            (_, runtime) if RUNTIME_DIRECTORIES.contains(&runtime) => Self::All(ContextKind::RuntimeFile),
            (Self::Anywhere | Self::GitHub | Self::AgentDefinitions | Self::Plugin, _) => Self::Anywhere,
        }
    }

    /// What the directory is when it has entries of these names.
    pub(crate) fn holding<'n>(self, names: impl Iterator<Item = &'n str>) -> Self {
        let mut place = self;
        for name in names {
            match (place, name) {
                (_, SKILL) => return Self::Skill,
                (Self::Anywhere, ".claude-plugin" | "plugin.json") => place = Self::Plugin,
                (_, _) => {}
            }
        }
        place
    }

    /// What the file `name` in this place is to an agent; none when it is nothing in particular.
    pub(crate) fn kind(self, name: &str) -> Option<ContextKind> {
        if name == SKILL {
            return Some(ContextKind::Skill);
        }
        if RUNTIME_CONFIGS.contains(&name) {
            return Some(ContextKind::RuntimeConfig);
        }
        if INSTRUCTIONS.contains(&name) {
            return Some(ContextKind::Instructions);
        }
        match self {
            Self::Skill => Some(ContextKind::SkillFile),
            Self::All(ContextKind::RuntimeFile) if is_settings(name) => Some(ContextKind::RuntimeConfig),
            Self::All(kind) => Some(kind),
            Self::AgentDefinitions => name.ends_with(".md").then_some(ContextKind::Agent),
            Self::Anywhere | Self::GitHub | Self::Plugin => None,
        }
    }

    /// Whether all that lies here matters, whatever it is called.
    pub(crate) const fn is_context(self) -> bool {
        match self {
            Self::Skill | Self::All(_) | Self::AgentDefinitions => true,
            Self::Anywhere | Self::GitHub | Self::Plugin => false,
        }
    }
}

/// The settings files in the directory of a runtime.
fn is_settings(name: &str) -> bool {
    name == "config.toml" || name.starts_with("settings") && name.ends_with(".json")
}

/// Whether the directory `name` holds dependencies.
pub(crate) fn is_dependencies(name: &str) -> bool {
    DEPENDENCIES.contains(&name)
}

/// A name for comparing: what is not UTF-8 is no name that a runtime looks for.
pub(crate) fn comparable(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{ContextKind, Place};

    /// The kind of a path, each directory of which says what it is.
    fn kind(path: &str) -> Option<ContextKind> {
        let lower = path.to_lowercase();
        let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let place = directories
            .split('/')
            .filter(|part| !part.is_empty())
            .fold(Place::Anywhere, |place, part| place.below(part));
        place.kind(name)
    }

    #[test]
    fn names_and_directories_say_what_a_file_is() {
        use ContextKind::{Agent, Command, Instructions, RuntimeConfig, RuntimeFile, Skill};
        for (path, expected) in [
            ("AGENTS.md", Instructions),
            ("agents.md", Instructions),
            ("deep/below/Claude.MD", Instructions),
            (".cursorrules", Instructions),
            (".cursor/rules/style.mdc", RuntimeFile),
            (".clinerules/a.md", Instructions),
            (".github/copilot-instructions.md", Instructions),
            (".github/instructions/rust.instructions.md", Instructions),
            ("SKILL.md", Skill),
            ("skill.md", Skill),
            ("plugin.json", RuntimeConfig),
            ("Plugin.json", RuntimeConfig),
            (".lsp.json", RuntimeConfig),
            (".mcp.json", RuntimeConfig),
            ("agents/code.md", Agent),
            (".claude/agents/code.md", Agent),
            (".claude/agents/team/code.md", Agent),
            (".opencode/agent/x", Agent),
            (".claude/commands/a/b.md", Command),
            (".claude/settings.local.json", RuntimeConfig),
            (".codex/config.toml", RuntimeConfig),
            (".claude/output-styles/terse.md", RuntimeFile),
            (".fullsend/scripts/pre.sh", RuntimeFile),
            ("security/AGENTS.md", Instructions),
        ] {
            assert_eq!(kind(path), Some(expected), "{path}");
        }
        for path in
            ["README.md", "src/agents/code.rs", "settings.json", ".github/workflows/ci.yml", "config.toml"]
        {
            assert_eq!(kind(path), None, "{path}");
        }
    }

    #[test]
    fn a_skill_file_makes_the_directory_a_skill() {
        let place = Place::Anywhere.holding(["references", "skill.md"].into_iter());
        assert_eq!(place, Place::Skill);
        assert_eq!(place.below("references").kind("long.txt"), Some(ContextKind::SkillFile));
        let plugin = Place::Anywhere.holding([".claude-plugin", "commands"].into_iter());
        assert_eq!(plugin.below("commands").kind("go.md"), Some(ContextKind::Command));
    }
}
