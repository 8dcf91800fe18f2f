//! The tools that models call, besides those for files.

pub mod bash;
mod fetch_skill;
mod load_skill;
mod outcome;
mod read_skill_resource;
pub mod skill_script;
mod skill_set;
mod submit_result;
pub mod web_fetch;

pub use bash::{Bash, BashLimits};
pub use fetch_skill::{FetchSkill, FetchedDirs, SkillFetcher};
pub use load_skill::LoadSkill;
pub use read_skill_resource::ReadSkillResource;
pub use skill_script::{Prepared, Refusal, ScriptSource, SkillScript};
pub use skill_set::SkillSet;
pub use submit_result::SubmitResult;
pub use web_fetch::WebFetch;
