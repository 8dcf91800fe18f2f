//! What the programs of other makers have in common as runtimes. Each is mounted into the sandbox, reaches its model through
//! an endpoint that adds the key, and is driven by what it writes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fullsend_guard::hook::Runtime;

use crate::driver::{self, Command, Stream};
use crate::event::Watch;
use crate::layout::Stage;
use crate::leftovers;
use crate::program::{ModelService, Program};
use crate::runtime::{AgentRuntime, Bootstrap, Ended, Equipment, Iteration, Pending, Place, RuntimeError};

/// A program that was found on the host, and the way to its model.
#[derive(Debug)]
pub(crate) struct Installed {
    /// The program.
    pub(crate) program: Program,
    model: ModelService,
}

impl Installed {
    /// The program of `runtime` at `path`: itself, or the script of its npm package.
    pub(crate) fn find(runtime: Runtime, path: &Path, model: ModelService) -> Result<Self, RuntimeError> {
        Ok(Self { program: Program::find(runtime, path)?, model })
    }
}

/// What is one maker's own.
pub(crate) trait Foreign: fmt::Debug + Send + Sync {
    /// Which runtime it is.
    const RUNTIME: Runtime;
    /// Whose models it speaks to.
    const SYSTEM: &'static str;
    /// What its debug log is called among the artifacts.
    const DEBUG_LOG: &'static str;
    /// The requests to its model that the sandbox lets through, by path.
    const MODEL_PATHS: &'static [&'static str];
    /// The parts of its own directory that it can read and not change.
    const MOUNT_POINTS: &'static [&'static str];
    /// Where its transcripts are in that directory, if it writes any.
    const TRANSCRIPTS: Option<&'static str>;
    /// Whether a repository's `AGENTS.md` reaches it only by way of a `CLAUDE.md`.
    const NEEDS_CLAUDE_MD_BRIDGE: bool;

    /// The program.
    fn installed(&self) -> &Installed;

    /// Puts everything in its place, but for the program and the way to the model.
    fn equip(input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError>;

    /// What to run.
    fn command(&self, place: &Place, iteration: &Iteration<'_>) -> Result<Command, RuntimeError>;

    /// Understands what it writes.
    fn stream(iteration: &Iteration<'_>) -> Box<dyn Stream>;

    /// Takes what it left in its own directory, once it has ended.
    fn collect(_place: &Place, _iteration: &Iteration<'_>) -> Result<(), RuntimeError> {
        Ok(())
    }

    /// The host's side of what is read-only.
    fn fixed(stage: &Stage) -> PathBuf {
        stage.root().join(Self::RUNTIME.as_str())
    }
}

impl<T: Foreign> AgentRuntime for T {
    fn id(&self) -> Runtime {
        T::RUNTIME
    }

    fn system(&self) -> &'static str {
        T::SYSTEM
    }

    fn needs_claude_md_bridge(&self) -> bool {
        T::NEEDS_CLAUDE_MD_BRIDGE
    }

    fn debug_log_name(&self) -> &'static str {
        T::DEBUG_LOG
    }

    fn skills_dir(&self, stage: &Stage) -> PathBuf {
        T::fixed(stage).join("skills")
    }

    fn bootstrap(&self, input: &Bootstrap<'_>) -> Result<Equipment, RuntimeError> {
        let Installed { program, model } = self.installed();
        let mut equipment = T::equip(input)?;
        equipment.mounts.push(program.mount());
        equipment.programs.push(program.path.clone());
        equipment.endpoints.push(model.endpoint(T::MODEL_PATHS));
        Ok(equipment)
    }

    fn run<'a>(
        &'a self,
        place: &'a Place,
        iteration: &'a Iteration<'a>,
        watch: Watch<'a>,
    ) -> Pending<'a, Ended> {
        Box::pin(async move {
            let command = self.command(place, iteration)?;
            let mut stream = T::stream(iteration);
            let ended = driver::drive(place, iteration, command, &mut *stream, watch).await?;
            T::collect(place, iteration)?;
            Ok(ended)
        })
    }

    fn transcripts(&self, stage: &Stage) -> Vec<PathBuf> {
        T::TRANSCRIPTS.map_or_else(Vec::new, |place| leftovers::transcripts(&stage.config().join(place)))
    }

    fn clear_iteration(&self, stage: &Stage) -> io::Result<()> {
        leftovers::clear(&stage.config(), T::MOUNT_POINTS)
    }
}
