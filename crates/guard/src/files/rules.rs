//! What can keep a file from being scanned, and what a file is by itself.

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
    /// Something stands where a file should, and reading it could block or have effects.
    NOT_A_FILE = High Incomplete "not_a_file",
        "A pipe, socket or device stands where a file should; it is not opened, and what it would say is not known.",
        "replace it with a regular file, or remove it";
    /// A link leads out of the tree.
    LINK_OUTSIDE = High Incomplete "link_outside",
        "A link that would be read leads out of the directory that is scanned, so what it leads to is not known.",
        "replace the link with a copy of what it leads to, or remove it";
    /// Directories are nested deeper than the walk goes.
    TOO_DEEP = High Incomplete "too_deep",
        "Directories are nested deeper than the limit, so what lies below is not looked at.",
        "flatten the directories, or remove them";
    /// A file makes an agent runtime start a program or call a service.
    RUNTIME_CONFIG = Medium "runtime_config",
        "A file of the repository makes an agent runtime start a program or connect to a service by itself.",
        "check what it starts; remove it, or run the agent without the settings of the repository";
    /// A file takes away the questions that an agent runtime asks.
    RUNTIME_PERMISSIONS = High "runtime_permissions",
        "A file of the repository lets an agent runtime act without asking.",
        "remove the setting; whoever runs the agent decides what it may do";
    /// A file that an agent runtime reads as settings is not valid.
    RUNTIME_CONFIG_UNCLEAR = Medium Incomplete "runtime_config_unclear",
        "A file that an agent runtime reads as settings cannot be parsed, so what it would start is not known.",
        "correct the syntax of the file, or remove it";
    /// A JSON file that two readers may read differently.
    AMBIGUOUS_JSON = High Incomplete "ambiguous_json",
        "A JSON file has the same key twice, is nested too deeply, or would mean something else once it is made harmless, so programs may disagree about what it says.",
        "write the file anew, with each key once";
}
