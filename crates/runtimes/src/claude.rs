//! Claude Code as a runtime.
//!
//! What the agent is made of (definition, skills, plugins, settings) lies in directories of the host that are mounted
//! read-only over its own directory, which it can otherwise write to. Hooks are in the settings of the machine's
//! administrator, `/etc/claude-code`: they stay on when other settings turn hooks off, which was observed to end those that are
//! given on the command line.
//!
//! Of what the repository brings along, only instructions are taken: settings, hooks, agents, skills, commands and MCP
//! servers of a project are not.

mod definition;
mod setup;
mod stream;

use std::path::Path;

use fullsend_guard::hook::Runtime;

use crate::driver::{Command, Stream};
use crate::foreign::{Foreign, Installed};
use crate::leftovers;
use crate::program::ModelService;
use crate::prompt;
use crate::runtime::{Bootstrap, Equipment, Iteration, Place, RuntimeError};
use crate::tree::agent_name;

/// Its own directory in the sandbox.
const CONFIG: &str = "/sandbox/claude-config";
/// Its debug log, there and among the artifacts.
const DEBUG_LOG: &str = "claude-debug.log";

/// Reads the variables of the run, leads the program to its model, and becomes the program. Nothing is put into this text.
const PRELUDE: &str =
    r#". /sandbox/workspace/.env && export ANTHROPIC_BASE_URL="$FULLSEND_ENDPOINT_MODEL" && exec "$@""#;

/// Settings of the repository that the harness may allow by name.
const PROJECT_SETTINGS: &str = ".claude";
const PROJECT_SERVERS: &str = ".mcp.json";

/// Claude Code.
#[derive(Debug)]
pub struct Claude(Installed);

impl Claude {
    /// With the program at `path`, as the host has it: the program itself, or the script of its npm package.
    pub fn new(path: &Path, model: ModelService) -> Result<Self, RuntimeError> {
        Installed::find(Runtime::Claude, path, model).map(Self)
    }

    fn arguments(place: &Place, iteration: &Iteration<'_>) -> Result<Vec<String>, RuntimeError> {
        let wanted = iteration.wanted;
        let allowed = |name: &str| wanted.repository_config.iter().any(|allowed| allowed == name);
        let agent = agent_name(Runtime::Claude, &iteration.agent.name)?;
        let fixed = ["--print", "--verbose", "--output-format=stream-json", "--dangerously-skip-permissions"];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
        let sources = if allowed(PROJECT_SETTINGS) { "user,project" } else { "user" };
        arguments.push(format!("--setting-sources={sources}"));
        arguments.push("--strict-mcp-config".to_owned());
        if allowed(PROJECT_SERVERS) && place.stage.repo().join(PROJECT_SERVERS).is_file() {
            arguments.push(format!("--mcp-config={}/{PROJECT_SERVERS}", place.stage.repo_in_sandbox()));
        }
        // Without the settings of the project its instructions are not read either, unless it is named here.
        arguments.push(format!("--add-dir={}", place.stage.repo_in_sandbox()));
        if let Some(filter) = &wanted.debug {
            arguments.push(format!("--debug-file={CONFIG}/{DEBUG_LOG}"));
            arguments.extend(
                Some(filter).filter(|filter| *filter != "*").map(|filter| format!("--debug={filter}")),
            );
        }
        arguments.extend(wanted.model.as_ref().map(|model| format!("--model={model}")));
        arguments.extend(wanted.effort.as_ref().map(|effort| format!("--effort={effort}")));
        arguments.extend(iteration.agent.max_turns.map(|turns| format!("--max-turns={turns}")));
        let plugins = setup::plugins(&place.stage)?;
        arguments.extend(plugins.iter().map(|name| format!("--plugin-dir={CONFIG}/plugins/{name}")));
        arguments.push(format!("--agent={agent}"));
        arguments.push("--".to_owned());
        arguments.push(prompt::of(iteration));
        Ok(arguments)
    }
}

impl Foreign for Claude {
    const RUNTIME: Runtime = Runtime::Claude;
    const SYSTEM: &'static str = "anthropic";
    const DEBUG_LOG: &'static str = DEBUG_LOG;
    const MODEL_PATHS: &'static [&'static str] = &["/v1/messages*"];
    const MOUNT_POINTS: &'static [&'static str] = setup::MOUNT_POINTS;
    const TRANSCRIPTS: Option<&'static str> = Some("projects");
    const NEEDS_CLAUDE_MD_BRIDGE: bool = true;

    fn installed(&self) -> &Installed {
        &self.0
    }

    fn equip(input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
        setup::bootstrap(input)
    }

    fn command(&self, place: &Place, iteration: &Iteration<'_>) -> Result<Command, RuntimeError> {
        Ok(Command {
            prelude: PRELUDE,
            program: self.0.program.path.clone(),
            arguments: Self::arguments(place, iteration)?,
            variables: Vec::new(),
            input: None,
            logs: false,
        })
    }

    fn stream(_iteration: &Iteration<'_>) -> Box<dyn Stream> {
        Box::new(stream::ClaudeStream::default())
    }

    fn collect(place: &Place, iteration: &Iteration<'_>) -> Result<(), RuntimeError> {
        if iteration.wanted.debug.is_none() {
            return Ok(());
        }
        leftovers::keep(&place.stage.config().join(DEBUG_LOG), iteration.debug_log)
    }
}
