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
