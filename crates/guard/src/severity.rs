//! How bad a finding is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How bad a finding is, by what it asks for and how it hides. Greater is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth recording, nothing more.
    Info,
    /// Odd, and common in harmless text.
    Low,
    /// Suspicious on its own.
    Medium,
    /// Hardly ever harmless.
    High,
    /// An attack, or a secret in the open. What blocks unless a policy says otherwise.
    Critical,
}

impl Severity {
    /// All of them, least first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The name in output and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = UnknownSeverity;

    fn from_str(text: &str) -> Result<Self, UnknownSeverity> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == text).ok_or(UnknownSeverity)
    }
}

/// A text that names no severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSeverity;

impl fmt::Display for UnknownSeverity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a severity is one of `info`, `low`, `medium`, `high` and `critical`")
    }
}

impl std::error::Error for UnknownSeverity {}
