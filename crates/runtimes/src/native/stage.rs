//! What the built-in agent has in the stage: the agent definition and its skills.

use std::path::PathBuf;

use fullsend_guard::hook::Runtime;

use crate::layout::Stage;
use crate::runtime::{Bootstrap, RuntimeError};
use crate::tree;

/// The agent definition, below the runtime's own directory.
pub(super) const AGENTS: &str = "agents";
/// Skills, likewise.
pub(super) const SKILLS: &str = "skills";

/// Where skills are, on the host.
pub(super) fn skills(stage: &Stage) -> PathBuf {
    stage.config().join(SKILLS)
}

/// Puts the agent and its skills into the stage.
pub(super) fn fill(input: &Bootstrap<'_>, runtime: Runtime) -> Result<(), RuntimeError> {
    let agents = input.stage.config().join(AGENTS);
    tree::make(&agents)?;
    tree::make(&skills(input.stage))?;
    let name = tree::agent_name(runtime, &input.agent.name)?;
    tree::write(&agents.join(format!("{name}.md")), &input.agent.source)?;
    for (name, directory) in tree::by_name(runtime, "skill", input.skills, &[])? {
        tree::copy(directory, &skills(input.stage).join(name))?;
    }
    Ok(())
}
