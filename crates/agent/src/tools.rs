//! The tools that models call.

pub mod bash;
mod outcome;

pub use bash::{Bash, BashLimits};
