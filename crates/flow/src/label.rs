//! Labels: a product of confidentiality and integrity.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::atom::Atom;

/// Any one of these may see the value. A clause without members can be seen by nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Clause(BTreeSet<Atom>);

impl Clause {
    /// A clause of these alternatives.
    pub fn any_of(atoms: impl IntoIterator<Item = Atom>) -> Self {
        Self(atoms.into_iter().collect())
    }

    /// The alternatives.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.0.iter()
    }

    /// Whether everybody whom this clause lets in is let in by `other` too.
    fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }
}

/// Who may see a value: whoever satisfies every clause. No clause means everybody.
///
/// Clauses are kept even where another implies them: a grant that removes one must not remove both.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Confidentiality(BTreeSet<Clause>);

impl Confidentiality {
    /// Everybody may see it.
    pub fn public() -> Self {
        Self::default()
    }

    /// Whoever satisfies all of these.
    pub fn all_of(clauses: impl IntoIterator<Item = Clause>) -> Self {
        Self(clauses.into_iter().collect())
    }

    /// Only this one.
    pub fn only(atom: Atom) -> Self {
        Self::all_of([Clause::any_of([atom])])
    }

    /// The clauses.
    pub fn clauses(&self) -> impl Iterator<Item = &Clause> {
        self.0.iter()
    }

    /// Whether everybody may see it.
    pub fn is_public(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a value that only these may see may go where those may see it: no clause is weakened.
    pub fn flows_to(&self, bound: &Self) -> bool {
        self.0.iter().all(|clause| bound.0.iter().any(|stricter| stricter.is_within(clause)))
    }

    fn join(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// Without the clauses that only these readers keep.
    pub(crate) fn without(&self, readers: &[Atom]) -> Self {
        let kept = |clause: &&Clause| !clause.0.iter().any(|atom| readers.contains(atom));
        Self(self.0.iter().filter(kept).cloned().collect())
    }
}

/// Who vouches for a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrity {
    /// The harness itself made it.
    All,
    /// These do, and nobody else. Nobody at all when empty.
    Only(BTreeSet<Atom>),
}

impl Integrity {
    /// Nobody vouches for it.
    pub fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// One vouches for it.
    pub fn of(atom: Atom) -> Self {
        Self::Only(BTreeSet::from([atom]))
    }

    /// Whether everybody who must vouch does.
    pub fn flows_to(&self, bound: &Self) -> bool {
        match (self, bound) {
            (Self::All, _) => true,
            (Self::Only(_), Self::All) => false,
            (Self::Only(have), Self::Only(need)) => need.is_subset(have),
        }
    }

    fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, rest) | (rest, Self::All) => rest.clone(),
            (Self::Only(left), Self::Only(right)) => Self::Only(left.intersection(right).cloned().collect()),
        }
    }
}

/// Where a value may go, and what it may decide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// Who may see it.
    pub confidentiality: Confidentiality,
    /// Who vouches for it.
    pub integrity: Integrity,
}

impl Label {
    /// What the harness made of nothing: public and vouched for by all. The neutral element of [`join`](Self::join).
    pub fn bottom() -> Self {
        Self { confidentiality: Confidentiality::public(), integrity: Integrity::All }
    }

    /// Public, and nobody vouches for it: a page of the web.
    pub fn untrusted() -> Self {
        Self { confidentiality: Confidentiality::public(), integrity: Integrity::none() }
    }

    /// The label of what was derived from a value with this label and one with `other`.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self {
            confidentiality: self.confidentiality.join(&other.confidentiality),
            integrity: self.integrity.join(&other.integrity),
        }
    }

    /// Whether a value with this label may go where `bound` holds.
    pub fn flows_to(&self, bound: &Self) -> bool {
        self.confidentiality.flows_to(&bound.confidentiality) && self.integrity.flows_to(&bound.integrity)
    }
}
