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

use std::path::Path;

use fullsend_guard::hook::Runtime;

use crate::driver::{Command, Stream};
use crate::foreign::{Foreign, Installed};
use crate::program::ModelService;
use crate::prompt;
use crate::runtime::{Bootstrap, Equipment, Iteration, Place, RuntimeError};

/// Its own directory in the sandbox.
const CONFIG: &str = "/sandbox/codex-config";

/// Reads the variables of the run, leads the program to its model, and becomes the program. Nothing is put into this text.
const PRELUDE: &str = r#". /sandbox/workspace/.env && program=$1 && shift &&
exec "$program" exec -c "model_providers.fullsend.base_url=\"$FULLSEND_ENDPOINT_MODEL\"" "$@""#;

/// Codex.
#[derive(Debug)]
pub struct Codex(Installed);

impl Codex {
    /// With the program at `path`, as the host has it: the program itself, or the script of its npm package. The model's
    /// address includes its version, as in `https://host/v1`.
    pub fn new(path: &Path, model: ModelService) -> Result<Self, RuntimeError> {
        Installed::find(Runtime::Codex, path, model).map(Self)
    }
}

impl Foreign for Codex {
    const RUNTIME: Runtime = Runtime::Codex;
    const SYSTEM: &'static str = "openai";
    const DEBUG_LOG: &'static str = "codex-debug.log";
    const MODEL_PATHS: &'static [&'static str] = &["/responses*"];
    const MOUNT_POINTS: &'static [&'static str] = setup::MOUNT_POINTS;
    const TRANSCRIPTS: Option<&'static str> = Some("sessions");
    const NEEDS_CLAUDE_MD_BRIDGE: bool = false;

    fn installed(&self) -> &Installed {
        &self.0
    }

    fn equip(input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
        setup::bootstrap(input)
    }

    fn command(&self, place: &Place, iteration: &Iteration<'_>) -> Result<Command, RuntimeError> {
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
        Ok(Command {
            prelude: PRELUDE,
            program: self.0.program.path.clone(),
            arguments,
            variables: wanted.debug.iter().map(|wanted| ("RUST_LOG", filter(wanted))).collect(),
            input: Some(prompt::with_project(&place.stage, iteration)),
            logs: wanted.debug.is_some(),
        })
    }

    fn stream(iteration: &Iteration<'_>) -> Box<dyn Stream> {
        Box::new(stream::CodexStream::new(iteration.wanted.model.clone()))
    }
}
