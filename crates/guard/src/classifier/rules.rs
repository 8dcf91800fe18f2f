//! What a classifier reports.

use crate::rule::rules;

rules! {
    scanner LlmGuard;
    list ALL;
    /// The text is likely an injection.
    PROMPT_INJECTION = Critical "prompt_injection_ml",
        "A text that a classifier takes for instructions to the model.",
        "read the text; remove it, or do without the classifier if it is wrong too often";
    /// There was no answer.
    UNAVAILABLE = Critical Incomplete "scanner_unavailable",
        "The classifier gave no answer, so what it would have said is not known.",
        "make the classifier available, or take it out of the configuration";
}
