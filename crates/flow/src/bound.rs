//! Bounds: what a value must be to go somewhere.

use serde::{Deserialize, Serialize};

use crate::label::{Confidentiality, Integrity, Label};

/// What a value must be to go somewhere. Everything that is checked is one question: does the label flow to the bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Who will see it; none is whoever may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<Confidentiality>,
    /// Who must vouch for it.
    pub integrity: Integrity,
}

impl Bound {
    /// Anything may go there.
    pub fn anything() -> Self {
        Self { readers: None, integrity: Integrity::none() }
    }

    /// Whoever must vouch does not for this part of a label, or somebody would see what they may not.
    pub fn missed_by(&self, label: &Label) -> Option<Missed> {
        let readers = self.readers.as_ref().is_some_and(|readers| !label.confidentiality.flows_to(readers));
        match (readers, label.integrity.flows_to(&self.integrity)) {
            (false, true) => None,
            (true, true) => Some(Missed::Readers),
            (false, false) => Some(Missed::Trust),
            (true, false) => Some(Missed::Both),
        }
    }
}

/// Which half of a bound a label does not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missed {
    /// Somebody would see what they may not.
    Readers,
    /// Nobody vouches for it who must.
    Trust,
    /// Both.
    Both,
}
