//! Tool hooks: what is decided around every tool call of an agent.

mod decision;

pub use decision::{Action, Decision, HookPhase, Recorded};
