//! Which parts of a schema speak about a value, once the branches that do not match are out.

use serde_json::Value;

use super::{
    ReleaseError,
    check::Checker,
    document::{ALL_KINDS, Document, NodeId, kind_of},
    price,
};

/// The nodes that hold for one value, and the price of knowing which.
#[derive(Debug)]
pub(super) struct Applicable {
    pub(super) nodes: Vec<NodeId>,
    pub(super) choice: u64,
}

impl Applicable {
    /// Follows `allOf`, the matching branches of `anyOf` and the first of `oneOf`, through any nesting.
    pub(super) fn find<'v>(
        checker: &mut Checker<'_, '_, 'v>,
        starts: &[NodeId],
        value: &'v Value,
    ) -> Result<Self, ReleaseError> {
        let mut found = Self { nodes: Vec::with_capacity(starts.len()), choice: 0 };
        for start in starts {
            found.add(checker, *start)?;
        }
        let mut next = 0;
        while let Some(id) = found.nodes.get(next).copied() {
            next += 1;
            let node = checker.document.node(id);
            for branch in &node.all_of {
                found.add(checker, *branch)?;
            }
            if let Some(branches) = &node.any_of {
                let mut matching = 0;
                for branch in branches {
                    if checker.fits(*branch, value)? {
                        matching += 1;
                        found.add(checker, *branch)?;
                    }
                }
                found.choice = found.choice.saturating_add(price::any_of(branches.len(), matching));
            }
            if let Some(branches) = &node.one_of {
                found.choice = found.choice.saturating_add(price::one_of_count(branches.len()));
                for branch in branches {
                    if checker.fits(*branch, value)? {
                        found.add(checker, *branch)?;
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, checker: &mut Checker<'_, '_, '_>, id: NodeId) -> Result<(), ReleaseError> {
        checker.spend(self.nodes.len() + 1)?;
        if !self.nodes.contains(&id) {
            self.nodes.push(id);
        }
        Ok(())
    }

    /// Whether the schema itself contains this string.
    pub(super) fn pins(&self, document: &Document<'_>, text: &Value) -> bool {
        self.nodes.iter().map(|id| document.node(*id)).any(|node| {
            node.members.as_ref().is_some_and(|members| members.contain(text))
                || node.constant.is_some_and(|constant| constant == text)
        })
    }

    /// The price of a value that the schema lists, all of its parts included.
    pub(super) fn listed_price(&self, document: &Document<'_>) -> Option<u64> {
        let nodes = self.nodes.iter().map(|id| document.node(*id));
        let counts = nodes.filter_map(|node| match (&node.members, node.constant) {
            (_, Some(_)) => Some(1),
            (Some(members), None) => Some(members.count()),
            (None, None) => None,
        });
        counts.min().map(price::one_of_count)
    }

    /// The price of the JSON type of a value.
    pub(super) fn kind_price(&self, document: &Document<'_>, value: &Value) -> u64 {
        let types = self.nodes.iter().filter_map(|id| document.node(*id).types.as_ref());
        let kinds = types.fold(ALL_KINDS, |kinds, types| kinds & types.kinds) | kind_of(value);
        price::one_of(u128::from(kinds.count_ones()))
    }

    /// The price of a number.
    pub(super) fn number_price(&self, document: &Document<'_>) -> u64 {
        let nodes = || self.nodes.iter().map(|id| document.node(*id));
        let whole = nodes().any(|node| node.types.as_ref().is_some_and(|types| types.whole_only));
        let low = nodes().filter_map(|node| node.range.lowest()).max();
        let high = nodes().filter_map(|node| node.range.highest()).min();
        match (low, high) {
            (Some(low), Some(high)) if whole => price::integer_between(low, high),
            _ => price::ANY_NUMBER,
        }
    }

    /// The price of an array's length.
    pub(super) fn length_price(&self, document: &Document<'_>, length: usize) -> u64 {
        let bounds = || self.nodes.iter().map(|id| document.node(*id).length);
        let least = bounds().map(|bound| bound.least).max().unwrap_or(0);
        match bounds().filter_map(|bound| bound.most).min() {
            Some(most) => price::one_of_count(most.saturating_sub(least).saturating_add(1)),
            None => price::unbounded_count(length.saturating_sub(least)),
        }
    }
}
