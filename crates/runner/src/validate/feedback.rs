//! What the checks said, in a form that the next attempt may read.
//!
//! A validator quotes what it checks, and that was written by whoever steers the agent. So its words are treated like any other
//! text from outside: secrets are masked, characters that hide are removed, and what reads like orders to a model is withheld.

use fullsend_guard::hook::{Action, Recorded};
use fullsend_guard::log::{LogError, Phase, Place};
use fullsend_guard::{Checks, FindingsLog, Outcome, Policy};
use fullsend_harness::value::FeedbackMode;
use thiserror::Error;

/// What the agent is told when the words themselves are withheld.
pub const WITHHELD: &str = "The result was not accepted. What the check said is withheld, because it contains text that reads like instructions.";

/// How much of it is told.
const LONGEST: usize = 8 << 10;

/// Words for the next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The words.
    pub text: String,
    /// What was found in what the checks said.
    pub found: Vec<Recorded>,
}

/// Why there is no feedback although there should be.
#[derive(Debug, Error)]
#[error("what was found in the output of the validation cannot be recorded")]
pub struct FeedbackError(#[from] LogError);

impl Feedback {
    /// What the next attempt is told of `said`. Findings go to `log` first.
    pub fn of(
        said: &str,
        mode: FeedbackMode,
        checks: &Checks,
        policy: Policy,
        log: Option<&FindingsLog>,
    ) -> Result<Option<Self>, FeedbackError> {
        if mode == FeedbackMode::None {
            return Ok(None);
        }
        let disclosed = checks.output().run(said);
        let clean = disclosed.sanitized.unwrap_or_else(|| said.to_owned());
        let read = checks.input().run(&clean);
        let blocked = policy.judge(&read.findings) == Outcome::Blocked;
        let clean = read.sanitized.unwrap_or(clean);
        let done = if blocked { Action::Block } else { Action::Warn };
        let cleaned =
            disclosed.findings.into_iter().map(|finding| Recorded { finding, action: Action::Sanitize });
        let kept = read.findings.into_iter().map(|finding| Recorded { finding, action: done });
        let found: Vec<Recorded> = cleaned.chain(kept).collect();
        if let Some(log) = log.filter(|_| !found.is_empty()) {
            log.append_all(
                Place { phase: Phase::HostInput, tool: None, path: Some("validation output") },
                &found,
            )?;
        }
        let text = if blocked { WITHHELD.to_owned() } else { bounded(clean.trim()) };
        Ok(Some(Self { text, found }))
    }
}

/// The beginning and the end: validators name the first problem first, and sum up last.
fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let boundary = |at: usize| (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let (head, tail) = (boundary(LONGEST / 2), boundary(text.len() - LONGEST / 2));
    let (first, last) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{first}\n… {} bytes left out …\n{last}", tail - head)
}
