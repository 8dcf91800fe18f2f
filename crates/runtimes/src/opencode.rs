//! opencode as a runtime.
//!
//! Its settings are those of the machine's administrator, `/etc/opencode`, which come last and so win over all others. They
//! name a plugin of ours that asks the hook before and after every tool call. Settings, plugins, agents and skills of the
//! repository are switched off; its instructions are named in the settings.

mod setup;
mod stream;

use std::io;
use std::path::{Path, PathBuf};

use fullsend_guard::hook::Runtime;

use crate::driver::{self, Command};
use crate::event::Watch;
use crate::layout::Stage;
use crate::leftovers;
use crate::program::{ModelService, Program};
use crate::prompt;
use crate::runtime::{AgentRuntime, Bootstrap, Ended, Equipment, Iteration, Pending, Place, RuntimeError};
use crate::tree;

/// Its own directory in the sandbox.
const CONFIG: &str = "/sandbox/opencode-config";

/// Reads the variables of the run and becomes the program. Nothing is put into this text.
const PRELUDE: &str = r#". /sandbox/workspace/.env && exec "$@""#;

/// opencode.
#[derive(Debug)]
pub struct OpenCode {
    program: Program,
    model: ModelService,
}

impl OpenCode {
    /// With the program at `path`, as the host has it: the program itself, or the script of its npm package. The model is
    /// behind chat completions, below an address such as `https://host/v1`.
    pub fn new(path: &Path, model: ModelService) -> Result<Self, RuntimeError> {
        Ok(Self { program: Program::find(Runtime::OpenCode, path)?, model })
    }

    fn command(&self, iteration: &Iteration<'_>) -> Result<Command, RuntimeError> {
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
            program: self.program.path.clone(),
            arguments,
            variables: Vec::new(),
            input: Some(prompt::of(iteration)),
            logs: wanted.debug.is_some(),
        })
    }
}

impl AgentRuntime for OpenCode {
    fn id(&self) -> Runtime {
        Runtime::OpenCode
    }

    fn system(&self) -> &'static str {
        "opencode"
    }

    fn skills_dir(&self, stage: &Stage) -> PathBuf {
        setup::fixed(stage).join("skills")
    }

    fn debug_log_name(&self) -> &'static str {
        "opencode-debug.log"
    }

    fn bootstrap(&self, input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
        let mut equipment = setup::bootstrap(input)?;
        equipment.mounts.push(self.program.mount());
        equipment.programs.push(self.program.path.clone());
        equipment.endpoints.push(self.model.endpoint(&["/chat/completions"]));
        Ok(equipment)
    }

    fn run<'a>(
        &'a self,
        place: &'a Place,
        iteration: &'a Iteration<'a>,
        watch: Watch<'a>,
    ) -> Pending<'a, Ended> {
        Box::pin(async move {
            let mut stream = stream::OpenCodeStream::new(iteration.wanted.model.clone());
            driver::drive(place, iteration, self.command(iteration)?, &mut stream, watch).await
        })
    }

    /// It keeps what was said in a database, and the stream has it all.
    fn transcripts(&self, _stage: &Stage) -> Vec<PathBuf> {
        Vec::new()
    }

    fn clear_iteration(&self, stage: &Stage) -> io::Result<()> {
        leftovers::clear(&stage.config(), setup::MOUNT_POINTS)
    }
}
