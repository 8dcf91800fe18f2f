//! Grants: exceptions that the operator makes in advance, scoped and counted.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::atom::Atom;
use crate::label::Label;
use crate::pattern::Pattern;
use crate::trust::Trust;

/// An exception. Only the operator makes one; using it is on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What it is called in records.
    pub id: String,
    /// The tool whose call it allows.
    pub tool: String,
    /// The argument that it speaks of.
    pub argument: String,
    /// The values it speaks of; `*` stands for anything.
    pub value: Pattern,
    /// For how much the operator vouches: such a value counts as trusted so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Whose secrets may go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declassify: Vec<String>,
    /// How far the conversation must be trusted for the exception to be used: what an attacker said must not trigger one that
    /// is meant for the operator.
    #[serde(default = "commanded")]
    pub from: Trust,
    /// How often it can be used; no number is as often as one likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

fn commanded() -> Trust {
    Trust::Commanded
}

impl Grant {
    /// Whether it speaks of this value, and the conversation may use it.
    pub(crate) fn applies(&self, tool: &str, argument: &str, value: &str, context: &Label) -> bool {
        self.tool == tool
            && self.argument == argument
            && context.integrity.flows_to(&self.from.integrity())
            && self.value.matches(value)
    }

    /// A value with this label, after the exception.
    pub(crate) fn applied(&self, label: &Label) -> Label {
        let readers: Vec<Atom> = self.declassify.iter().map(|name| Atom::named(name)).collect();
        let mut granted = label.clone();
        granted.confidentiality = label.confidentiality.without(&readers);
        if let Some(trust) = self.trust.filter(|trust| *trust > Trust::of(&label.integrity)) {
            granted.integrity = trust.integrity();
        }
        granted
    }
}

/// How often each exception was used. Kept with the run, so that resuming does not start anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantLedger(BTreeMap<String, u32>);

impl GrantLedger {
    /// Whether an exception can still be used.
    pub fn has_left(&self, grant: &Grant, now: Timestamp) -> bool {
        let used = self.0.get(&grant.id).copied().unwrap_or(0);
        grant.uses.is_none_or(|uses| used < uses) && grant.expires.is_none_or(|end| now < end)
    }

    /// One more use.
    pub fn charge(&mut self, id: &str) {
        let used = self.0.entry(id.to_owned()).or_default();
        *used = used.saturating_add(1);
    }
}
