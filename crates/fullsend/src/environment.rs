//! Every environment variable that the command reads.

/// The fullsend directory, when `--fullsend-dir` is not given.
pub(crate) const FULLSEND_DIR: &str = "FULLSEND_DIR";

/// What to log to standard error, in the syntax of `tracing` filters: `debug`, `fullsend_harness=trace`. Default:
/// nothing.
pub(crate) const FULLSEND_LOG: &str = "FULLSEND_LOG";

/// A file of certificate authorities, in PEM form, to trust besides those of the system.
pub(crate) const SSL_CERT_FILE: &str = "SSL_CERT_FILE";

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

/// Certificate authorities to trust besides those of the system.
pub(crate) fn extra_roots() -> Option<std::path::PathBuf> {
    std::env::var_os(SSL_CERT_FILE).filter(|path| !path.is_empty()).map(Into::into)
}

/// The first of these variables that is set: forges take their tokens from several.
pub(crate) fn first_set(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// A variable that a harness refers to.
pub(crate) fn harness_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
