//! What can be wrong with a lock file, beyond what can be wrong with any document.

fullsend_yaml::rules! {
    list ALL;
    /// The version is absent or not the one that is understood.
    VERSION = Error "lock-version",
        "A lock file states the version of its format; only version 1 is understood.",
        "delete the file and run `fullsend lock --all`";
    /// A key that is not known.
    UNKNOWN_KEY = Warning "lock-unknown-key",
        "A key that this version of fullsend does not know has no effect, and is gone when the file is written again.",
        "use the version of fullsend that wrote the file, or remove the key";
    /// Entries nested deeper than anyone looks.
    NESTING = Warning "lock-nesting",
        "Entries below `transitive_deps` are read to a depth of 32 levels; deeper ones do not count as locked.",
        "run `fullsend lock --all` to write all entries side by side";
}
