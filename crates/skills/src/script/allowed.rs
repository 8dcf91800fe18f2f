//! The scripts that an operator allows: `skill:scripts/path`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{PathError, name, path};

/// One script that may be run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "AllowedParts")]
pub struct AllowedScript {
    skill: String,
    path: String,
}

impl AllowedScript {
    /// The name of the skill.
    #[must_use]
    pub fn skill(&self) -> &str {
        &self.skill
    }

    /// The path below the skill.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    fn new(skill: &str, path: &str) -> Result<Self, AllowedScriptError> {
        let skill = name::canonical(skill);
        if !name::is_valid(&skill) {
            return Err(AllowedScriptError::Skill { name: skill });
        }
        let path = path::normalize(path)?;
        match path.strip_prefix("scripts/") {
            Some(_) => Ok(Self { skill, path }),
            None => Err(AllowedScriptError::NotScript { path }),
        }
    }
}

/// The same as it is written, not checked yet.
#[derive(Deserialize)]
struct AllowedParts {
    skill: String,
    path: String,
}

impl TryFrom<AllowedParts> for AllowedScript {
    type Error = AllowedScriptError;

    fn try_from(parts: AllowedParts) -> Result<Self, AllowedScriptError> {
        Self::new(&parts.skill, &parts.path)
    }
}

impl fmt::Display for AllowedScript {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.skill, self.path)
    }
}

impl FromStr for AllowedScript {
    type Err = AllowedScriptError;

    fn from_str(text: &str) -> Result<Self, AllowedScriptError> {
        let (skill, path) = text.split_once(':').ok_or(AllowedScriptError::Form)?;
        Self::new(skill, path)
    }
}

/// Why a text does not name a script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AllowedScriptError {
    /// There is no colon.
    #[error("a script is written `skill:scripts/path`")]
    Form,
    /// What stands before the colon is not the name of a skill.
    #[error("`{name}` is not the name of a skill; a script is written `skill:scripts/path`")]
    Skill {
        /// The text.
        name: String,
    },
    /// What follows the colon is no path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The path is not below `scripts/`.
    #[error("`{path}` is not a file below `scripts/`")]
    NotScript {
        /// The path.
        path: String,
    },
}
