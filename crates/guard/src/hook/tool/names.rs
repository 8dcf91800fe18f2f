//! What each runtime calls its tools.

use super::{Runtime, ToolKind};
use crate::fold::Folded;

type Names = &'static [(&'static str, ToolKind)];

const CLAUDE: Names = &[
    ("Agent", ToolKind::Delegate),
    ("Bash", ToolKind::Shell),
    ("BashOutput", ToolKind::Other),
    ("Edit", ToolKind::Edit),
    ("Glob", ToolKind::List),
    ("Grep", ToolKind::Search),
    ("LS", ToolKind::List),
    ("MultiEdit", ToolKind::Edit),
    ("NotebookEdit", ToolKind::Edit),
    ("PowerShell", ToolKind::Shell),
    ("Read", ToolKind::Read),
    ("Skill", ToolKind::Skill),
    ("Task", ToolKind::Delegate),
    ("WebFetch", ToolKind::Fetch),
    ("WebSearch", ToolKind::WebSearch),
    ("Write", ToolKind::Write),
];

/// As in opencode 1.18.33. Tools of servers are `server_tool` there, which no name tells from others.
const OPENCODE: Names = &[
    ("apply_patch", ToolKind::Edit),
    ("bash", ToolKind::Shell),
    ("edit", ToolKind::Edit),
    ("glob", ToolKind::List),
    ("grep", ToolKind::Search),
    ("lsp", ToolKind::Search),
    ("plan_exit", ToolKind::Other),
    ("question", ToolKind::Other),
    ("read", ToolKind::Read),
    ("skill", ToolKind::Skill),
    ("task", ToolKind::Delegate),
    ("todowrite", ToolKind::Other),
    ("webfetch", ToolKind::Fetch),
    ("websearch", ToolKind::WebSearch),
    ("write", ToolKind::Write),
];

/// As in Codex 0.166.0, and what earlier versions called a shell. Hooks of Codex see every shell as `Bash`.
const CODEX: Names = &[
    ("Bash", ToolKind::Shell),
    ("apply_patch", ToolKind::Edit),
    ("exec_command", ToolKind::Shell),
    ("local_shell", ToolKind::Shell),
    ("shell", ToolKind::Shell),
    ("shell_command", ToolKind::Shell),
    ("spawn_agent", ToolKind::Delegate),
    ("update_plan", ToolKind::Other),
    ("view_image", ToolKind::Image),
    ("web_search", ToolKind::WebSearch),
    // What is typed into a shell that already runs is a command too.
    ("write_stdin", ToolKind::Shell),
];

const NATIVE: Names = &[
    ("bash", ToolKind::Shell),
    ("delegate_task", ToolKind::Delegate),
    ("edit_file", ToolKind::Edit),
    ("fetch_skill", ToolKind::Skill),
    ("list_files", ToolKind::List),
    ("load_skill", ToolKind::Skill),
    ("read_file", ToolKind::Read),
    ("read_skill_resource", ToolKind::Skill),
    ("run_skill_script", ToolKind::Skill),
    ("search_files", ToolKind::Search),
    ("submit_result", ToolKind::Other),
    ("view_image", ToolKind::Image),
    ("web_fetch", ToolKind::Fetch),
    ("write_file", ToolKind::Write),
];

/// Shells as other programs and MCP servers call them.
const ELSEWHERE: Names = &[
    ("exec", ToolKind::Shell),
    ("execute_command", ToolKind::Shell),
    ("fetch", ToolKind::Fetch),
    ("run_command", ToolKind::Shell),
    ("run_shell_command", ToolKind::Shell),
    ("run_terminal_cmd", ToolKind::Shell),
    ("sh", ToolKind::Shell),
    ("terminal", ToolKind::Shell),
    ("zsh", ToolKind::Shell),
];

const fn of_runtime(runtime: Runtime) -> Names {
    match runtime {
        Runtime::Native | Runtime::Replay => NATIVE,
        Runtime::Claude => CLAUDE,
        Runtime::OpenCode => OPENCODE,
        Runtime::Codex => CODEX,
    }
}

/// What `name` means in the vocabulary of `runtime`.
pub(super) fn exact(runtime: Runtime, name: &str) -> Option<ToolKind> {
    of_runtime(runtime).iter().find(|(known, _)| *known == name).map(|(_, kind)| kind.clone())
}

/// What `name` means in any vocabulary: in any case, in letters that look alike, with blanks around it or the name of a
/// group before it, as in `functions.shell`. A shell in one of them is taken for a shell.
pub(super) fn anywhere(name: &str) -> Option<ToolKind> {
    let folded = Folded::new(name);
    let name = folded.text().trim_matches(|character: char| !character.is_ascii_alphanumeric());
    let last = name.rsplit(['.', ':', '/', ' ']).next().filter(|last| *last != name);
    look_up(name).or_else(|| look_up(last?).filter(|kind| *kind == ToolKind::Shell))
}

fn look_up(name: &str) -> Option<ToolKind> {
    let matching = || {
        let all = [CLAUDE, OPENCODE, CODEX, NATIVE, ELSEWHERE];
        all.into_iter().flatten().filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, kind)| kind)
    };
    matching().find(|kind| **kind == ToolKind::Shell).or_else(|| matching().next()).cloned()
}
