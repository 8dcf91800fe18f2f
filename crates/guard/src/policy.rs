//! What findings lead to.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::rule::Meaning;
use crate::severity::Severity;

/// Whether findings stop the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailMode {
    /// They do.
    #[default]
    Closed,
    /// They are reported as warnings. What enforces (sandbox, tool hooks, the chain of the findings log) is not affected.
    Open,
}

/// When findings stop the work. The same rule for every scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether they do at all.
    pub fail_mode: FailMode,
    /// The least severity that does.
    pub fail_on: Severity,
}

impl Default for Policy {
    /// Closed, and critical findings stop.
    fn default() -> Self {
        Self { fail_mode: FailMode::Closed, fail_on: Severity::Critical }
    }
}

/// What findings led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[must_use]
pub enum Outcome {
    /// Nothing was found.
    Clean,
    /// Something was found that does not stop the work.
    Warned,
    /// The work must stop.
    Blocked,
}

impl Policy {
    /// What `findings` lead to. A check that could not be completed stops the work like the worst finding.
    pub fn judge<'a>(&self, findings: impl IntoIterator<Item = &'a Finding>) -> Outcome {
        findings.into_iter().map(|finding| self.judge_one(finding)).max().unwrap_or(Outcome::Clean)
    }

    fn judge_one(&self, finding: &Finding) -> Outcome {
        let stops = match finding.rule.meaning {
            Meaning::Incomplete => true,
            Meaning::Found => finding.severity >= self.fail_on,
        };
        match self.fail_mode {
            FailMode::Closed if stops => Outcome::Blocked,
            FailMode::Closed | FailMode::Open => Outcome::Warned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FailMode, Outcome, Policy};
    use crate::files::UNREADABLE;
    use crate::{Finding, Meaning, Rule, ScannerId, Severity};

    static ODD: Rule = Rule {
        scanner: ScannerId::FileWalk,
        id: "odd",
        severity: Severity::High,
        meaning: Meaning::Found,
        summary: "Something odd.",
        remedy: "look at it",
    };

    #[test]
    fn critical_findings_and_incomplete_checks_block_in_closed_mode_only() {
        let (closed, open) = (Policy::default(), Policy { fail_mode: FailMode::Open, ..Policy::default() });
        let high = Finding::new(&ODD, None, "");
        let critical = high.clone().with_severity(Severity::Critical);
        let unread = Finding::new(&UNREADABLE, None, "");
        assert_eq!(closed.judge([]), Outcome::Clean);
        assert_eq!(closed.judge([&high]), Outcome::Warned);
        assert_eq!(closed.judge([&high, &critical]), Outcome::Blocked);
        assert_eq!(closed.judge([&unread]), Outcome::Blocked);
        assert_eq!(open.judge([&critical, &unread]), Outcome::Warned);
    }
}
