//! opencode as a runtime.
//!
//! Its settings are those of the machine's administrator, `/etc/opencode`, which come last and so win over all others. They
//! name a plugin of ours that asks the hook before and after every tool call. Settings, plugins, agents and skills of the
//! repository are switched off; its instructions are named in the settings.

mod setup;
mod stream;

use std::path::Path;

use fullsend_guard::hook::Runtime;

use crate::driver::{Command, Stream};
use crate::foreign::{Foreign, Installed};
use crate::program::ModelService;
use crate::prompt;
use crate::runtime::{Bootstrap, Equipment, Iteration, Place, RuntimeError};
use crate::tree;

/// Its own directory in the sandbox.
const CONFIG: &str = "/sandbox/opencode-config";

/// Reads the variables of the run and becomes the program. Nothing is put into this text.
const PRELUDE: &str = r#". /sandbox/workspace/.env && exec "$@""#;

/// opencode.
#[derive(Debug)]
pub struct OpenCode(Installed);

impl OpenCode {
    /// With the program at `path`, as the host has it: the program itself, or the script of its npm package. The model is
    /// behind chat completions, below an address such as `https://host/v1`.
    pub fn new(path: &Path, model: ModelService) -> Result<Self, RuntimeError> {
        Installed::find(Runtime::OpenCode, path, model).map(Self)
    }
}

impl Foreign for OpenCode {
    const RUNTIME: Runtime = Runtime::OpenCode;
    const SYSTEM: &'static str = "opencode";
    const DEBUG_LOG: &'static str = "opencode-debug.log";
    const MODEL_PATHS: &'static [&'static str] = &["/chat/completions"];
    const MOUNT_POINTS: &'static [&'static str] = setup::MOUNT_POINTS;
    // It keeps what was said in a database, and the stream has it all.
    const TRANSCRIPTS: Option<&'static str> = None;
    const NEEDS_CLAUDE_MD_BRIDGE: bool = false;

    fn installed(&self) -> &Installed {
        &self.0
    }

    fn equip(input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
        setup::bootstrap(input)
    }

    fn command(&self, _place: &Place, iteration: &Iteration<'_>) -> Result<Command, RuntimeError> {
        let wanted = iteration.wanted;
        let agent = tree::agent_name(Runtime::OpenCode, &iteration.agent.name)?;
        let model = setup::model(wanted)?;
        let mut arguments: Vec<String> = ["run", "--format=json", "--thinking"].map(str::to_owned).to_vec();
        arguments.push(format!("--agent={agent}"));
        arguments.push(format!("--model={}/{model}", setup::PROVIDER));
        arguments.extend(wanted.effort.as_ref().map(|effort| format!("--variant={effort}")));
        if wanted.debug.is_some() {
            arguments.extend(["--print-logs", "--log-level=DEBUG"].map(str::to_owned));
        }
        // What it reads is what it is told; an argument could be taken for something else.
        Ok(Command {
            prelude: PRELUDE,
            program: self.0.program.path.clone(),
            arguments,
            variables: Vec::new(),
            input: Some(prompt::of(iteration)),
            logs: wanted.debug.is_some(),
        })
    }

    fn stream(iteration: &Iteration<'_>) -> Box<dyn Stream> {
        Box::new(stream::OpenCodeStream::new(iteration.wanted.model.clone()))
    }
}
