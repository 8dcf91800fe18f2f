//! Codex as a runtime.
//!
//! Its settings are in a file that it can read and not change; hooks, and the features that may be on, are in the
//! requirements of the machine's administrator, `/etc/codex`, which its other settings cannot undo. Hooks from elsewhere do
//! not count.
//!
//! The repository counts as not trusted, so that its settings and servers are not used. Its instructions are not read then
//! either, and the run hands them over; skills are listed by the run too, since Codex would add those of the repository.

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

/// Its own directory in the sandbox.
const CONFIG: &str = "/sandbox/codex-config";
/// Where its transcripts are, in that directory.
const TRANSCRIPTS: &str = "sessions";

/// Reads the variables of the run, leads the program to its model, and becomes the program. Nothing is put into this text.
const PRELUDE: &str = r#". /sandbox/workspace/.env && program=$1 && shift &&
exec "$program" exec -c "model_providers.fullsend.base_url=\"$FULLSEND_ENDPOINT_MODEL\"" "$@""#;

/// Codex.
#[derive(Debug)]
pub struct Codex {
    program: Program,
    model: ModelService,
}

impl Codex {
    /// With the program at `path`, as the host has it: the program itself, or the script of its npm package. The model's
    /// address includes its version, as in `https://host/v1`.
    pub fn new(path: &Path, model: ModelService) -> Result<Self, RuntimeError> {
        Ok(Self { program: Program::find(Runtime::Codex, path)?, model })
    }

    fn command(&self, place: &Place, iteration: &Iteration<'_>) -> Command {
        let wanted = iteration.wanted;
        let fixed = ["--json", "--color=never", "--skip-git-repo-check"];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
        // It has no need of a sandbox in the sandbox.
        arguments.push("--dangerously-bypass-approvals-and-sandbox".to_owned());
        arguments.extend(wanted.model.as_ref().map(|model| format!("--model={model}")));
        let effort = wanted.effort.as_ref().map(|effort| setup::quoted(effort));
        arguments.extend(effort.map(|effort| format!("--config=model_reasoning_effort={effort}")));
        arguments.push("-".to_owned());
        let filter = |filter: &str| if filter == "*" { "debug".to_owned() } else { filter.to_owned() };
        Command {
            prelude: PRELUDE,
            program: self.program.path.clone(),
            arguments,
            variables: wanted.debug.iter().map(|wanted| ("RUST_LOG", filter(wanted))).collect(),
            input: Some(prompt::with_project(&place.stage, iteration)),
            logs: wanted.debug.is_some(),
        }
    }
}

impl AgentRuntime for Codex {
    fn id(&self) -> Runtime {
        Runtime::Codex
    }

    fn system(&self) -> &'static str {
        "openai"
    }

    fn skills_dir(&self, stage: &Stage) -> PathBuf {
        setup::fixed(stage).join("skills")
    }

    fn debug_log_name(&self) -> &'static str {
        "codex-debug.log"
    }

    fn bootstrap(&self, input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
        let mut equipment = setup::bootstrap(input)?;
        equipment.mounts.push(self.program.mount());
        equipment.programs.push(self.program.path.clone());
        equipment.endpoints.push(self.model.endpoint(&["/responses*"]));
        Ok(equipment)
    }

    fn run<'a>(
        &'a self,
        place: &'a Place,
        iteration: &'a Iteration<'a>,
        watch: Watch<'a>,
    ) -> Pending<'a, Ended> {
        Box::pin(async move {
            let mut stream = stream::CodexStream::new(iteration.wanted.model.clone());
            driver::drive(place, iteration, self.command(place, iteration), &mut stream, watch).await
        })
    }

    fn transcripts(&self, stage: &Stage) -> Vec<PathBuf> {
        leftovers::transcripts(&stage.config().join(TRANSCRIPTS))
    }

    fn clear_iteration(&self, stage: &Stage) -> io::Result<()> {
        leftovers::clear(&stage.config(), setup::MOUNT_POINTS)
    }
}
