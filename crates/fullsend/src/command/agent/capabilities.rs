//! What this build of the agent can do, for programs that drive it.

use clap::CommandFactory as _;
use fullsend_agent::scene::TOOLS;
use fullsend_agent::subagent::Profile;
use serde_json::{Value, json};

use crate::cli::Cli;

/// The document. Looks at nothing but the program itself.
pub(super) fn document() -> Value {
    let command = Cli::command();
    let exec = command.find_subcommand("exec");
    let long = |argument: &clap::Arg| argument.get_long().map(|name| format!("--{name}"));
    let repeats = |argument: &&clap::Arg| matches!(argument.get_action(), clap::ArgAction::Append);
    let arguments: Vec<&clap::Arg> = exec.into_iter().flat_map(clap::Command::get_arguments).collect();
    let flags: Vec<String> = arguments.iter().filter_map(|argument| long(argument)).collect();
    let repeatable: Vec<String> = arguments.iter().copied().filter(repeats).filter_map(long).collect();
    json!({
        "type": "fullsend.capabilities",
        "version": 1,
        "cliFlags": flags,
        "repeatableCliFlags": repeatable,
        "parentToolIds": TOOLS,
        "builtinToolIds": TOOLS,
        "subagentProfiles": Profile::ALL.map(Profile::as_str),
        "modelProviders": ["openai-compatible-gateway", "replay"],
        "features": {
            "images": true,
            "structuredResults": true,
            "skills": true,
            "skillScripts": true,
            "hostMounts": true,
            "fabricMount": true,
            "resumeRun": true,
            "subagents": true,
            "modelUsage": true,
        },
    })
}
