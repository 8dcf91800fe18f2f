//! What the hook protocol itself, the list of tools and the suppression of output report.

use crate::rule::{Rule, rules};

rules! {
    scanner HookProtocol;
    list PROTOCOL_RULES;
    /// Input that is not what the protocol says.
    MALFORMED_INPUT = Critical Incomplete "malformed_input",
        "Hook input that is not the JSON object that the protocol asks for.",
        "look at how the hook is wired, and at what the runtime sends";
    /// Input over the limit.
    OVERSIZED_INPUT = Critical Incomplete "oversized_input",
        "Hook input over the size limit, which was not checked.",
        "have the tool print less, or raise `limits.max_input_bytes`";
    /// Output that cannot be cleaned without changing its shape.
    UNCLEANABLE_OUTPUT = High "uncleanable_output",
        "Tool output with something to remove in the name of a member or spread over several texts, which cannot be changed in place.",
        "look at what the tool returns";
    /// Output of a failed tool, which no hook can change.
    UNCHANGEABLE_OUTPUT = High "unchangeable_output",
        "Output of a failed tool with something to remove; the runtime lets no hook change it.",
        "look at the other findings of the call, and at what the tool printed";
}

rules! {
    scanner ToolAllowlist;
    list ALLOWLIST_RULES;
    /// A tool that is not in the list.
    TOOL_BLOCKED = Critical "tool_blocked",
        "A call of a tool that is not in the list of tools.",
        "add the tool to the agent's tools if it needs it";
}

rules! {
    scanner ContextSuppress;
    list SUPPRESS_RULES;
    /// Output that became one line.
    CONTEXT_SUPPRESSED = Info "context_suppressed",
        "The output of a check that passed, which the model sees as one line.",
        "nothing; set `context_suppress_posttool: false` to keep such output";
}

/// All of them.
pub static RULES: &[&Rule] = &[
    &MALFORMED_INPUT,
    &OVERSIZED_INPUT,
    &UNCLEANABLE_OUTPUT,
    &UNCHANGEABLE_OUTPUT,
    &TOOL_BLOCKED,
    &CONTEXT_SUPPRESSED,
];
