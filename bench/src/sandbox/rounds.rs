//! Measurements that take turns: one round has one value of each.

use std::collections::BTreeMap;
use std::time::Duration;

/// One value of each measurement, in seconds.
#[derive(Debug, Default)]
pub(super) struct Round(BTreeMap<&'static str, f64>);

impl Round {
    pub(super) fn set(&mut self, name: &'static str, duration: Duration) {
        self.0.insert(name, duration.as_secs_f64());
    }

    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// How many times as long as the other.
    pub(super) fn ratio(&self, name: &str, baseline: &str) -> Option<f64> {
        Some(self.get(name)? / self.get(baseline)?.max(f64::EPSILON))
    }
}

/// All rounds of a run.
#[derive(Debug, Default)]
pub(super) struct Rounds(Vec<Round>);

impl Rounds {
    pub(super) fn push(&mut self, round: Round) {
        self.0.push(round);
    }

    /// The median of what is computed for each round that has it.
    pub(super) fn median(&self, of: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        let mut values: Vec<f64> = self.0.iter().filter_map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    /// The shortest of one measurement, in seconds: its cost without the machine's noise.
    pub(super) fn least(&self, name: &str) -> Option<f64> {
        self.0.iter().filter_map(|round| round.get(name)).min_by(f64::total_cmp)
    }

    /// The median of one measurement, in seconds.
    pub(super) fn seconds(&self, name: &str) -> Option<f64> {
        self.median(|round| round.get(name))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Round, Rounds};

    #[test]
    fn ratios_are_those_of_each_round() {
        let mut rounds = Rounds::default();
        // The machine gets slower: the ratio of medians would be 20 to 20.
        for (ours, baseline) in [(2, 1), (20, 10), (40, 20), (100, 100), (20, 40)] {
            let mut round = Round::default();
            round.set("ours", Duration::from_millis(ours));
            round.set("baseline", Duration::from_millis(baseline));
            rounds.push(round);
        }
        assert_eq!(rounds.median(|round| round.ratio("ours", "baseline")), Some(2.0));
        assert_eq!(rounds.seconds("ours"), Some(0.02));
        assert_eq!(rounds.least("ours"), Some(0.002));
        assert_eq!(rounds.seconds("other"), None);
    }
}
