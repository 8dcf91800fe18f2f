//! `${VAR}` references: finding, checking and expanding them.
//!
//! The lookup is passed in, so nothing here reads the process environment. Variables that carry the CI platform's
//! identity tokens count as unset everywhere: a harness value must never copy one into a sandbox.

use fullsend_yaml::FromText;
use thiserror::Error;

use crate::value::EnvName;

/// Where the values of variables come from.
pub type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

/// Variables that no harness value may read.
pub const DENIED: &[&str] = &[
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "FULLSEND_GCP_OIDC_URL",
    "FULLSEND_GCP_OIDC_AUTH_FILE",
];

/// Variables of the sandbox that the run sets itself, that say which program or library is loaded, or whom to trust. One of
/// them in `env.sandbox` would take a hook or the proxy out of the way.
pub const RESERVED: &[&str] = &[
    "ALL_PROXY",
    "BASH_ENV",
    "CDPATH",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "CURL_CA_BUNDLE",
    "ENV",
    "FULLSEND_CANARY_TOKEN",
    "FULLSEND_FETCH_TOKEN",
    "FULLSEND_FETCH_URL",
    "FULLSEND_OUTPUT_DIR",
    "FULLSEND_OUTPUT_FILE",
    "FULLSEND_OUTPUT_SCHEMA",
    "FULLSEND_ROLE",
    "FULLSEND_SLUG",
    "FULLSEND_TARGET_REPO_DIR",
    "FULLSEND_TOOL_ALLOWLIST",
    "FULLSEND_TRACE_ID",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_USE_ENV_PROXY",
    "NO_PROXY",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_CONTENT",
    "OPENCODE_CONFIG_DIR",
    "PATH",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELL",
    "SHELLOPTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TIRITH_FAIL_ON",
    "TIRITH_REQUIRED",
];

/// Services with keys are announced in variables that begin so.
const ENDPOINTS: &str = "FULLSEND_ENDPOINT_";

/// Whether a harness may not set a variable of this name in the sandbox. Programs read proxies in both cases.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    upper.starts_with(ENDPOINTS) || [RESERVED, DENIED].iter().any(|list| list.contains(&upper.as_str()))
}

/// The variable that stands for the fullsend directory in harness values, whether or not it is set.
pub const FULLSEND_DIR: &str = "FULLSEND_DIR";

/// What is wrong with a text's variable references.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// `${` without `}`.
    #[error("has a `${{` that is never closed")]
    Unclosed,
    /// Something between the braces that is not a variable name.
    #[error("refers to `${{{name}}}`, which is not a variable name")]
    BadName {
        /// What stands between the braces.
        name: String,
    },
    /// The variable has no value.
    #[error("refers to `${{{name}}}`, which is not set")]
    Unset {
        /// The variable.
        name: String,
    },
    /// The variable must not be read.
    #[error("refers to `${{{name}}}`, which harness values may not read")]
    Denied {
        /// The variable.
        name: String,
    },
}

impl ExpandError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            ExpandError::Unclosed => Some("close it with `}`".to_owned()),
            ExpandError::BadName { .. } => {
                Some("use only letters, digits and `_`, not starting with a digit".to_owned())
            }
            ExpandError::Unset { name } => Some(format!("set `{name}` in the environment")),
            ExpandError::Denied { .. } => {
                Some("remove it: identity tokens stay outside the sandbox".to_owned())
            }
        }
    }
}

/// The variables that a text refers to, in order.
///
/// # Errors
/// When a reference is not closed, or is not a name, or names a denied variable.
pub fn variables(text: &str) -> Result<Vec<&str>, ExpandError> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or(ExpandError::Unclosed)?;
        EnvName::from_text(name).map_err(|_| ExpandError::BadName { name: name.to_owned() })?;
        if DENIED.contains(&name) {
            return Err(ExpandError::Denied { name: name.to_owned() });
        }
        names.push(name);
        rest = tail;
    }
    Ok(names)
}

/// Checks the shape of a text's references without looking any up.
///
/// # Errors
/// As [`variables`].
pub fn check(text: &str) -> Result<(), ExpandError> {
    variables(text).map(drop)
}

/// The text with every reference replaced by its value.
///
/// # Errors
/// As [`variables`], or when a variable has no value.
pub fn expand(text: &str, lookup: Variables<'_>) -> Result<String, ExpandError> {
    check(text)?;
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or(ExpandError::Unclosed)?;
        let value = lookup(name).ok_or_else(|| ExpandError::Unset { name: name.to_owned() })?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}
