//! Which attempts there were, whether there is another, and which one counts.

use super::Verdict;

/// One attempt, when it has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// From 1.
    pub iteration: u32,
    /// Whether the agent did its work, as far as the runtime knows.
    pub agent_succeeded: bool,
    /// What came of the check.
    pub verdict: Verdict,
    /// Whether the agent's copy of the repository could be extracted.
    pub repo: bool,
}

/// What is left for another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Enough.
    Left,
    /// Nothing: time, cost or turns are used up.
    UsedUp,
}

/// What to do after an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Another attempt.
    Again {
        /// Its number.
        iteration: u32,
        /// What the checks said about the last one, as they said it.
        said: Option<String>,
    },
    /// No other attempt.
    Stop(StopReason),
}

/// Why there is no other attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The last one is what was asked for, or there is nothing that it could be held against.
    Valid,
    /// Nothing checks the result, and the agent did not do its work.
    AgentFailed,
    /// There were as many as allowed.
    Iterations,
    /// Nothing is left to pay for one.
    Budget,
    /// The run is to end.
    Cancelled,
}

/// The attempt that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Winner {
    /// Its number. Everything that is passed on is of this attempt.
    pub iteration: u32,
    /// Whether there is a copy of the repository as this attempt left it.
    pub repo: bool,
}

/// All attempts of a run.
#[derive(Clone, Debug)]
pub struct Attempts {
    most: u32,
    made: Vec<Attempt>,
    winner: Option<Winner>,
}

impl Attempts {
    /// At most `max_iterations` of them; 0 means one.
    pub fn new(max_iterations: u32) -> Self {
        Self { most: max_iterations.max(1), made: Vec::new(), winner: None }
    }

    /// Takes an attempt into account. The first one that is valid wins.
    pub fn record(&mut self, attempt: Attempt, budget: Budget) -> Next {
        let Attempt { iteration, repo, agent_succeeded, .. } = attempt;
        let verdict = attempt.verdict.clone();
        self.made.push(attempt);
        let said = match verdict {
            Verdict::Valid => {
                self.winner.get_or_insert(Winner { iteration, repo });
                return Next::Stop(StopReason::Valid);
            }
            // A result that passes its checks is good however the agent ended; without checks its end is all there is.
            Verdict::NothingToCheck if agent_succeeded => {
                self.winner.get_or_insert(Winner { iteration, repo });
                return Next::Stop(StopReason::Valid);
            }
            Verdict::NothingToCheck => return Next::Stop(StopReason::AgentFailed),
            Verdict::Cancelled => return Next::Stop(StopReason::Cancelled),
            Verdict::Invalid { said } => Some(said),
            Verdict::Unchecked { .. } => None,
        };
        if iteration >= self.most {
            return Next::Stop(StopReason::Iterations);
        }
        match budget {
            Budget::Left => Next::Again { iteration: iteration + 1, said },
            Budget::UsedUp => Next::Stop(StopReason::Budget),
        }
    }

    /// Attempts that nothing was said about, latest first: they are checked once more when no other is valid, without a copy
    /// of the repository. What was found to be wrong stays wrong.
    pub fn unchecked(&self) -> Vec<u32> {
        if self.winner.is_some() {
            return Vec::new();
        }
        let open = |attempt: &&Attempt| matches!(attempt.verdict, Verdict::Unchecked { .. });
        self.made.iter().rev().filter(open).map(|attempt| attempt.iteration).collect()
    }

    /// Takes the second check of an attempt into account. Its copy of the repository counts only if it is the last: the files
    /// of an earlier attempt were changed by those after it.
    pub fn swept(&mut self, iteration: u32, verdict: &Verdict) {
        let last = self.made.last().is_some_and(|attempt| attempt.iteration == iteration);
        let known = self.made.iter().find(|attempt| attempt.iteration == iteration);
        if let (Some(attempt), Verdict::Valid, None) = (known, verdict, self.winner) {
            self.winner = Some(Winner { iteration, repo: last && attempt.repo });
        }
    }

    /// The attempt that counts.
    pub fn winner(&self) -> Option<Winner> {
        self.winner
    }

    /// All that were made.
    pub fn made(&self) -> &[Attempt] {
        &self.made
    }
}
