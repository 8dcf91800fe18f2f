//! What can keep a file from being scanned.

use crate::rule::rules;

rules! {
    scanner FileWalk;
    list ALL;
    /// The file or directory cannot be read.
    UNREADABLE = High Incomplete "unreadable",
        "A file that should be scanned cannot be read, so what it would tell the agent is not known.",
        "make the file readable, or remove it";
    /// The file is larger than what is scanned.
    TOO_LARGE = High Incomplete "file_too_large",
        "A file that should be scanned is larger than the limit, so part of it would not be looked at.",
        "make the file smaller; what an agent is to read at once should not be that long";
    /// The file is not UTF-8 text.
    NOT_TEXT = Medium Incomplete "not_text",
        "A file that should hold text is not valid UTF-8, so programs may disagree about what it says.",
        "save the file as UTF-8, or remove it";
}
