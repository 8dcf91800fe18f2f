//! All rules of all scanners.

use crate::rule::Rule;
use crate::{files, unicode};

/// The rules of each scanner, in the order in which they are documented.
static SCANNERS: &[&[&Rule]] = &[unicode::RULES, files::RULES];

/// All rules, scanner by scanner.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    SCANNERS.iter().copied().flatten().copied()
}
