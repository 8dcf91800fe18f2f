//! What a released piece can tell, in thousandths of a bit.

/// A boolean, a flag.
pub(super) const ONE_BIT: u64 = 1000;

/// A number without declared bounds: fewer than 2^66 doubles and 64-bit integers exist.
pub(super) const ANY_NUMBER: u64 = 66_000;

/// One of this many possibilities; rounded up.
pub(super) fn one_of(possibilities: u128) -> u64 {
    if possibilities <= 1 {
        return 0;
    }
    if possibilities.is_power_of_two() {
        return u64::from(possibilities.ilog2()) * ONE_BIT;
    }
    // The margin outweighs the error of the logarithm; the result is at most 128,000.
    ((possibilities as f64).log2() * 1000.0 + 1e-6).ceil() as u64
}

/// One of this many possibilities.
pub(super) fn one_of_count(possibilities: usize) -> u64 {
    one_of(u128::try_from(possibilities).unwrap_or(u128::MAX))
}

/// An integer between two bounds, both included.
pub(super) fn integer_between(low: i128, high: i128) -> u64 {
    let span = high.abs_diff(low).saturating_add(1);
    one_of(span).min(ANY_NUMBER)
}

/// A count without a declared maximum: the length of its Elias gamma code.
pub(super) fn unbounded_count(count: usize) -> u64 {
    u64::from(count.saturating_add(1).ilog2()) * 2 * ONE_BIT + ONE_BIT
}

/// Which of the branches of an `anyOf` matched. Any set of them but the empty one can.
pub(super) fn any_of(branches: usize, matching: usize) -> u64 {
    match branches {
        0 | 1 => 0,
        2 => one_of(3),
        _ if matching == 1 => one_of_count(branches) + ONE_BIT,
        _ => u64::try_from(branches).unwrap_or(u64::MAX).saturating_add(1).saturating_mul(ONE_BIT),
    }
}
