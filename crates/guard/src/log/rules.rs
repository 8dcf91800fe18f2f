//! What the log and its channel record about themselves.

use crate::rule::rules;

rules! {
    scanner FindingsLog;
    list ALL;
    /// The last entry of a finished log.
    LOG_SEALED = Info "log_sealed",
        "The log was closed in order; an entry after this one, or a log without this one, is not complete.",
        "nothing to do";
    /// The log of an interrupted run was continued.
    LOG_REOPENED = Info "log_reopened",
        "The log was opened again after a run that did not close it.",
        "if no run was interrupted or resumed, find out who opened the log";
    /// Something that is not a question from a hook arrived on the socket of the service.
    CHANNEL_MISUSE = High "channel_misuse",
        "A process in the sandbox used the hook socket for something else than asking about a tool call.",
        "look at what the agent ran at that time; hooks of fullsend never do this";
    /// More findings than a run may record.
    CHANNEL_FLOOD = High Incomplete "channel_flood",
        "The calls of this run led to more findings than the log takes, so every later call was denied.",
        "look at the entries before this one for what was repeated, then run again";
    /// The check of a tool call ended in a fault.
    DECISION_FAILED = High Incomplete "decision_failed",
        "The check of a tool call ended in a fault of the program, so the call was denied.",
        "report the fault with the input of the tool call, if it may be shared";
}
