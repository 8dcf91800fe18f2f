//! The rules that hold for every document, whatever it means.

/// Declares rules: statics named by their use, and a list of all of them.
///
/// ```
/// fullsend_yaml::rules! {
///     list ALL;
///     /// A number that is too large.
///     TOO_LARGE = Error "too-large", "Numbers have a limit.", "write a smaller number";
/// }
/// assert_eq!(ALL[0].code, "too-large");
/// ```
#[macro_export]
macro_rules! rules {
    (
        list $all:ident;
        $($(#[doc = $doc:literal])* $name:ident = $severity:ident $code:literal, $summary:literal, $remedy:literal;)*
    ) => {
        $($(#[doc = $doc])* pub static $name: $crate::Rule = $crate::Rule {
            code: $code,
            severity: $crate::Severity::$severity,
            summary: $summary,
            remedy: $remedy,
        };)*

        /// The rules of this list.
        pub static $all: &[&$crate::Rule] = &[$(&$name),*];
    };
}

rules! {
    list ALL;
    /// The text is not YAML.
    SYNTAX = Error "yaml-syntax",
        "The file must be valid YAML; nothing in it is used otherwise.",
        "correct the YAML at this place";
    /// The file is not UTF-8.
    ENCODING = Error "yaml-encoding",
        "Files are read as UTF-8.",
        "save the file as UTF-8 without other bytes";
    /// The file is larger than the reader accepts.
    TOO_LARGE = Error "yaml-too-large",
        "Files have a size limit, so that a hostile one cannot exhaust the reader.",
        "split the file or remove what does not belong in it";
    /// Nesting is deeper than the reader accepts.
    TOO_DEEP = Error "yaml-too-deep",
        "Nesting is limited, so that a hostile file cannot exhaust the reader's stack.",
        "flatten the document; no known key nests this deep";
    /// The document has more nodes than the reader accepts, aliases counted as often as they are used.
    TOO_MANY_NODES = Error "yaml-too-many-nodes",
        "The number of values is limited, aliases counted each time they are used, so that a few lines cannot \
         unfold into gigabytes.",
        "write fewer values, or use fewer nested aliases";
    /// A key stands twice in one mapping.
    DUPLICATE_KEY = Error "duplicate-key",
        "A key may stand once in a mapping; of two values one would silently win.",
        "remove one of the two";
    /// An alias names no anchor.
    UNKNOWN_ANCHOR = Error "yaml-unknown-anchor",
        "An alias (`*name`) must follow the anchor (`&name`) it names.",
        "define the anchor earlier in the same file, or quote the value if it is text that starts with `*`";
    /// A node contains an alias of itself.
    RECURSIVE_ALIAS = Error "yaml-recursive-alias",
        "A value cannot contain itself.",
        "remove the alias";
    /// An explicit type tag.
    TAG = Error "yaml-tag",
        "Tags such as `!!int` are refused: the key decides the type of its value.",
        "remove the tag; put the value in quotes to make it text";
    /// A merge key with something other than mappings.
    MERGE = Error "yaml-merge",
        "The merge key `<<` takes a mapping or a list of mappings.",
        "point `<<` at an anchored mapping";
    /// A list or mapping used as a key.
    KEY_TYPE = Error "yaml-key",
        "Keys are text.",
        "write the key as plain or quoted text on one line";
    /// A second document in the file.
    MULTIPLE_DOCUMENTS = Error "yaml-multiple-documents",
        "A file holds one document.",
        "remove the `---` line and what follows, or move it to a file of its own";
    /// A key that the record does not have.
    UNKNOWN_KEY = Error "unknown-key",
        "Every key is either used or refused; a misspelt key must not be ignored.",
        "remove the key";
    /// A required key is absent.
    MISSING_KEY = Error "missing-key",
        "A required key is absent; for a harness, from all of its bases too.",
        "add the key";
    /// A value of the wrong type.
    WRONG_TYPE = Error "wrong-type",
        "Each key takes one type of value.",
        "write a value of the expected type";
    /// A value outside what the key accepts.
    INVALID_VALUE = Error "invalid-value",
        "The value is of the right type but not one the key accepts.",
        "choose an accepted value";
}
