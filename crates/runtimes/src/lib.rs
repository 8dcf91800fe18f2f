//! Agent runtimes behind one trait: the built-in agent and command-line agents, all under the same hooks.
//!
//! Entry points: [`AgentRuntime`] is what a runtime does for a run; [`Stage`] is where its files are on the host and in the
//! sandbox; [`RuntimeEvent`] is what happens while it works, whichever runtime it is.
//!
//! Invariants:
//! - a runtime gets everything it may use from the run: it reads no environment and prints nothing;
//! - the key of the model never enters the sandbox;
//! - what wires hooks up, and the hook itself, cannot be changed from within the sandbox.

mod cancel;
mod event;
mod layout;
mod runtime;

pub use cancel::{Cancel, Canceller, cancellation};
pub use event::{Metrics, RuntimeEvent, TokenUsage, Watch};
pub use layout::{
    AGENT_INPUT, BIN, ENV_DIR, ENV_FILE, HOOK_CONFIG, HOOK_SERVICE, HOOKS, OUTPUT, PROGRAM, SCHEMA, Stage,
    StageError, WORKSPACE,
};
pub use runtime::{
    AgentRuntime, AgentText, Bootstrap, Ended, Equipment, HookDesk, Iteration, Pending, Place, RuntimeError,
    Wanted,
};
