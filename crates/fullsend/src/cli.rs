//! The command line.

mod agent;
mod chat;
mod flow;
mod hook;
mod run;
mod runs;
mod sandbox;
mod scan;
mod skills;
mod verify_findings;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fullsend_harness::value::Platform;

pub(crate) use self::agent::{
    AgentExecArgs, AgentLimitArgs, AgentResumeArgs, BrowserArgs, ModelArgs, OutputMode, PlaceArgs,
    PromptRoleName, ResultArgs,
};
pub(crate) use self::chat::{ChatArgs, ChatCommand, ChatDatabaseArgs, ChatPruneArgs, ChatSessionsArgs};
pub(crate) use self::flow::{FlowCommand, FlowExplainArgs};
pub(crate) use self::hook::{HookCommand, HookConfigArgs, HookMatrixArgs, HookServeArgs, MatrixFormat};
pub(crate) use self::run::RunArgs;
pub(crate) use self::runs::{CheckOutputArgs, RunsCommand, RunsListArgs, RunsPlaceArgs, RunsShowArgs};
pub(crate) use self::sandbox::{
    BackendName, DoctorArgs, EgressArgs, EngineArgs, ExecFormat, FileArgs, LimitArgs, SandboxCommand,
    SandboxExecArgs, SandboxPolicyArgs,
};
pub(crate) use self::scan::{
    ScanCommand, ScanCommandArgs, ScanContextArgs, ScanOutputArgs, ScanReportArgs, ScanTextArgs, ScanUrlArgs,
};
pub(crate) use self::skills::{SkillsCommand, SkillsListArgs, SkillsValidateArgs};
pub(crate) use self::verify_findings::VerifyFindingsArgs;
use crate::environment;

