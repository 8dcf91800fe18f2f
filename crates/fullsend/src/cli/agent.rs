//! The arguments of `fullsend exec` and `fullsend resume`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use fullsend_agent::scene::TOOLS;

#[derive(Debug, Args)]
pub(crate) struct AgentExecArgs {
    /// The prompt, when neither `--prompt` nor `--prompt-file` is given
    pub(crate) words: Vec<String>,
    /// The prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// A file with the prompt
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) prompt_file: Option<PathBuf>,
    /// What the prompt is to the agent; only a direct command lets it act [default: what the run manifest says, or
    /// `direct-command`]
    #[arg(long, value_enum, value_name = "ROLE")]
    pub(crate) prompt_slot_role: Option<PromptRoleName>,
    /// A file in which whoever starts the run says what it is: it may decide the mode of information flow and what the
    /// prompt is where no option does, and allows nothing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) run_manifest: Option<PathBuf>,
    /// A picture for the model, relative to the workspace; several with commas or by repeating
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub(crate) image: Vec<PathBuf>,
    /// Continue a run: its directory, or its `run-state.json`
    #[arg(long, value_name = "RUN", value_hint = ValueHint::AnyPath)]
    pub(crate) resume_run: Option<PathBuf>,
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
    pub(crate) browser: BrowserArgs,
    #[command(flatten)]
    pub(crate) skills: SkillArgs,
    #[command(flatten)]
    pub(crate) limits: AgentLimitArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    /// Print what this build can do, as JSON, and end
    #[arg(long)]
    pub(crate) describe_capabilities: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct PlaceArgs {
    /// The directory that the agent works in; it sees it as `/workspace` [default: the current one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Where in the workspace the agent begins
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Where in the workspace the agent is told to look first
    #[arg(long, value_name = "DIR")]
    pub(crate) focus_root: Option<PathBuf>,
    /// Another directory: `name=NAME,source=DIR,target=/PATH[,mode=readonly|writable]`
    #[arg(long, value_name = "SPEC")]
    pub(crate) host_mount: Vec<String>,
    /// A directory to see as `/fabric`, writable
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) fabric_mount: Option<PathBuf>,
    /// Where runs are kept; no tool reaches it [default: `.fullsend-artifacts` in the workspace]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) artifact_root: Option<PathBuf>,
    /// Run tools in containers of this image instead of on this machine's kernel
    #[arg(long, value_name = "IMAGE")]
    pub(crate) sandbox_image: Option<String>,
    /// The engine's runtime for such containers, such as `runsc`
    #[arg(long, value_name = "NAME")]
    pub(crate) sandbox_docker_runtime: Option<String>,
    /// Where a runtime of containers that follows labels is told of commands: `<container>.json`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cfc_invocation_context_dir: Option<PathBuf>,
    /// Where such a runtime says what commands have become: `<container>.json`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cfc_result_dir: Option<PathBuf>,
    /// A host that commands may reach: `NAME` or `*.NAME`, with `:PORT` if need be
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// The model, as the gateway names it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Where an OpenAI-compatible gateway is; its path is kept
    #[arg(long, value_name = "URL")]
    pub(crate) gateway_base_url: Option<String>,
    /// How to authenticate: with a key from the environment (`bearer`), or not at all (`none`); `bearer-unencrypted` sends the
    /// key over `http` to another machine as well
    #[arg(long, value_name = "MODE")]
    pub(crate) gateway_auth_mode: Option<String>,
    /// Seconds to wait for the gateway: for its answer to begin, and between two pieces of it [default: 300 and 120]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) gateway_timeout_seconds: Option<u64>,
    /// Play a script of a model's turns instead of asking a gateway
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) replay: Option<PathBuf>,
    /// The model of subagents that search the web, as the gateway names it [default: gemini-3.5-flash]
    #[arg(long, value_name = "NAME")]
    pub(crate) web_search_model: Option<String>,
    /// Prices in US dollars for a million tokens: `INPUT,OUTPUT` or `INPUT,CACHED,OUTPUT`
    #[arg(long, value_name = "PRICES")]
    pub(crate) prices: Option<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct PermissionArgs {
    /// A tool the model may call; by default all but `web_fetch` and `run_skill_script`
    #[arg(long, value_name = "TOOL", value_parser = TOOLS)]
    pub(crate) allow_tool: Vec<String>,
    /// What a subagent may be: its tools are those of the profile [default: `default`, unless `--allow-tool` is given]
    #[arg(long, value_name = "PROFILE", value_parser = ["default", "browser", "web_fetch", "web_search"])]
    pub(crate) allow_subagent_profile: Vec<String>,
    /// How strictly the rules of information flow are applied
    #[arg(long, value_name = "MODE")]
    pub(crate) cfc_enforcement_mode: Option<String>,
    /// A file with rules of information flow; `fullsend harness schema --kind flow-policy` describes it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) flow_policy: Option<PathBuf>,
    /// A file with tokens that you have planted, one per line: results that hold one are hidden from the model and sent nowhere
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) canary_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Browser")]
pub(crate) struct BrowserArgs {
    /// Where a browser listens that subagents of the profile `browser` may drive: such as `http://127.0.0.1:9222`
    #[arg(long, value_name = "URL")]
    pub(crate) browser_access_cdp_url: Option<String>,
    /// Until when, such as `2026-01-31T12:00:00Z`
    #[arg(long, value_name = "TIME", requires = "browser_access_cdp_url")]
    pub(crate) browser_access_expires_at: Option<String>,
    /// Whether pages use the profile of the browser, or one of their own [default: transient]
    #[arg(long, value_name = "MODE", requires = "browser_access_cdp_url", value_parser = ["persistent", "transient"])]
    pub(crate) browser_access_profile_mode: Option<String>,
    /// Whether the accounts are lent that the browser is signed in to [default: none]
    #[arg(long, value_name = "ACCESS", requires = "browser_access_cdp_url", value_parser = ["available", "none"])]
    pub(crate) browser_access_account_access: Option<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Skills")]
pub(crate) struct SkillArgs {
    /// A directory with skills, in the workspace or a mounted directory; the first that has a skill counts
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) skills_root: Vec<PathBuf>,
    /// A skill that is loaded before the model is asked
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Vec<String>,
    /// A script that the model may run: `SKILL:scripts/FILE`
    #[arg(long, value_name = "SCRIPT")]
    pub(crate) allow_skill_script: Vec<String>,
    /// Do not tell the model which skills there are
    #[arg(long)]
    pub(crate) no_skill_catalog: bool,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct AgentLimitArgs {
    /// How often the model is asked [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_model_turns: Option<u32>,
    /// Tokens of requests and answers together [default: 10000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// US dollars, where prices are known [default: 20]
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    pub(crate) max_cost_usd: Option<f64>,
    /// Seconds from start to end [default: 3600]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_seconds: Option<u64>,
    /// Bytes of answers and tool results in the conversation [default: 33554432]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_output_bytes: Option<u64>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultArgs {
    /// For a person, or only the answer for a program
    #[arg(long, value_enum, default_value_t = OutputMode::Operator)]
    pub(crate) output_mode: OutputMode,
    /// Print one line for each message on standard error as it happens
    #[arg(long)]
    pub(crate) stream_events: bool,
    /// Print the transcript as JSON after the answer
    #[arg(long)]
    pub(crate) print_transcript: bool,
    /// Write what became of the run to this file, however it ends
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) result_json_path: Option<PathBuf>,
    /// A file in the workspace that the agent has to write: JSON that fits a schema
    #[arg(long, value_name = "FILE")]
    pub(crate) structured_result_path: Option<PathBuf>,
    /// The schema, as JSON
    #[arg(long, value_name = "JSON", requires = "structured_result_path")]
    pub(crate) structured_result_schema: Option<String>,
    /// A file with the schema
    #[arg(
        long,
        value_name = "FILE",
        requires = "structured_result_path",
        conflicts_with = "structured_result_schema"
    )]
    pub(crate) structured_result_schema_file: Option<PathBuf>,
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputMode {
    /// A person
    Operator,
    /// A program
    Batch,
}

/// What a prompt is to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptRoleName {
    /// A command of yours
    DirectCommand,
    /// Something to know
    Context,
    /// Somebody else's words
    Quote,
}

#[derive(Debug, Args)]
pub(crate) struct AgentResumeArgs {
    /// The directory of the run, or its `run-state.json`
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) run: PathBuf,
    /// Something more to tell the agent
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    #[command(flatten)]
    pub(crate) limits: AgentLimitArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

impl AgentExecArgs {
    /// The arguments of a run that goes on: what is not said is on record.
    pub(crate) fn resuming(args: &AgentResumeArgs) -> Self {
        Self {
            words: Vec::new(),
            prompt: args.prompt.clone(),
            prompt_file: None,
            prompt_slot_role: None,
            run_manifest: None,
            image: Vec::new(),
            resume_run: Some(args.run.clone()),
            system_prompt: None,
            place: PlaceArgs::default(),
            model: ModelArgs::default(),
            permission: PermissionArgs::default(),
            browser: BrowserArgs::default(),
            skills: SkillArgs::default(),
            limits: args.limits.clone(),
            result: args.result.clone(),
            describe_capabilities: false,
        }
    }
}
