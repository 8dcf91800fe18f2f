//! The tools that models call.

pub mod bash;
mod load_skill;
mod outcome;
mod read_skill_resource;
mod skill_set;

pub use bash::{Bash, BashLimits};
pub use load_skill::LoadSkill;
pub use read_skill_resource::ReadSkillResource;
pub use skill_set::SkillSet;
pub mod skill_script;

pub use bash::{Bash, BashLimits};
pub use skill_script::{Prepared, Refusal, ScriptSource, SkillScript};
