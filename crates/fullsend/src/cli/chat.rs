//! The arguments of `fullsend chat`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use fullsend_agent::scene::TOOLS;
use jiff::{Span, SpanRelativeTo};

use super::ShowFormat;
use super::agent::{
    AgentExecArgs, AgentLimitArgs, BrowserArgs, ModelArgs, OutputMode, PermissionArgs, PlaceArgs, ResultArgs,
    SkillArgs,
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ChatArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ChatCommand>,
    /// Speak the chat protocol on standard input and output: one JSON object in a line
    #[arg(long)]
    pub(crate) stdio: bool,
    /// On a terminal: go on with a session of the database; the beginning of its id is enough
    #[arg(long, value_name = "ID", conflicts_with = "stdio")]
    pub(crate) resume: Option<String>,
    /// On a terminal: a tool about which you are asked before each call
    #[arg(long, value_name = "TOOL", value_parser = TOOLS, conflicts_with = "stdio")]
    pub(crate) ask: Vec<String>,
    /// Where sessions are kept, so that they can be gone on with [default: on a terminal
    /// `$XDG_STATE_HOME/fullsend/chat.db`, with `--stdio` nowhere: they end with the process; environment:
    /// `FULLSEND_CHAT_SESSION_DB`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) chat_session_db: Option<PathBuf>,
    /// How many events wait in memory for a client that is slow; more are read back from the sessions [default: 4096;
    /// environment: `FULLSEND_CHAT_MAX_IN_MEMORY_EVENTS`]
    #[arg(long, value_name = "N")]
    pub(crate) chat_max_in_memory_events: Option<u64>,
    /// Instructions beside the usual ones
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system_prompt: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    #[command(flatten)]
    pub(crate) skills: SkillArgs,
    #[command(flatten)]
    pub(crate) limits: AgentLimitArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChatCommand {
    /// List the sessions of a database, oldest first
    Sessions(ChatSessionsArgs),
    /// Remove what is over and not wanted any more from a database
    ///
    /// What either option names is removed, and its space given back. Sessions with a turn under way are left alone, and of
    /// every session that stays the newest event. The records of agents, in their own directories, are not touched. Other
    /// processes may use the database meanwhile.
    Prune(ChatPruneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ChatDatabaseArgs {
    /// The database [default: that of chats on a terminal; environment: `FULLSEND_CHAT_SESSION_DB`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) chat_session_db: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub(crate) format: ShowFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ChatSessionsArgs {
    #[command(flatten)]
    pub(crate) database: ChatDatabaseArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChatPruneArgs {
    #[command(flatten)]
    pub(crate) database: ChatDatabaseArgs,
    #[command(flatten)]
    pub(crate) retention: RetentionArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct RetentionArgs {
    /// Remove events, turns that ended and sessions that were closed longer ago than this: `30d`, `2w`, `12h`
    #[arg(long, value_name = "DURATION", value_parser = parse_age)]
    pub(crate) older_than: Option<Duration>,
    /// Remove all events but the newest so many
    #[arg(long, value_name = "N")]
    pub(crate) keep_events: Option<u64>,
}

/// Days have 24 hours here; months and years are not the same everywhere.
fn parse_age(text: &str) -> Result<Duration, String> {
    let advice =
        || "expected a number with a unit, from seconds to weeks: `45m`, `12h`, `30d`, `2w`".to_owned();
    let span: Span = text.parse().map_err(|_| advice())?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| advice())?;
    Duration::try_from(length).map_err(|_| advice())
}

impl AgentExecArgs {
    /// What all sessions of a chat service have in common, as arguments of a run.
    pub(crate) fn serving(args: &ChatArgs) -> Self {
        Self {
            words: Vec::new(),
            prompt: None,
            prompt_file: None,
            prompt_slot_role: None,
            run_manifest: None,
            image: Vec::new(),
            resume_run: None,
            system_prompt: args.system_prompt.clone(),
            place: PlaceArgs { cwd: None, ..args.place.clone() },
            model: args.model.clone(),
            // What subagents may be is asked for by sessions, and so are browsers.
            permission: PermissionArgs { allow_subagent_profile: Vec::new(), ..args.permission.clone() },
            browser: BrowserArgs::default(),
            skills: args.skills.clone(),
            limits: args.limits.clone(),
            result: ResultArgs {
                output_mode: OutputMode::Operator,
                stream_events: false,
                print_transcript: false,
                result_json_path: None,
                structured_result_path: None,
                structured_result_schema: None,
                structured_result_schema_file: None,
            },
            describe_capabilities: false,
        }
    }
}
