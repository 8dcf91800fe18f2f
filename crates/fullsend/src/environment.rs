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

/// The kind of terminal, passed on to a command that is given one.
pub(crate) const TERM: &str = "TERM";

/// The user's home directory, below which sandboxes keep their state unless `XDG_STATE_HOME` is set.
pub(crate) const HOME: &str = "HOME";

/// The directory for state of programs.
pub(crate) const XDG_STATE_HOME: &str = "XDG_STATE_HOME";

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

/// A variable that the command line names: it holds a key, and the key itself is on no command line.
pub(crate) fn key_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The kind of terminal.
pub(crate) fn terminal_kind() -> Option<String> {
    std::env::var(TERM).ok().filter(|kind| !kind.is_empty())
}

/// Where sandboxes keep their state; none when neither variable is set to an absolute path.
pub(crate) fn state_directory() -> Option<std::path::PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute(XDG_STATE_HOME).or_else(|| Some(absolute(HOME)?.join(".local/state")))?;
    Some(state.join("fullsend"))
}
