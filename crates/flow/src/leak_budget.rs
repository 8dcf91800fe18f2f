//! How much a value that was released in pinned form may tell, counted and limited.
//!
//! Booleans, numbers and choices carry no instructions, but a thousand of them spell out a secret. What
//! [`release`](crate::release) lets through has a price in bits; a [`LeakBudget`] is what may be paid in total.

use std::{fmt, iter::Sum};

use serde::{Deserialize, Serialize};

/// An amount of information in thousandths of a bit, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MilliBits(u64);

impl MilliBits {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// This many thousandths of a bit.
    #[must_use]
    pub const fn new(thousandths: u64) -> Self {
        Self(thousandths)
    }

    /// This many whole bits; more than can be counted is the largest amount.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits.saturating_mul(1000))
    }

    /// The amount in thousandths of a bit.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Both amounts together; more than can be counted is the largest amount.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for MilliBits {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::plus)
    }
}

impl fmt::Display for MilliBits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{:03} bits", self.0 / 1000, self.0 % 1000)
    }
}

/// What one source may tell in total, and what it has told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeakBudget {
    allowed: MilliBits,
    spent: MilliBits,
}

impl LeakBudget {
    /// An untouched budget of this size.
    #[must_use]
    pub const fn new(allowed: MilliBits) -> Self {
        Self { allowed, spent: MilliBits::ZERO }
    }

    /// What may be told in total.
    #[must_use]
    pub const fn allowed(&self) -> MilliBits {
        self.allowed
    }

    /// What has been told.
    #[must_use]
    pub const fn spent(&self) -> MilliBits {
        self.spent
    }

    /// What may still be told.
    #[must_use]
    pub const fn left(&self) -> MilliBits {
        MilliBits(self.allowed.0.saturating_sub(self.spent.0))
    }

    /// Pays for one released value, or changes nothing.
    ///
    /// # Errors
    ///
    /// Fails if less than `price` is left. The value must then stay behind a handle.
    pub fn charge(&mut self, price: MilliBits) -> Result<(), BudgetSpent> {
        let refused = BudgetSpent { price, left: self.left() };
        let spent = self.spent.0.checked_add(price.0).ok_or(refused)?;
        if spent > self.allowed.0 {
            return Err(refused);
        }
        self.spent = MilliBits(spent);
        Ok(())
    }
}

/// A value tells more than may still be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the value tells up to {price}, but only {left} of the leak budget are left; keep it behind a handle, or ask for a narrower schema"
)]
pub struct BudgetSpent {
    /// What the value would have cost.
    pub price: MilliBits,
    /// What is left.
    pub left: MilliBits,
}
