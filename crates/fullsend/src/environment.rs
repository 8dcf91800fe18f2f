//! Every environment variable that the command reads.

/// The fullsend directory, when `--fullsend-dir` is not given.
pub(crate) const FULLSEND_DIR: &str = "FULLSEND_DIR";

/// What to log to standard error, in the syntax of `tracing` filters: `debug`, `fullsend_harness=trace`. Default:
/// nothing.
pub(crate) const FULLSEND_LOG: &str = "FULLSEND_LOG";

/// The JSON Schema of the result, for `fullsend check-output`.
pub(crate) const FULLSEND_OUTPUT_SCHEMA: &str = "FULLSEND_OUTPUT_SCHEMA";

/// What the file with the result is called, for `fullsend check-output`.
pub(crate) const FULLSEND_OUTPUT_FILE: &str = "FULLSEND_OUTPUT_FILE";

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

/// Where programs are looked for.
pub(crate) const PATH: &str = "PATH";

/// Whether output may be coloured, as far as the environment is concerned.
pub(crate) fn allows_colour() -> bool {
    std::env::var_os(NO_COLOR).is_none_or(|value| value.is_empty())
}

/// Where programs are looked for.
pub(crate) fn search_path() -> Option<std::ffi::OsString> {
    std::env::var_os(PATH)
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

/// A variable that a run sets for `fullsend fetch-skill`; empty is unset.
pub(crate) fn fetch_variable(name: &str) -> Option<String> {
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

/// The prefix of variables that are options of the agent, and the older spelling of each.
const AGENT_PREFIXES: [&str; 2] = ["FULLSEND_", "CF_HARNESS_"];

/// An option of the agent from the environment: `MODEL` is `FULLSEND_MODEL`, or `CF_HARNESS_MODEL`. Blank is unset. Returns
/// the name that was found, and its value.
pub(crate) fn agent_option(name: &str) -> Option<(String, String)> {
    AGENT_PREFIXES.iter().find_map(|prefix| {
        let name = format!("{prefix}{name}");
        let value = std::env::var(&name).ok()?.trim().to_owned();
        (!value.is_empty()).then_some((name, value))
    })
}

/// The key of the model gateway, and the variable that has it.
pub(crate) fn gateway_key() -> Option<(String, String)> {
    let general = || {
        let value = std::env::var(OPENAI_API_KEY).ok()?;
        Some((OPENAI_API_KEY.to_owned(), value))
    };
    agent_option("API_KEY").or_else(general).filter(|(_, value)| !value.trim().is_empty())
}

/// The older name of the mode of information flow.
pub(crate) fn cfc_mode() -> Option<(String, String)> {
    let value = std::env::var(CF_CFC_MODE).ok()?.trim().to_owned();
    (!value.is_empty()).then(|| (CF_CFC_MODE.to_owned(), value))
}

/// See [`cfc_mode`].
pub(crate) const CF_CFC_MODE: &str = "CF_CFC_MODE";

/// A key that many programs share.
pub(crate) const OPENAI_API_KEY: &str = "OPENAI_API_KEY";

/// All variables that are text.
pub(crate) fn all() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Where GitHub Actions vouches for a job that may ask, and what opens it. A run drops both from everything it starts.
pub(crate) fn identity_request() -> Option<(String, String)> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Some((set("ACTIONS_ID_TOKEN_REQUEST_URL")?, set("ACTIONS_ID_TOKEN_REQUEST_TOKEN")?))
}

/// Whether this is a step of a workflow of GitHub's.
pub(crate) fn in_github_actions() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Whether this is a job of GitLab's CI.
pub(crate) fn in_gitlab_ci() -> bool {
    std::env::var_os("GITLAB_CI").is_some_and(|value| value == "true")
}
