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
    /// Without a harness: the defaults. Every key of `security.sandbox_hooks` has its place in it. Where `security.canary` names
    /// a place for a token, or is enabled, a new one is made, and standard error says where it is to be planted.
    Config(HookConfigArgs),
    /// Decide for hooks in a sandbox, from outside it
    ///
    /// Listens on a socket in a directory that is to be mounted into the sandbox, read-only. Hooks whose configuration is
    /// `{"service": "/path/to/the/socket"}` ask there. Findings go into a log that the sandbox does not see; SIGINT or SIGTERM
    /// ends the service and the log. Prints one JSON object per line: `listening`, and `sealed` with the last hash of the log.
    Serve(HookServeArgs),
    /// Show which check runs when, on which tools, and where it is enforced
    Matrix(HookMatrixArgs),
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// What is checked, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct HookServeArgs {
    /// What is checked, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: PathBuf,
    /// Where the socket goes: a directory for this alone, which is made if it is missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: PathBuf,
    /// The findings log to write; a new file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) findings: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct HookMatrixArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t = MatrixFormat::Markdown)]
    pub(crate) format: MatrixFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatrixFormat {
    /// The reference page
    Markdown,
    /// One JSON object
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct HookConfigArgs {
    /// A registered agent, the name of a file under `harness/`, or a path
    pub(crate) harness: Option<String>,
    /// Whose tools are called
    #[arg(long, value_enum, default_value_t = RuntimeChoice::Claude)]
    pub(crate) runtime: RuntimeChoice,
    /// Tokens to look for, one per line, instead of a new one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) canary_file: Option<PathBuf>,
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
