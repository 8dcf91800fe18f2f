//! Durations of repeated runs and the two numbers worth quoting.
//!
//! The median is what a user sees; the minimum is the cost without the machine's noise. Means are left out: one
//! interruption by another process moves them.

use std::time::Duration;

/// Durations of repeated runs of the same thing.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    /// Adds one run.
    pub(crate) fn push(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    /// The shortest run; zero when there was none.
    pub(crate) fn minimum(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }

    /// The run in the middle, the later one of an even number; zero when there was none.
    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}

/// How many times as long as the baseline something took.
pub(crate) fn ratio(duration: Duration, baseline: Duration) -> f64 {
    duration.as_secs_f64() / baseline.as_secs_f64().max(f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Samples;

    #[test]
    fn an_outlier_moves_neither_number() {
        let mut samples = Samples::default();
        for millis in [3, 900, 1, 2, 4] {
            samples.push(Duration::from_millis(millis));
        }
        assert_eq!(samples.median(), Duration::from_millis(3));
        assert_eq!(samples.minimum(), Duration::from_millis(1));
    }

    #[test]
    fn no_runs_are_zero() {
        assert_eq!(Samples::default().median(), Duration::ZERO);
        assert_eq!(Samples::default().minimum(), Duration::ZERO);
    }
}
