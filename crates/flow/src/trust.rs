//! Three levels of trust, in which policies speak of integrity.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::atom::Atom;
use crate::label::Integrity;

const COMMANDED: &str = "commanded";
const WORKSPACE: &str = "workspace";

/// How far somebody vouches for a value; each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// Nobody does: the web, somebody else's words.
    #[default]
    None,
    /// It is in the directory that the operator works in.
    Workspace,
    /// The operator said so.
    Commanded,
}

impl Trust {
    /// Every level, from the lowest.
    pub const ALL: [Self; 3] = [Self::None, Self::Workspace, Self::Commanded];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Workspace => WORKSPACE,
            Self::Commanded => COMMANDED,
        }
    }

    /// The endorsements of this level: what a value has, or what a bound asks for.
    pub fn integrity(self) -> Integrity {
        let names: &[&str] = match self {
            Self::None => &[],
            Self::Workspace => &[WORKSPACE],
            Self::Commanded => &[COMMANDED, WORKSPACE],
        };
        Integrity::Only(names.iter().map(|name| Atom::named(name)).collect::<BTreeSet<_>>())
    }

    /// The highest level that a value with this integrity reaches.
    pub fn of(integrity: &Integrity) -> Self {
        let reached = |level: &&Self| integrity.flows_to(&level.integrity());
        Self::ALL.iter().rev().find(reached).copied().unwrap_or_default()
    }
}
