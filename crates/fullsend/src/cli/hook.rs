//! The arguments of `fullsend hook`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use fullsend_guard::hook::Runtime;

use super::DirectoryArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Decide about a tool call before it happens
    ///
    /// Reads one JSON object (`tool_name`, `tool_input`) from standard input. Nothing is printed when the call may happen.
    /// What cannot be checked is denied: bad input, a bad configuration, a failure of this program.
    #[command(
        after_help = "Exit codes: 0 the call may happen; 2 it is denied, and standard output says why."
    )]
    PreTool(HookArgs),
    /// Clean the output of a tool call before the model sees it
    ///
    /// Reads one JSON object with `tool_result`, or `tool_response` as Claude Code sends it, from standard input. Nothing is
    /// printed when the output may stay as it is; otherwise the reply has what takes its place, in the same shape.
    #[command(
        after_help = "Exit codes: 0 the output may be shown, as it is or as the reply has it; 2 it is withheld."
    )]
    PostTool(HookArgs),
    /// Print the configuration that a harness asks for
    ///
    /// Without a harness: the defaults. Every key of `security.sandbox_hooks` has its place in it; canary tokens are added by
    /// whoever plants them.
    Config(HookConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// What is checked, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct HookConfigArgs {
    /// A registered agent, the name of a file under `harness/`, or a path
    pub(crate) harness: Option<String>,
    /// Whose tools are called
    #[arg(long, value_enum, default_value_t = RuntimeChoice::Claude)]
    pub(crate) runtime: RuntimeChoice,
    /// Where the program `tirith` is; without it, tirith is not asked
    #[arg(long, value_name = "PROGRAM", value_hint = ValueHint::FilePath)]
    pub(crate) tirith: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeChoice {
    /// The built-in loop
    Native,
    /// Claude Code
    Claude,
    /// opencode
    #[value(name = "opencode")]
    OpenCode,
    /// Codex
    Codex,
    /// A scripted run of the built-in loop
    Replay,
}

impl From<RuntimeChoice> for Runtime {
    fn from(choice: RuntimeChoice) -> Self {
        match choice {
            RuntimeChoice::Native => Self::Native,
            RuntimeChoice::Claude => Self::Claude,
            RuntimeChoice::OpenCode => Self::OpenCode,
            RuntimeChoice::Codex => Self::Codex,
            RuntimeChoice::Replay => Self::Replay,
        }
    }
}
