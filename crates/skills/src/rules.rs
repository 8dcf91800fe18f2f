//! Everything that can be wrong with a skill or a directory of skills, with what to do about it.

use fullsend_yaml::rules as declare;

declare! {
    list VALIDATION;
    /// The path leads nowhere.
    PATH_MISSING = Error "skill-path-missing",
        "A skill is a directory that exists.",
        "correct the path";
    /// The path is no directory.
    NOT_A_DIRECTORY = Error "skill-not-a-directory",
        "A skill is a directory.",
        "name the directory that holds `SKILL.md`";
    /// There is no `SKILL.md`.
    FILE_MISSING = Error "skill-file-missing",
        "A skill has a file `SKILL.md`, spelled exactly so (`skill.md` is accepted).",
        "add `SKILL.md` with `name` and `description` between `---` lines";
    /// `SKILL.md` is no plain file of the skill.
    FILE_OUTSIDE = Error "skill-file-outside",
        "`SKILL.md` must be a regular file inside the skill; a link that leads out would make a skill of any file.",
        "copy the file into the skill";
    /// `SKILL.md` cannot be read.
    UNREADABLE = Error "unreadable-skill",
        "`SKILL.md` must be readable.",
        "check the permissions of the file";
    /// `SKILL.md` is too large.
    TOO_LARGE = Error "skill-too-large",
        "`SKILL.md` is read by a model as a whole; its size is limited.",
        "move details into files under `references/`, which are read when they are needed";
    /// `SKILL.md` is not UTF-8.
    ENCODING = Error "skill-encoding",
        "Skills are UTF-8 text.",
        "save the file as UTF-8";
    /// `SKILL.md` holds a NUL byte.
    NUL = Error "skill-nul-byte",
        "Text holds no NUL bytes; some readers stop at one and see another file than others.",
        "remove the byte";
    /// `SKILL.md` starts with a byte order mark.
    BYTE_ORDER_MARK = Warning "skill-byte-order-mark",
        "Some readers do not find front matter behind a byte order mark, and ignore the skill without a word.",
        "save the file as UTF-8 without byte order mark";
    /// There is no front matter.
    NO_FRONT_MATTER = Error "front-matter-missing",
        "`SKILL.md` starts with a line `---`, YAML, and another line `---`.",
        "start the file with `---`, `name: …`, `description: …`, `---`";
    /// Front matter has no end.
    UNCLOSED = Error "front-matter-unclosed",
        "Front matter ends with a line `---`.",
        "add a line `---` after the last field";
    /// Front matter is not YAML as skills use it.
    YAML = Error "front-matter-yaml",
        "Front matter is block YAML without anchors, tags, duplicate keys and flow collections.",
        "correct the YAML at this place";
    /// Front matter is no mapping.
    NOT_A_MAPPING = Error "front-matter-mapping",
        "Front matter consists of `key: value` lines.",
        "write `name: …` and `description: …`";
    /// Fields that the format does not have.
    UNKNOWN_FIELDS = Error "skill-unknown-fields",
        "The format has six fields; tools that add their own read them from `metadata`.",
        "remove the fields, or move them below `metadata:`";
    /// `name` or `description` is absent.
    MISSING_FIELD = Error "skill-missing-field",
        "A skill has a name, and a description by which a model decides when to use it.",
        "add the field";
    /// A field of the wrong type.
    FIELD_TYPE = Error "skill-field-type",
        "Each field takes one type of value.",
        "write text; put it in quotes if it starts with a special character";
    /// A name that breaks a rule about names.
    NAME = Error "skill-name",
        "Names have up to 64 lower-case letters, digits and single hyphens inside.",
        "rename the skill, for instance to `my-skill`";
    /// Name and directory differ.
    NAME_DIRECTORY = Error "skill-name-directory",
        "A skill is called like its directory.",
        "rename one of the two";
    /// A text that is too long, or empty.
    LENGTH = Error "skill-field-length",
        "Descriptions have up to 1,024 characters, compatibility 1 to 500: they are part of every conversation.",
        "say it in fewer words, and move the rest into the body";
    /// `allowed-tools` cannot be read.
    TOOLS = Error "skill-allowed-tools",
        "`allowed-tools` is one text: tools separated by spaces, each with an optional pattern in parentheses.",
        "write it like `Bash(git:*) Read`";
    /// A link in the skill that leads out of it.
    LINK_OUTSIDE = Error "skill-link-outside",
        "Links inside a skill lead to files inside it; others would lend out any file of the machine.",
        "copy what the link leads to into the skill";
}

declare! {
    list LOADING;
    /// There is no front matter, the file is all body.
    LOADED_WITHOUT_FRONT_MATTER = Warning "missing-front-matter",
        "Without front matter, name and description are guessed from the directory and the first line.",
        "start the file with `---`, `name: …`, `description: …`, `---`";
    /// Values with colons were quoted.
    REPAIRED = Warning "repaired-front-matter",
        "A value with `: ` in it must be quoted; it was read as if it were.",
        "put the value in quotes";
    /// The YAML has a flaw that does not hinder.
    LOADED_YAML = Warning "lenient-front-matter",
        "Other readers of skills refuse front matter like this.",
        "correct the YAML at this place";
    /// No name: the directory's is used.
    MISSING_NAME = Warning "missing-name",
        "A skill without a name is called like its directory.",
        "add `name: …`";
    /// A name that breaks a rule about names.
    INVALID_NAME = Warning "invalid-name",
        "Names have up to 64 lower-case letters, digits and single hyphens inside; other readers may refuse this one.",
        "rename the skill, for instance to `my-skill`";
    /// Name and directory differ.
    NAME_DIRECTORY_MISMATCH = Warning "name-directory-mismatch",
        "A skill is called like its directory; it can be used under its name.",
        "rename one of the two";
    /// The description was taken from the body.
    DESCRIPTION_FROM_BODY = Warning "description-from-body",
        "Without a description, the first line of prose stands in for it.",
        "add `description: …` that says what the skill does and when to use it";
    /// A field that was not used, or not whole.
    IGNORED_FIELD = Warning "ignored-skill-field",
        "A field with a value of the wrong type or length is not used as written.",
        "correct the value";
    /// A name that cannot be used at all.
    UNUSABLE_NAME = Error "unusable-name",
        "A name is shown to people and models; it has no control characters and is not a page long.",
        "rename the skill, for instance to `my-skill`";
    /// Nothing says what the skill is for.
    MISSING_DESCRIPTION = Error "missing-description",
        "A model decides by its description when to use a skill; without one it is left out.",
        "add `description: …` that says what the skill does and when to use it";
}

