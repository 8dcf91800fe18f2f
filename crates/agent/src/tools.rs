//! The tools that models call.

pub mod bash;
mod outcome;
pub mod skill_script;
pub mod web_fetch;

pub use bash::{Bash, BashLimits};
pub use skill_script::{Prepared, Refusal, ScriptSource, SkillScript};
pub use web_fetch::WebFetch;
