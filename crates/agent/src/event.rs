//! What happens in a run, for whoever watches it.

use fullsend_model::ToolCall;

use crate::budget::Budget;
use crate::tool::Shown;

/// Something happened. Whoever prints it may not slow the run down for long: it is told in place.
#[derive(Debug)]
pub enum Event<'a> {
    /// The model is asked.
    TurnBegan {
        /// For the how manieth time.
        turn: u32,
        /// What was used so far.
        budget: &'a Budget,
    },
    /// A piece of the answer.
    Text(&'a str),
    /// A piece of what the model thinks.
    Reasoning(&'a str),
    /// The pieces so far do not count: the gateway is asked again.
    Restarted,
    /// The answer is complete.
    Answered {
        /// Its text.
        content: &'a str,
        /// What it asks for.
        calls: &'a [ToolCall],
    },
    /// A tool is called.
    CallBegan {
        /// Which call.
        call: &'a ToolCall,
    },
    /// A call, or something that it tried, was not permitted. Checks around calls tell of their own denials.
    Denied {
        /// Which call.
        call: &'a ToolCall,
        /// By whom.
        by: DeniedBy,
        /// Why; nothing of the model's but paths and names.
        reason: &'a str,
    },
    /// A call has ended.
    CallEnded {
        /// Which call.
        call: &'a ToolCall,
        /// What a person sees of it.
        shown: &'a Shown,
        /// Whether it did what was asked.
        done: bool,
        /// Whether the model is not shown what came of it.
        hidden: bool,
    },
    /// A message entered the conversation that neither a model nor a tool made.
    Told {
        /// `system` or `user`.
        role: &'static str,
        /// The text.
        content: &'a str,
        /// How many pictures go with it.
        images: usize,
    },
}

/// Who did not permit something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeniedBy {
    /// The rules about where things come from and may go.
    Flow,
    /// The tools for files, which lead nowhere but into the workspace.
    Files,
    /// The sandbox that commands run in.
    Sandbox,
    /// The list of tools that the agent may use.
    Tools,
}