declare! {
    list SCANNING;
    /// A root that is no directory.
    UNUSABLE_ROOT = Error "unusable-skills-root",
        "A root of skills is a directory that exists.",
        "correct the path";
    /// A name that cannot be followed.
    SCAN_UNRESOLVABLE = Warning "unresolvable-skill-scan-path",
        "A link that leads nowhere is not followed.",
        "remove or correct the link";
    /// A link that leads out of the root.
    SCAN_OUTSIDE = Warning "skill-scan-outside-root",
        "Links are followed inside the root only.",
        "copy the directory into the root, or name its place as a root";
    /// Too many directories, names or bytes.
    SCAN_LIMIT = Warning "scan-limit-exceeded",
        "A scan visits a limited number of directories, names and bytes.",
        "name a root that holds skills and little else";
    /// Too deep.
    SCAN_DEPTH = Warning "max-depth-exceeded",
        "A scan goes six levels deep.",
        "move the skills up, or name a deeper root";
    /// A directory that cannot be listed.
    UNREADABLE_DIRECTORY = Warning "unreadable-directory",
        "A directory that cannot be listed has no skills.",
        "check its permissions";
    /// A name with control characters, or not UTF-8.
    UNUSABLE_FILE_NAME = Warning "unusable-file-name",
        "Names of files and directories are shown to models; control characters and broken text in them are refused.",
        "rename it";
    /// A skill file that cannot be found any more.
    SKILL_UNRESOLVABLE = Warning "unresolvable-skill-path",
        "A `SKILL.md` that is a link must lead to a file.",
        "remove or correct the link";
    /// A skill file outside the root.
    SKILL_OUTSIDE = Warning "skill-outside-root",
        "A `SKILL.md` that leads out of its directory is not read.",
        "copy the file into the skill";
    /// A name that is taken.
    DUPLICATE = Warning "duplicate-skill-name",
        "Of two skills with one name the first one found counts, in the order of the roots.",
        "rename one of the two";
}

declare! {
    list INDEXING;
    /// A directory of resources that cannot be followed.
    RESOURCE_SCAN_UNRESOLVABLE = Warning "unresolvable-skill-resource-scan-path",
        "A link that leads nowhere is not followed.",
        "remove or correct the link";
    /// A directory outside the skill.
    RESOURCE_SCAN_OUTSIDE = Warning "skill-resource-scan-outside-root",
        "Links are followed inside the skill only.",
        "copy the directory into the skill";
    /// A file outside the skill.
    RESOURCE_OUTSIDE = Warning "skill-resource-outside-root",
        "A link that leads out of the skill is not indexed: it would lend out any file of the machine.",
        "copy the file into the skill";
    /// Too deep.
    RESOURCE_DEPTH = Warning "resource-max-depth-exceeded",
        "Resources are indexed eight levels deep.",
        "move the files up";
    /// Too many directories or names.
    RESOURCE_DIRECTORIES = Warning "resource-scan-limit-exceeded",
        "A limited number of directories and names is indexed per skill.",
        "remove what does not belong to the skill";
    /// Too many files.
    RESOURCE_FILES = Warning "resource-file-limit-exceeded",
        "A limited number of files is indexed per skill.",
        "remove what does not belong to the skill";
    /// Too many bytes.
    RESOURCE_BYTES = Warning "resource-size-limit-exceeded",
        "A limited number of bytes is indexed per skill.",
        "remove what does not belong to the skill";
    /// A directory that cannot be listed.
    RESOURCE_DIRECTORY_UNREADABLE = Warning "unreadable-skill-resource-directory",
        "A directory that cannot be listed has no resources.",
        "check its permissions";
    /// A file whose properties are not known.
    RESOURCE_UNSTATABLE = Warning "unstatable-skill-resource",
        "A file that cannot be looked at is not indexed.",
        "check its permissions";
    /// A link that leads nowhere.
    RESOURCE_UNRESOLVABLE = Warning "unresolvable-skill-resource",
        "A link that leads nowhere is not indexed.",
        "remove or correct the link";
    /// A file that cannot be read.
    RESOURCE_UNREADABLE = Warning "unreadable-skill-resource",
        "A file that cannot be read is not indexed.",
        "check its permissions";
    /// A file that has changed since it was indexed.
    SNAPSHOT_MISMATCH = Warning "skill-resource-snapshot-mismatch",
        "The file is not the one that was indexed when the run started.",
        "find out who changed it";
}

/// Every rule of this crate.
pub fn all() -> impl Iterator<Item = &'static fullsend_yaml::Rule> {
    [VALIDATION, LOADING, SCANNING, INDEXING].into_iter().flatten().copied()
}
