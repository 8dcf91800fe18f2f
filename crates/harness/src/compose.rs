//! Composition: a harness file, its chain of bases, and the overlay of the active platform become one harness.

mod chain;
mod merge;
mod overlay;

pub use chain::{Composition, MAX_BASES};
pub use merge::{MERGE_RULES, MergeRule, merge};
pub(crate) use overlay::apply;
pub use overlay::overlay;
