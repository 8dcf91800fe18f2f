//! The arguments of `fullsend chat`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use fullsend_agent::scene::TOOLS;

use super::agent::{
    AgentExecArgs, AgentLimitArgs, BrowserArgs, ModelArgs, OutputMode, PermissionArgs, PlaceArgs, ResultArgs,
    SkillArgs,
};

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Speak the chat protocol on standard input and output: one JSON object in a line
    #[arg(long)]
    pub(crate) stdio: bool,
    /// On a terminal: go on with a session of the database; the beginning of its id is enough
    #[arg(long, value_name = "ID", conflicts_with = "stdio")]
    pub(crate) resume: Option<String>,
    /// On a terminal: a tool about which you are asked before each call
    #[arg(long, value_name = "TOOL", value_parser = TOOLS, conflicts_with = "stdio")]
    pub(crate) ask: Vec<String>,
    /// Where sessions are kept, so that they can be gone on with; without it they end with the process
    /// [environment: `FULLSEND_CHAT_SESSION_DB`]
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
