//! How strictly the rules are applied: two switches over the same checks.

use serde::{Deserialize, Serialize};

/// How strictly the rules of information flow are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowMode {
    /// Not at all.
    Disabled,
    /// What would be denied is recorded and happens.
    Observe,
    /// Effects and observations that the policy does not allow are denied.
    #[default]
    EnforceExplicit,
    /// So are decisions to look.
    EnforceStrict,
}

/// What follows from a check that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing; it is not even made.
    Ignore,
    /// It is put on record.
    Record,
    /// It is denied.
    Deny,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Nothing.
    Nothing,
    /// What a call does, and what the model gets to see.
    Effects,
    /// Whether it may look, too.
    Everything,
}

impl FlowMode {
    /// Every mode, from the weakest.
    pub const ALL: [Self; 4] = [Self::Disabled, Self::Observe, Self::EnforceExplicit, Self::EnforceStrict];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Observe => "observe",
            Self::EnforceExplicit => "enforce-explicit",
            Self::EnforceStrict => "enforce-strict",
        }
    }

    /// What follows from a check that fails.
    pub const fn act(self) -> Act {
        match self {
            Self::Disabled => Act::Ignore,
            Self::Observe => Act::Record,
            Self::EnforceExplicit | Self::EnforceStrict => Act::Deny,
        }
    }

    /// What is checked.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Disabled => Scope::Nothing,
            Self::EnforceExplicit => Scope::Effects,
            Self::Observe | Self::EnforceStrict => Scope::Everything,
        }
    }
}
