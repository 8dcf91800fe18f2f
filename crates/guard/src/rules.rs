//! All rules of all scanners.

use crate::files;
use crate::rule::Rule;

/// The rules of each scanner, in the order in which they are documented.
static SCANNERS: &[&[&Rule]] = &[files::RULES];

/// All rules, scanner by scanner.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    SCANNERS.iter().copied().flatten().copied()
}
