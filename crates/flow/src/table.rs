//! Labels by number.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::label::Label;

/// The number of a label in a [`LabelTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabelId(u32);

impl LabelId {
    /// The label of what the harness made of nothing; in every table.
    pub const BOTTOM: Self = Self(0);

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A number that is not in the table: it is of another table, or the record was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no label with number {}", .0.0)]
pub struct UnknownLabel(pub LabelId);

/// Labels by number, in the order in which they were first seen. Joins are remembered.
#[derive(Clone, Debug)]
pub struct LabelTable {
    labels: Vec<Label>,
    numbers: HashMap<Label, LabelId>,
    joins: HashMap<(LabelId, LabelId), LabelId>,
}

impl Default for LabelTable {
    fn default() -> Self {
        let bottom = Label::bottom();
        Self {
            numbers: HashMap::from([(bottom.clone(), LabelId::BOTTOM)]),
            labels: vec![bottom],
            joins: HashMap::new(),
        }
    }
}

impl LabelTable {
    /// The number of `label`, and whether it is new.
    pub fn number(&mut self, label: &Label) -> (LabelId, bool) {
        if let Some(known) = self.numbers.get(label) {
            return (*known, false);
        }
        // Four thousand million different labels do not fit into memory.
        let id = LabelId(u32::try_from(self.labels.len()).unwrap_or(u32::MAX));
        self.labels.push(label.clone());
        self.numbers.insert(label.clone(), id);
        (id, true)
    }

    /// The label with this number.
    pub fn get(&self, id: LabelId) -> Result<&Label, UnknownLabel> {
        self.labels.get(id.index()).ok_or(UnknownLabel(id))
    }

    /// The number of the join of two labels.
    pub fn join(&mut self, left: LabelId, right: LabelId) -> Result<LabelId, UnknownLabel> {
        if left == right {
            return Ok(left);
        }
        let pair = if left < right { (left, right) } else { (right, left) };
        if let Some(known) = self.joins.get(&pair) {
            return Ok(*known);
        }
        let joined = self.get(left)?.join(self.get(right)?);
        let (id, _) = self.number(&joined);
        self.joins.insert(pair, id);
        Ok(id)
    }

    /// The labels after the first `known` ones, in the order of their numbers.
    pub fn labels_after(&self, known: usize) -> impl Iterator<Item = (LabelId, &Label)> {
        let first = u32::try_from(known).unwrap_or(u32::MAX);
        (first..).map(LabelId).zip(self.labels.get(known..).unwrap_or_default())
    }

    /// The labels, in the order of their numbers.
    pub fn labels(&self) -> impl Iterator<Item = (LabelId, &Label)> {
        (0..).map(LabelId).zip(&self.labels)
    }
}
