//! Why something was refused, and which policy line would allow it.

use std::fmt;

/// Whose fault it is; decides the status of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The policy does not allow it.
    Policy,
    /// The request is ambiguous, malformed or too large.
    Request,
    /// It is allowed, but the other side cannot be reached or misbehaves.
    Upstream,
}

/// A refusal with everything that a message, a log line and a denial need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) kind: Kind,
    /// A stable name in kebab case.
    pub(super) code: &'static str,
    /// One sentence without its final stop.
    pub(super) sentence: String,
    /// The policy line that would allow it; none if nothing does.
    pub(super) remedy: Option<String>,
}

impl Refusal {
    /// The policy does not allow it.
    pub(super) fn policy(code: &'static str, sentence: impl Into<String>, remedy: Option<String>) -> Self {
        Self { kind: Kind::Policy, code, sentence: sentence.into(), remedy }
    }

    /// The request is not one that this proxy carries.
    pub(super) fn request(code: &'static str, sentence: impl Into<String>) -> Self {
        Self { kind: Kind::Request, code, sentence: sentence.into(), remedy: None }
    }

    /// The other side failed.
    pub(super) fn upstream(code: &'static str, sentence: impl Into<String>) -> Self {
        Self { kind: Kind::Upstream, code, sentence: sentence.into(), remedy: None }
    }
}

/// For the body of an answer: what, why, and what to do.
impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({}).", self.sentence, self.code)?;
        match &self.remedy {
            Some(remedy) => write!(formatter, " To allow it: {remedy}"),
            None => Ok(()),
        }
    }
}
