//! The tools that models call.

pub mod bash;
mod outcome;
pub mod skill_script;

pub use bash::{Bash, BashLimits};
pub use skill_script::{Prepared, Refusal, ScriptSource, SkillScript};
