//! What a command-line agent is told.

use std::path::Path;

use fullsend_skills::{Limits, Registry, SkillRoot};

use crate::layout::Stage;
use crate::leftovers;
use crate::runtime::Iteration;

/// The longest instructions of a repository.
const LONGEST_INSTRUCTIONS: u64 = 32 << 10;

/// The task, and what was wrong with the last attempt.
pub(crate) fn of(iteration: &Iteration<'_>) -> String {
    match iteration.feedback.as_deref().map(str::trim).filter(|feedback| !feedback.is_empty()) {
        None => iteration.prompt.clone(),
        Some(feedback) => format!(
            "{}\n\nThis was tried before, and the result was not accepted. What was wrong with it:\n\n{feedback}\n",
            iteration.prompt
        ),
    }
}

/// The task after the instructions that the repository has for agents, for a program that is kept from reading them: it
/// would take settings from the same repository.
pub(crate) fn with_project(stage: &Stage, iteration: &Iteration<'_>) -> String {
    let task = of(iteration);
    let found = leftovers::text(&stage.repo().join("AGENTS.md"), LONGEST_INSTRUCTIONS);
    match found.filter(|text| !text.trim().is_empty()) {
        None => task,
        Some(text) => format!(
            "The repository has these instructions for agents, in `AGENTS.md`. Your own instructions come first where they differ.\n\n\
             <project_instructions>\n{text}\n</project_instructions>\n\n{task}"
        ),
    }
}

/// The agent's instructions, and which skills there are, for a program whose own search would find those of the repository
/// too. `host` is where the skills are on the host, `sandbox` where the agent reads them.
pub(crate) fn with_skills(instructions: &str, host: &Path, sandbox: &str) -> String {
    let root = SkillRoot { host: host.to_owned(), sandbox: sandbox.into() };
    let catalogue = Registry::scan(&[root], Limits::default()).catalogue();
    if catalogue.is_empty() {
        return instructions.to_owned();
    }
    format!(
        "{instructions}\n\nThere are skills for some tasks. Before such a task, read the file at the skill's location and follow it.\n\n\
         {catalogue}\n"
    )
}