/// Run AI agents from declarative harnesses, and keep promises even when the model, the repository or a skill is
/// hostile.
#[derive(Debug, Parser)]
#[command(name = "fullsend", version, arg_required_else_help = true, propagate_version = false)]
#[command(
    after_help = "Exit codes: 0 done, 1 the work failed, 2 usage or configuration error, 3 blocked by a finding."
)]
pub(crate) struct Cli {
    /// Print results only, no summaries or hints
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check, show and document harness files
    #[command(subcommand)]
    Harness(HarnessCommand),
    /// Fetch what a harness names, so that it works without a network
    ///
    /// Everything is checked against its pin and the allow-lists before it is kept. Prints one line per resource: where
    /// the harness names it, and where the verified copy is.
    Fetch(FetchArgs),
    /// From within a run: get a skill that the harness permits, and print where it is
    ///
    /// For agents whose harness says `allow_runtime_fetch: true`. The run fetches the skill, checks it against its pin,
    /// scans it and puts it into the sandbox; the path of its directory is all that is printed. The service is found by
    /// `FULLSEND_FETCH_URL` and `FULLSEND_FETCH_TOKEN`, which the run sets.
    #[command(after_help = "Exit codes: 0 the skill is there; 1 it is not, and standard error says why.")]
    FetchSkill(FetchSkillArgs),
    /// Record what harnesses resolve to in `lock.yaml`
    ///
    /// The lock file belongs in version control. Where it has an entry for a harness, fetching stops when the two
    /// disagree; files beside a remote base are held to the digests it records.
    Lock(LockArgs),
    /// Print a URL or path with the SHA-256 of its content
    ///
    /// A file is hashed by its bytes, a directory by its tree. A URL of a forge directory (`…/tree/…`) is a directory.
    Pin(PinArgs),
    /// Look after the cache of remote resources
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Run an agent from its harness
    ///
    /// Resolves what the harness names, scans what the agent will read, makes a sandbox in which the policy holds, lets a
    /// runtime work in it under hooks, checks the result and keeps a record. The repository itself is not changed.
    #[command(
        after_help = "Exit codes: 0 done or skipped, 1 the work failed, 2 usage or configuration error, 3 blocked by a policy or \
                      a finding, 124 out of time, 130 or 143 stopped by a signal."
    )]
    Run(Box<RunArgs>),
    /// Let the built-in agent work on a prompt
    ///
    /// The agent works in a sandbox that sees the workspace and nothing else of this machine; the model is asked over an
    /// OpenAI-compatible gateway, or played from a script. Everything it does is on record, and a run that was stopped or
    /// killed goes on with `fullsend resume`.
    #[command(
        after_help = "Exit codes: 0 done, 1 the work failed or a limit was reached, 2 usage or configuration error, \
                      130 or 143 stopped by a signal."
    )]
    Exec(Box<AgentExecArgs>),
    /// Go on with a run of the agent that was stopped, killed or finished
    ///
    /// What is on record is not done again. The run may do what it could do from the start, or less.
    Resume(Box<AgentResumeArgs>),
    /// Talk with the built-in agent
    ///
    /// On a terminal it talks to you, and keeps sessions in `$XDG_STATE_HOME/fullsend/chat.db` (`~/.local/state/…`) unless
    /// `--chat-session-db` names another file; `/help` says what can be done.
    ///
    /// With `--stdio` it serves a program: requests come in on standard input, one JSON object in a line, and answers and
    /// events go out on standard output. Sessions are on record as runs are, and go on after a restart where
    /// `--chat-session-db` names a file.
    #[command(
        after_help = "Exit codes: 0 you have left, or the input has ended; 1 the service could not start or go on; 2 usage or \
                      configuration error; 129, 131 or 143 ended by a signal."
    )]
    Chat(Box<ChatArgs>),
    /// Understand decisions about information flow
    #[command(subcommand)]
    Flow(FlowCommand),
    /// Look at skills: directories with a `SKILL.md` that tells an agent how to do something
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Run commands where they can touch only what is granted
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Look for attacks and secrets in what an agent reads, does and leaves behind
    #[command(subcommand)]
    Scan(ScanCommand),
    /// Decide about tool calls of an agent
    #[command(subcommand)]
    Hook(HookCommand),
    /// Look at runs of the past
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Check a result against its JSON Schema, as a run does
    ///
    /// For agents, who can correct the result while they still work. Prints `PASS` or what is wrong, and exits with 1 when
    /// something is.
    CheckOutput(CheckOutputArgs),
    /// Find out what this machine can enforce
    ///
    /// Tries every layer of the sandbox, and asks the container engine what it has. For what is missing it says why, and
    /// how to get it. The exit code is 1 when no sandbox can be made without containers.
    Doctor(DoctorArgs),
    /// Start a `.fullsend` directory
    ///
    /// Writes a small, commented set of files that lints clean. An existing directory is never changed.
    Init(InitArgs),
    /// Print a completion script for a shell
    ///
    /// For bash: `fullsend completions bash > ~/.local/share/bash-completion/completions/fullsend`
    Completions(CompletionsArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum HarnessCommand {
    /// Find every problem in harness files
    ///
    /// Checks harness files, the configuration, agent definitions, providers and profiles around them in one pass,
    /// without a network. Problems go to standard output; the exit code is 1 when there are errors.
    Lint(LintArgs),
    /// Show a harness with the place of every value
    Show(ShowArgs),
    /// Print the JSON Schema of a kind of file, or its reference
    ///
    /// For editors: `fullsend harness schema > harness.schema.json`, then start harness files with
    /// `# yaml-language-server: $schema=../harness.schema.json`.
    Schema(SchemaArgs),
    /// List the lint rules
    Rules(RulesArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List what is cached
    Ls(CacheListArgs),
    /// Check every byte that is cached against its digest
    ///
    /// The exit code is 1 when an entry is damaged. Damaged entries are never used: they are fetched again when they are
    /// needed, or refused without a network.
    Verify(CacheListArgs),
    /// Remove what neither a harness nor the lock file names and nobody has fetched for a while
    Gc(CacheGcArgs),
    /// Print where the cache is, or where the content with a digest is
    Path(CachePathArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// A registered agent, the name of a file under `harness/`, or a path
    pub(crate) name: String,
    /// Apply the overlay of a platform
    #[arg(long, value_name = "PLATFORM", value_parser = parse_platform)]
    pub(crate) forge: Option<Platform>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct FetchSkillArgs {
    /// The directory of the skill on a forge, with its pin: `https://github.com/…/tree/…#sha256=…`
    pub(crate) url: String,
}

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// A registered agent, the name of a file under `harness/`, or a path
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub(crate) name: Option<String>,
    /// Every harness of the directory; entries of harnesses that are gone are removed
    #[arg(long)]
    pub(crate) all: bool,
    /// Resolve again even if nothing has changed, and accept new content beside remote bases
    #[arg(long)]
    pub(crate) update: bool,
    /// Change nothing; exit with 1 if the lock file is out of date
    #[arg(long, conflicts_with = "update")]
    pub(crate) check: bool,
    /// Only this platform, instead of all that the harness has overlays for
    #[arg(long, value_name = "PLATFORM", value_parser = parse_platform)]
    pub(crate) forge: Option<Platform>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NetworkArgs {
    /// Use the cache only
    #[arg(long)]
    pub(crate) offline: bool,
    /// Levels of skill dependencies to follow
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) max_depth: usize,
    /// Remote resources that one harness may have
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) max_resources: u16,
}

#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// A URL, with or without its pin, or a local path
    #[arg(value_name = "URL|PATH")]
    pub(crate) target: String,
    /// Write the pin into this harness, configuration or skill file, wherever the URL stands in it
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CacheListArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CacheGcArgs {
    /// Keep what was fetched within this many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) older_than: u16,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CachePathArgs {
    /// The SHA-256 of a file or directory, in 64 hex digits
    pub(crate) digest: Option<String>,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Harness files, fullsend directories or repositories; by default the nearest `.fullsend`
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// How to print problems
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// Also require every `${VAR}` to be set, and files named through variables to exist
    #[arg(long)]
    pub(crate) check_env: bool,
    /// Exit with 1 on warnings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A registered agent, the name of a file under `harness/`, or a path
    pub(crate) name: String,
    /// Merge the chain of bases
    #[arg(long)]
    pub(crate) resolved_base: bool,
    /// Apply the overlay of a platform
    #[arg(long, value_name = "PLATFORM", value_parser = parse_platform)]
    pub(crate) forge: Option<Platform>,
    /// How to print the harness
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
    #[command(flatten)]
    pub(crate) directory: DirectoryArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The kind of file
    #[arg(long, value_enum, default_value_t = SchemaKind::Harness)]
    pub(crate) kind: SchemaKind,
    /// How to print it
    #[arg(long, value_enum, default_value_t = SchemaFormat::Json)]
    pub(crate) format: SchemaFormat,
}

#[derive(Debug, Args)]
pub(crate) struct RulesArgs {
    /// How to print them
    #[arg(long, value_enum, default_value_t = RulesFormat::Text)]
    pub(crate) format: RulesFormat,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The repository to start in
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct DirectoryArgs {
    /// The fullsend directory; by default the nearest `.fullsend`
    #[arg(long, value_name = "DIR", env = environment::FULLSEND_DIR)]
    pub(crate) fullsend_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// A harness file
    Harness,
    /// `config.yaml`
    Config,
    /// The front matter of an agent definition
    Agent,
    /// A provider definition
    Provider,
    /// The policy file of `fullsend sandbox`
    SandboxPolicy,
    /// The rules of information flow: the file of `--flow-policy`, and `flow` in a harness
    FlowPolicy,
    /// The lines of `fullsend chat --stdio`
    ChatProtocol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaFormat {
    /// JSON Schema, for editors
    Json,
    /// The reference page
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesFormat {
    /// For people
    Text,
    /// One JSON array
    Json,
    /// The reference page
    Markdown,
}

fn parse_platform(word: &str) -> Result<Platform, String> {
    use fullsend_yaml::FromText;
    Platform::from_text(word).map_err(|problem| problem.message)
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("not a number of seconds above 0".to_owned()),
    }
}
