//! Agent runtimes behind one trait: the built-in agent and command-line agents, all under the same hooks.
//!
//! Entry points: [`AgentRuntime`] is what a runtime does for a run; [`Stage`] is where its files are on the host and in the
//! sandbox; [`Native`] is the built-in agent, and the one that plays scripts; [`RuntimeEvent`] is what
//! happens while it works, whichever runtime it is.
//!
//! Invariants:
//! - a runtime gets everything it may use from the run: it reads no environment and prints nothing;
//! - the key of the model never enters the sandbox;
//! - what wires hooks up, and the hook itself, cannot be changed from within the sandbox.

mod cancel;
mod claude;
mod codex;
mod display;
mod driver;
mod event;
mod foreign;
mod layout;
mod leftovers;
mod lines;
mod member;
mod native;
mod opencode;
mod program;
mod prompt;
mod runtime;
mod summary;
mod tools;
mod transcript;
mod tree;

pub use cancel::{Cancel, Canceller, cancellation};
pub use claude::Claude;
pub use codex::Codex;
pub use display::{Display, harmless};
pub use event::{Metrics, RuntimeEvent, TokenUsage, Watch};
pub use fullsend_agent::tools::{FetchedDirs, SkillFetcher};
pub use layout::{
    AGENT_INPUT, BIN, ENV_DIR, ENV_FILE, HOOK_CONFIG, HOOK_SERVICE, HOOKS, OUTPUT, PROGRAM, SCHEMA, Stage,
    StageError, WORKSPACE,
};
pub use native::{Native, NativeConfig, replay_model};
pub use opencode::OpenCode;
pub use program::ModelService;
pub use runtime::{
    AgentRuntime, AgentText, Bootstrap, Ended, Equipment, HookDesk, Iteration, Pending, Place, RuntimeError,
    Wanted,
};
pub use transcript::{TranscriptResult, transcript_result};
