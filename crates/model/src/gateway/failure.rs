//! Why an attempt failed, and whether another one makes sense.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use jiff::Timestamp;

use super::config::Retries;
use crate::client::ModelError;
use crate::diagnostics::Attempt;

/// Why one attempt gave no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) cause: Cause,
    pub(super) problem: String,
    /// Whether it may pass by itself.
    pub(super) passing: bool,
    /// How long the gateway asks to wait.
    pub(super) retry_after: Option<Duration>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Transport,
    Timeout,
    Status(u16),
    Malformed,
}

impl Failure {
    /// The connection failed.
    pub(super) fn transport(problem: String) -> Self {
        Self { cause: Cause::Transport, problem, passing: true, retry_after: None }
    }

    /// The connection failed and will fail again.
    pub(super) fn lasting(problem: String) -> Self {
        Self { passing: false, ..Self::transport(problem) }
    }

    /// It took too long.
    pub(super) fn timed_out(problem: String) -> Self {
        Self { cause: Cause::Timeout, ..Self::transport(problem) }
    }

    /// The gateway refused.
    pub(super) fn status(status: u16, problem: String, retry_after: Option<Duration>) -> Self {
        let passing = matches!(status, 408 | 409 | 429 | 500..=599);
        Self { cause: Cause::Status(status), problem, passing, retry_after }
    }

    /// The answer makes no sense.
    pub(super) fn malformed(problem: String) -> Self {
        Self { cause: Cause::Malformed, problem, passing: false, retry_after: None }
    }

    /// What the caller is told.
    pub(super) fn into_error(self, endpoint: &str, attempts: Vec<Attempt>) -> ModelError {
        let (endpoint, problem) = (endpoint.to_owned(), self.problem);
        match self.cause {
            Cause::Transport => ModelError::Transport { endpoint, problem, timed_out: false, attempts },
            Cause::Timeout => ModelError::Transport { endpoint, problem, timed_out: true, attempts },
            Cause::Status(status) => ModelError::Refused { endpoint, status, problem, attempts },
            Cause::Malformed => ModelError::Malformed { endpoint, problem, attempts },
        }
    }

    /// The pause before the next attempt, if there should be one; `made` attempts were made. Says so in the failure when it
    /// is for lack of time that there is none.
    pub(super) fn pause(&mut self, made: u32, rules: &Retries, left: Duration) -> Option<Duration> {
        if !self.passing || made >= rules.max_attempts {
            return None;
        }
        let pause = jitter(made, rules).max(self.retry_after.unwrap_or_default());
        if pause < left {
            return Some(pause);
        }
        let seconds = left.as_secs();
        self.problem.push_str(&match self.retry_after {
            Some(asked) => format!(
                " (the gateway asks to wait {} s, and only {seconds} s are left for the request)",
                asked.as_secs()
            ),
            None => format!(" (only {seconds} s are left for the request, too little for another attempt)"),
        });
        None
    }
}

/// Any part of a limit that doubles with every attempt: many clients must not come back at the same moment.
fn jitter(made: u32, rules: &Retries) -> Duration {
    let doubled = rules.base_delay.saturating_mul(1 << made.saturating_sub(1).min(16));
    let thousandths = u32::try_from(RandomState::new().hash_one(made) % 1001).unwrap_or_default();
    doubled.min(rules.max_delay).saturating_mul(thousandths) / 1000
}

/// How long a gateway asks to wait: a number of seconds, or a date.
pub(super) fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large to read is a very long time.
        return Some(text.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    if let Some(seconds) = text.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0) {
        return Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}
