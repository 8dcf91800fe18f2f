//! Every environment variable that the command reads.

/// The fullsend directory, when `--fullsend-dir` is not given.
pub(crate) const FULLSEND_DIR: &str = "FULLSEND_DIR";

/// What to log to standard error, in the syntax of `tracing` filters: `debug`, `fullsend_harness=trace`. Default:
/// nothing.
pub(crate) const FULLSEND_LOG: &str = "FULLSEND_LOG";

/// When set to anything, output has no colour.
pub(crate) const NO_COLOR: &str = "NO_COLOR";

/// Whether output may be coloured, as far as the environment is concerned.
pub(crate) fn allows_colour() -> bool {
    std::env::var_os(NO_COLOR).is_none_or(|value| value.is_empty())
}

/// The log filter, if any.
pub(crate) fn log_filter() -> Option<String> {
    std::env::var(FULLSEND_LOG).ok().filter(|filter| !filter.is_empty())
}

/// A variable that a harness refers to.
pub(crate) fn harness_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
