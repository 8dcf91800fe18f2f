//! Local paths and texts with `${VAR}` references, checked for shape when they are read and expanded when they are used.

use std::path::Path;

use fullsend_yaml::{FromText, TextProblem};

use crate::expand;
use crate::rules;
use crate::value::source::{LOCAL_PATTERN, refuse_url};
use crate::value::text::written_as_text;

/// A local path that may contain `${VAR}` references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// The path; `None` when it cannot be written in a file.
    pub(crate) fn at_path(path: &Path) -> Option<Self> {
        Self::from_text(path.to_str()?).ok()
    }

    /// The text as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the path is only known once variables are expanded.
    #[must_use]
    pub fn has_variables(&self) -> bool {
        self.0.contains("${")
    }
}

impl FromText for Template {
    const EMPTY_IS_ABSENT: bool = true;

    fn from_text(text: &str) -> Result<Self, TextProblem> {
        refuse_url(text)?;
        if text.chars().any(char::is_control) {
            return Err(TextProblem::invalid(
                "must not contain control characters",
                Some("remove them".to_owned()),
            ));
        }
        if let Err(error) = expand::check(text) {
            return Err(TextProblem {
                rule: &rules::VARIABLE,
                message: error.to_string(),
                help: error.help(),
            });
        }
        Ok(Self(text.to_owned()))
    }
}

impl std::fmt::Display for Template {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

written_as_text!(Template, "path with `${VAR}`", LOCAL_PATTERN);
